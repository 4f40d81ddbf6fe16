"""What settings do to copies of a partition: who fetches how much and when, who is in sync, who may lead."""

from __future__ import annotations

from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchTopic
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.settings_act.town import MACHINES, Question, Town
from tests.settings_act.trial import NOTHING, Settings, Trial

OFFSETS = "__consumer_offsets"
PATIENT_OFFSETS = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "3",
    "broker.session.timeout.ms": "60000",
    "penstock.replica.silent.time.max.ms": "60000",
}
BATCH_BYTES = 3_000
BATCHES = 5


class Pair(Town):
    """A topic with a leader and one follower; the third machine controls."""

    def __init__(self, trial: Trial, others: Settings = NOTHING, **topic: str) -> None:
        super().__init__(trial, others)
        self.begin()
        self.leader, self.follower = self.others
        self.create(self.leader, self.follower, **topic)
        assert self.append(self.leader) == 0

    def fetches(self, since_s: float) -> list[Question]:
        """What the follower has asked its leader."""
        asked = self.asked(FetchRequest, self.follower, since_s)
        return [each for each in asked if self._is_of_replica(each.request)]

    def _is_of_replica(self, request: object) -> bool:
        state = request.replica_state if isinstance(request, FetchRequest) else None
        return state is not None and state.replica_epoch >= 0

    def separate_them(self) -> None:
        self.separate(self.leader, self.follower)

    def lose_follower(self) -> None:
        """Its process is gone, and the leader knows it."""
        self.crash(self.follower)
        self.wait(lambda: self._in_sync() == (self.leader,))

    def _in_sync(self) -> tuple[int, ...]:
        topic = self.node(self.leader).image.topic("t")
        assert topic is not None
        return topic.partition(0).isr


# Fetching


def fetches_often_when_idle(trial: Trial) -> bool:
    """More than once a second."""
    pair = Pair(trial)
    pair.pass_time(1)
    began_s = pair.now_s
    pair.pass_time(10)
    return len(pair.fetches(began_s)) > 10


def follows_at_once(trial: Trial) -> bool:
    """Whether a small record is everywhere before a follower's wait is over."""
    pair = Pair(trial)
    pair.pass_time(0.2)
    began_s = pair.now_s
    assert pair.append(pair.leader) == 0
    return pair.now_s - began_s < 0.05


def needs_a_fetch_for_each_batch(trial: Trial) -> bool:
    """Of those that a follower has missed when it comes back."""
    pair = Pair(trial)
    pair.lose_follower()
    for _ in range(BATCHES):
        assert pair.append(pair.leader, BATCH_BYTES) == 0
    began_s = pair.now_s
    pair.boot(pair.follower)
    pair.wait(lambda: len(pair.partition().isr) == 2)
    return len(pair.fetches(began_s)) >= BATCHES


def catches_up_soon(trial: Trial, topic: Settings = NOTHING, **others: str) -> bool:
    """Whether a follower that has missed five batches of 30,000 bytes, and gets one at a time, is in sync again within
    five seconds."""
    others["replica.fetch.max.bytes"] = str(BATCH_BYTES)
    pair = Pair(trial, others, **{name: value for name, value in topic.items() if value is not None})
    pair.lose_follower()
    for _ in range(BATCHES):
        assert pair.append(pair.leader, 10 * BATCH_BYTES) == 0
    pair.boot(pair.follower)
    return pair.happens(lambda: len(pair.partition().isr) == 2, 5)


def is_sent_elsewhere(trial: Trial) -> bool:
    """Whether a leader sends a consumer to the follower that stands in its rack."""
    pair = Pair(trial, {"broker.rack": "rack-#"})
    pair.pass_time(1)
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    request = FetchRequest(
        topics=[FetchTopic(topic_id=pair.topic_id, partitions=[partition])], rack_id=f"rack-{pair.follower}"
    )
    answer = pair.ask(pair.leader, request)
    return bool(answer.responses[0].partitions[0].preferred_read_replica == pair.follower)


def tries_often(trial: Trial, often: int, **others: str) -> bool:
    """Whether a follower asks a leader that it is cut off from more often than that in twenty seconds."""
    pair = Pair(trial, others)
    pair.pass_time(1.25)
    pair.separate_them()
    began_s = pair.now_s
    pair.pass_time(20)
    return len(pair.fetches(began_s)) > often


# In sync


def is_dropped_within(trial: Trial, seconds: int, **others: str) -> bool:
    """Whether a follower leaves the in-sync set that cannot get what its leader has."""
    pair = Pair(trial, others)
    pair.separate_them()
    assert pair.append(pair.leader, acks=1) == 0
    return pair.happens(lambda: pair.partition().isr == (pair.leader,), seconds)


def error_of_lone_leader(trial: Trial) -> int:
    """Of a record that is to be acknowledged by all, when only one of two replicas is left."""
    pair = Pair(trial)
    pair.lose_follower()
    return pair.append(pair.leader)


# Leading


def has_leader_at_any_price(trial: Trial) -> bool:
    """Whether a replica leads that is there, but has missed records of one that is not."""
    pair = Pair(trial)
    pair.lose_follower()
    assert pair.append(pair.leader) == 0
    pair.crash(pair.leader)
    pair.boot(pair.follower)
    pair.wait(lambda: len(pair.controllers()) == 1 and pair.partition().leader != pair.leader)
    return pair.happens(lambda: pair.partition().leader == pair.follower, 5)


def copies_of_offsets(trial: Trial) -> int:
    town = Town(trial).begin()
    number = town.others[0]
    town.ask(number, FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))
    town.wait(lambda: town.node(number).image.topic(OFFSETS) is not None)
    topic = town.node(number).image.topic(OFFSETS)
    assert topic is not None
    return len(topic.replicas[0])


def answer_to_commit(trial: Trial, seconds: float) -> int | None:
    """The error by which one is told so soon that an in-sync replica does not get a commit."""
    town = Town(trial, PATIENT_OFFSETS).begin()
    town.ask(1, FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))
    town.wait(lambda: all(town.node(each).replicas.get(OFFSETS, 0) is not None for each in MACHINES))
    coordinator = next(each for each in MACHINES if any(part.leads for part in town.node(each).replicas))
    town.create(coordinator)
    town.pass_time(1)
    town.separate(coordinator, next(each for each in MACHINES if each != coordinator))
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    topic = OffsetCommitRequestTopic(topic_id=town.topic_id, partitions=[partition])
    answer = town.send(coordinator, OffsetCommitRequest(group_id="g", member_id="", topics=[topic]))
    if not town.happens(lambda: answer.resolved, seconds):
        return None
    code: int = town.result(answer).topics[0].partitions[0].error_code
    return code


# Where

TWO_LISTENERS = {
    "listeners": "EXTRA://node-#:9094,PLAINTEXT://node-#:9092,CONTROLLER://node-#:9093",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,EXTRA:PLAINTEXT,CONTROLLER:PLAINTEXT",
}


def port_of_leader(trial: Trial) -> set[int]:
    town = Town(trial, TWO_LISTENERS).begin()
    leader, follower = town.others
    town.create(leader, follower)
    town.pass_time(1)
    return {each.to.port for each in town.asked(FetchRequest, follower) if each.to.port != 9093}
