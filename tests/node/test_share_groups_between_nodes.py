"""Share groups on three nodes: the group's coordinator sets state up at the others, whoever of them dies meanwhile."""

from __future__ import annotations

from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.node.coordination.share_state import SHARE_STATE_TOPIC
from penstock.core.wire.api import alter_share_group_offsets as altering
from penstock.core.wire.api import describe_share_group_offsets as describing
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest
from penstock.core.wire.api.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.settings_act.town import MACHINES, Town
from tests.settings_act.trial import Place, Trial

TOPIC = "orders"
PARTITIONS = 6
SETTINGS = {"offsets.topic.num.partitions": "1", "group.share.assignment.interval.ms": "0"}


class Shop:
    """Three nodes: one coordinates the group, and all of them share states."""

    def __init__(self) -> None:
        self.town = town = Town(Trial("share.coordinator.state.topic.num.partitions", "6", Place.FILE), SETTINGS)
        town.begin()
        wanted = CreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=3)
        answer = town.ask(town.controller, CreateTopicsRequest(topics=[wanted], timeout_ms=10_000))
        assert answer.topics[0].error_code == 0
        asked = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
        town.wait(lambda: town.ask(MACHINES[0], asked).coordinators[0].error_code == 0)
        self.coordinator: int = town.ask(MACHINES[0], asked).coordinators[0].node_id
        town.wait(lambda: town.node(self.coordinator).image.topic(TOPIC) is not None)

    @property
    def others(self) -> list[int]:
        return [number for number in MACHINES if number != self.coordinator]

    def beat(self, epoch: int = 0) -> Any:
        return self.town.ask(
            self.coordinator,
            ShareGroupHeartbeatRequest(
                group_id="g", member_id="m", member_epoch=epoch, subscribed_topic_names=None if epoch else [TOPIC]
            ),
        )

    def kept_by(self, number: int) -> int:
        """How many states a node keeps that serves."""
        hosts = self.town.node(number).coordinators.share_state
        return sum(len(host.machine.table) for host in hosts if host.driver is not None)

    def starts(self) -> list[int]:
        """Where the group begins, of all that is set up."""
        asked = describing.DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)
        answer = self.town.ask(self.coordinator, describing.DescribeShareGroupOffsetsRequest(groups=[asked]))
        assert answer.groups[0].error_code == 0
        return [each.start_offset for topic in answer.groups[0].topics for each in topic.partitions]

    def alter(self, start: int) -> set[int]:
        partitions = [
            altering.AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=start)
            for index in range(PARTITIONS)
        ]
        topic = altering.AlterShareGroupOffsetsRequestTopic(topic_name=TOPIC, partitions=partitions)
        answer = self.town.ask(self.coordinator, altering.AlterShareGroupOffsetsRequest(group_id="g", topics=[topic]))
        assert answer.error_code == 0
        return {each.error_code for each in answer.responses[0].partitions}


def given(answer: Any) -> list[int]:
    assert answer.error_code == 0, answer
    return [index for each in answer.assignment.topic_partitions for index in each.partitions]


def test_states_are_shared_and_survive_a_coordinator() -> None:
    shop = Shop()
    assert given(shop.beat()) == list(range(PARTITIONS))
    shares = {number: shop.kept_by(number) for number in MACHINES}
    assert sum(shares.values()) == PARTITIONS
    victim = max(shop.others, key=shares.__getitem__)
    assert shares[victim] > 0, "what it leads decides whether this tests anything"
    assert shop.beat(-1).error_code == 0
    assert shop.alter(7) == {ErrorCode.NONE}
    shop.town.crash(victim)
    assert shop.starts() == [7] * PARTITIONS
    assert shop.alter(9) == {ErrorCode.NONE}
    assert shop.starts() == [9] * PARTITIONS


def test_who_joins_waits_for_the_successor_of_who_died() -> None:
    shop = Shop()
    town = shop.town
    town.ask(shop.coordinator, FindCoordinatorRequest(key_type=2, coordinator_keys=["g:AAAAAAAAAAAAAAAAAAAAAQ:0"]))
    town.wait(lambda: all(town.node(each).image.topic(SHARE_STATE_TOPIC) is not None for each in MACHINES))
    town.crash(shop.others[0])
    assert given(shop.beat()) == list(range(PARTITIONS))
    assert sum(shop.kept_by(each) for each in (shop.coordinator, shop.others[1])) == PARTITIONS
