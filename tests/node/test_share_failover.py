"""A share group on three simulated machines whose leaders die: what was acknowledged is not delivered again, delivery
counts only grow, and what nobody accepted was delivered as often as it may be."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.node.sharing import led_share
from penstock.core.share_state import key
from penstock.core.sharing.share_partition import SharePartition
from penstock.core.wire.api import initialize_share_group_state as initializing
from penstock.core.wire.api import share_acknowledge, share_fetch
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest
from penstock.core.wire.registry import response_class
from penstock.core.wire.schema import Request
from penstock.sim.clients.client import Connection
from tests.settings_act.town import MACHINES, Town
from tests.settings_act.trial import Place, Trial
from tests.sharing.planted import CountsAnew, ForgetsAcknowledged, OffersForEver

RECORDS = 24
LIMIT = 3
SETTINGS = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": "1000",
    "group.share.delivery.count.limit": str(LIMIT),
}
ACCEPT, RELEASE, NOTHING = 1, 2, 0


class Queue:
    """A topic with one partition, read by members of a group, and what is known to have become of its records."""

    def __init__(self) -> None:
        trial = Trial("share.coordinator.state.topic.num.partitions", "1", Place.FILE)
        self.town = Town(trial, SETTINGS).begin()
        self.town.create(*MACHINES)
        self.topic_id = self.town.topic_id
        named = key.SharePartition("g", self.topic_id, 0).text
        asked = FindCoordinatorRequest(key_type=2, coordinator_keys=[named])
        self.town.wait(lambda: self.town.ask(1, asked).coordinators[0].error_code == 0)
        self.town.wait(self._is_set_up)
        for _ in range(RECORDS):
            assert self.town.append(self.leader()) == 0
        self.accepted: set[int] = set()
        self.perhaps: set[int] = set()
        """Accepted, but nobody answered."""
        self.deliveries: defaultdict[int, int] = defaultdict(int)
        self.released: defaultdict[int, int] = defaultdict(int)
        """How often a record was delivered when its release was stored."""

    def _is_set_up(self) -> bool:
        data = initializing.PartitionData(partition=0, state_epoch=0, start_offset=0)
        topic = initializing.InitializeStateData(topic_id=self.topic_id, partitions=[data])
        request = initializing.InitializeShareGroupStateRequest(group_id="g", topics=[topic])
        answers = [self.town.ask(number, request) for number in MACHINES]
        return any(each.results[0].partitions[0].error_code == 0 for each in answers)

    def leader(self) -> int:
        self.town.wait(lambda: len(self.town.controllers()) == 1 and self.town.serves(self.town.partition().leader))
        return self.town.partition().leader

    def delivered(self, offset: int, count: int) -> None:
        assert offset not in self.accepted, f"{offset} was acknowledged, and is delivered again"
        assert self.released[offset] < count <= LIMIT, f"{offset} is delivered for the {count}. time"
        self.deliveries[offset] = max(self.deliveries[offset], count)

    def lost(self) -> list[int]:
        """Records that nobody will get any more, though they could be delivered again."""
        settled = self.accepted | self.perhaps
        return [each for each in range(RECORDS) if each not in settled and self.deliveries[each] < LIMIT]


class Member:
    """Finds the leader, and begins a new session wherever that is."""

    def __init__(self, queue: Queue, name: str) -> None:
        self.queue = queue
        self.name = name
        self.leader = 0
        self.epoch = 0
        self.connection: Connection | None = None

    def fetch(self) -> list[tuple[int, int]]:
        """Offsets, and how often they were delivered."""
        leader = self.queue.leader()
        if self.connection is None or leader != self.leader:
            self.leader, self.epoch = leader, 0
            self.connection = Connection(self.name, self.queue.town.world, leader)
        partitions = [share_fetch.FetchPartition(partition_index=0)]
        request = share_fetch.ShareFetchRequest(
            group_id="g",
            member_id=self.name,
            share_session_epoch=self.epoch,
            max_wait_ms=300,
            min_bytes=1,
            max_records=3,
            batch_size=3,
            share_acquire_mode=1,
            topics=[share_fetch.FetchTopic(topic_id=self.queue.topic_id, partitions=partitions)],
        )
        answer = self._ask(request)
        if answer is None:
            return []
        told = [each for topic in answer.responses for each in topic.partitions]
        if any(each.error_code for each in told):
            self.connection = None
        ranges = [one for each in told for one in each.acquired_records]
        return [(at, one.delivery_count) for one in ranges for at in range(one.first_offset, one.last_offset + 1)]

    def say(self, offset: int, kind: int) -> int | None:
        """The code, or None where nobody answers."""
        batch = share_acknowledge.AcknowledgementBatch(
            first_offset=offset, last_offset=offset, acknowledge_types=[kind]
        )
        data = share_acknowledge.AcknowledgePartition(partition_index=0, acknowledgement_batches=[batch])
        request = share_acknowledge.ShareAcknowledgeRequest(
            group_id="g",
            member_id=self.name,
            share_session_epoch=self.epoch,
            topics=[share_acknowledge.AcknowledgeTopic(topic_id=self.queue.topic_id, partitions=[data])],
        )
        answer = self._ask(request)
        return None if answer is None else int(answer.responses[0].partitions[0].error_code)

    def _ask(self, request: Request) -> Any:
        town, connection = self.queue.town, self.connection
        if connection is None:
            return None
        town.wait(lambda: connection.ready.resolved)
        answer = connection.ask(request, response_class(request.KEY))
        self.epoch += 1
        response = town.result(answer) if town.happens(lambda: answer.resolved, 25) else None
        if response is None or isinstance(response, Exception) or response.error_code != 0:
            self.connection = None
            return None
        return response


def step(queue: Queue, member: Member, chance: Random) -> int:
    """One look of a member; gives how many records it got."""
    got = member.fetch()
    for offset, count in got:
        queue.delivered(offset, count)
    for offset, count in got:
        kind = chance.choice((ACCEPT, ACCEPT, RELEASE, NOTHING))
        code = None if kind == NOTHING else member.say(offset, kind)
        if kind == ACCEPT and code == ErrorCode.NONE:
            queue.accepted.add(offset)
        elif kind == ACCEPT and code is None:
            queue.perhaps.add(offset)
        elif kind == RELEASE and code == ErrorCode.NONE:
            queue.released[offset] = count
    return len(got)


@pytest.mark.parametrize("seed", [1, 2])
def test_members_go_on_while_leaders_die(seed: int) -> None:
    queue, chance = Queue(), Random(seed)
    members = [Member(queue, name) for name in ("ann", "bob")]
    quiet = 0
    for number in range(200):
        if number in (2, 5, 9):
            dead = queue.leader()
            queue.town.crash(dead)
            step(queue, chance.choice(members), chance)
            queue.town.boot(dead)
        quiet = 0 if step(queue, chance.choice(members), chance) else quiet + 1
        if quiet > 8:
            break
    assert queue.lost() == []
    assert len(queue.accepted) > RECORDS // 2


@pytest.mark.slow
@pytest.mark.parametrize("planted", [CountsAnew, ForgetsAcknowledged, OffersForEver])
def test_a_planted_mistake_is_found(planted: type[SharePartition], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(led_share, "SharePartition", planted)
    with pytest.raises(AssertionError, match=r"delivered (again|for the)"):
        test_members_go_on_while_leaders_die(1)


def test_whoever_asks_a_follower_is_told_who_leads() -> None:
    queue = Queue()
    leader = queue.leader()
    other = next(each for each in MACHINES if each != leader)
    partitions = [share_fetch.FetchPartition(partition_index=0)]
    request = share_fetch.ShareFetchRequest(
        group_id="g",
        member_id="m",
        max_wait_ms=10_000,
        min_bytes=1,
        max_records=1,
        topics=[share_fetch.FetchTopic(topic_id=queue.topic_id, partitions=partitions)],
    )
    answer = queue.town.ask(other, request, within_s=1)
    (told,) = answer.responses[0].partitions
    assert (told.error_code, told.current_leader.leader_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, leader)
    assert [each.node_id for each in answer.node_endpoints] == [leader]
