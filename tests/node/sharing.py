"""Members of share groups at one node, as tests speak for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.core.share_state.key import SharePartition
from penstock.core.wire.api import initialize_share_group_state as initializing
from penstock.core.wire.api import share_acknowledge, share_fetch
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest
from penstock.core.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.core.wire.api.read_share_group_state_summary import (
    PartitionData,
    ReadShareGroupStateSummaryRequest,
    ReadStateSummaryData,
)
from tests.node.world import World, produce, values_of

SETTINGS = {"share.coordinator.state.topic.num.partitions": "1", "group.share.min.record.lock.duration.ms": "1000"}
GROUP = 32
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4

Said = tuple[int, int, Sequence[int]]
"""First and last offset, and the types of what is said of them."""


def begun(partitions: int = 1, start_offset: int = 0, settings: Mapping[str, str] | None = None, **own: str) -> World:
    """A node with a topic `t`, and a group `g` whose state is set up."""
    world = World({**SETTINGS, **(settings or {})})
    world.create("t", partitions)
    begin_group(world, partitions, start_offset)
    if own:
        configure(world, "g", **own)
    return world


def begin_group(world: World, partitions: int = 1, start_offset: int = 0) -> None:
    """As the group's coordinator does it for the first member."""
    key = SharePartition("g", world.topic_id("t"), 0).text
    (found,) = world.client().ask(FindCoordinatorRequest(key_type=2, coordinator_keys=[key])).coordinators
    assert found.error_code == 0
    set_up(world, "g", *range(partitions), start_offset=start_offset)


def set_up(world: World, group: str, *partitions: int, start_offset: int = 0, state_epoch: int = 1) -> None:
    data = [
        initializing.PartitionData(partition=each, state_epoch=state_epoch, start_offset=start_offset)
        for each in partitions
    ]
    topic = initializing.InitializeStateData(topic_id=world.topic_id("t"), partitions=data)
    answer = world.client().ask(initializing.InitializeShareGroupStateRequest(group_id=group, topics=[topic]))
    assert {each.error_code for each in answer.results[0].partitions} == {0}


def configure(world: World, group: str, **own: str) -> None:
    configs = [
        AlterableConfig(name=name.replace("_", "."), config_operation=0, value=text) for name, text in own.items()
    ]
    resource = AlterConfigsResource(resource_type=GROUP, resource_name=group, configs=configs)
    answer = world.client().ask(IncrementalAlterConfigsRequest(resources=[resource]))
    assert answer.responses[0].error_code == 0, answer.responses[0].error_message


def publish(world: World, *values: bytes, partition: int = 0) -> None:
    """One batch."""
    answer = world.client().ask(produce("t", *values, partition=partition), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0


def stored(world: World, group: str = "g", partition: int = 0) -> tuple[int, int]:
    """How far the coordinator knows the group to be, and how much behind that is done."""
    topic = ReadStateSummaryData(topic_id=world.topic_id("t"), partitions=[PartitionData(partition=partition)])
    answer = world.client().ask(ReadShareGroupStateSummaryRequest(group_id=group, topics=[topic]))
    (found,) = answer.results[0].partitions
    return found.start_offset, found.delivery_complete_count


class Member:
    """Keeps its session's epoch."""

    def __init__(self, world: World, name: str = "m", group: str = "g", version: int = 2) -> None:
        self.world = world
        self.name = name
        self.group = group
        self.version = version
        self.client = world.client()
        self.epoch = 0

    def request(
        self,
        *partitions: int,
        said: Mapping[int, Sequence[Said]] | None = None,
        forgotten: Sequence[int] = (),
        **values: Any,
    ) -> share_fetch.ShareFetchRequest:
        named = dict.fromkeys([*partitions, *(said or {})])
        topic = share_fetch.FetchTopic(
            topic_id=self.world.topic_id("t"),
            partitions=[
                share_fetch.FetchPartition(
                    partition_index=each,
                    acknowledgement_batches=[
                        share_fetch.AcknowledgementBatch(first_offset=a, last_offset=b, acknowledge_types=list(types))
                        for a, b, types in (said or {}).get(each, ())
                    ],
                )
                for each in named
            ],
        )
        gone = share_fetch.ForgottenTopic(topic_id=self.world.topic_id("t"), partitions=list(forgotten))
        values = {"max_wait_ms": 500, "min_bytes": 1, "max_records": 500, "batch_size": 500, **values}
        request = share_fetch.ShareFetchRequest(
            group_id=self.group,
            member_id=self.name,
            share_session_epoch=self.epoch,
            topics=[topic] if named else [],
            forgotten_topics_data=[gone] if forgotten else [],
            **values,
        )
        self.epoch += 1
        return request

    def send(self, *partitions: int, **values: Any) -> None:
        self.client.send(self.request(*partitions, **values), self.version)
        self.world.settle()
        self.world.run_due()

    def heard(self) -> list[Any]:
        self.world.settle()
        self.world.run_due()
        return self.client.replies()

    def fetch(self, *partitions: int, **values: Any) -> Any:
        """Ask, and wait as long as it takes."""
        self.send(*partitions, **values)
        if not (replies := self.heard()):
            self.world.pass_time(values.get("max_wait_ms", 500))
            replies = self.heard()
        (answer,) = replies
        return answer

    def take(self, *partitions: int, **values: Any) -> dict[int, list[tuple[int, int, int]]]:
        """What it acquires, by partition."""
        answer = self.fetch(*partitions, **values)
        assert answer.error_code == 0, answer
        return {
            each.partition_index: [
                (one.first_offset, one.last_offset, one.delivery_count) for one in each.acquired_records
            ]
            for topic in answer.responses
            for each in topic.partitions
            if each.acquired_records
        }

    def say(self, *said: Said, **values: Any) -> Any:
        """A ShareAcknowledge; gives its answer."""
        return self.client.ask(self.words(*said, **values), self.version)

    def begin_saying(self, *said: Said) -> None:
        """The same, of what takes its time."""
        self.client.send(self.words(*said), self.version)

    def words(
        self, *said: Said, partition: int = 0, renews: bool = False, epoch: int | None = None
    ) -> share_acknowledge.ShareAcknowledgeRequest:
        batches = [
            share_acknowledge.AcknowledgementBatch(first_offset=a, last_offset=b, acknowledge_types=list(types))
            for a, b, types in said
        ]
        data = share_acknowledge.AcknowledgePartition(partition_index=partition, acknowledgement_batches=batches)
        topic = share_acknowledge.AcknowledgeTopic(topic_id=self.world.topic_id("t"), partitions=[data])
        request = share_acknowledge.ShareAcknowledgeRequest(
            group_id=self.group,
            member_id=self.name,
            share_session_epoch=self.epoch if epoch is None else epoch,
            is_renew_ack=renews,
            topics=[topic] if said else [],
        )
        self.epoch += 1
        return request

    def code(self, *said: Said, **values: Any) -> int:
        """What it hears of one partition."""
        answer = self.say(*said, **values)
        assert answer.error_code == 0, answer
        return int(answer.responses[0].partitions[0].error_code)


def values_in(answer: Any) -> list[bytes | None]:
    return [value for topic in answer.responses for each in topic.partitions for value in values_of(each.records)]
