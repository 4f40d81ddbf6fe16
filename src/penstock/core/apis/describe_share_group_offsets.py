"""DescribeShareGroupOffsets (90). Versions 0 and 1: 1 says how far groups are behind.

What a group has come to is kept by share coordinators, where a partition ends is known to its leader: both are asked.
What is not there is told as an offset of -1, and not as an error.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from penstock.core.apis.partition_ends import Place, ask_ends
from penstock.core.apis.places import by_coordinator
from penstock.core.apis.rights import may
from penstock.core.apis.share_groups import where_served
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.share.group import ShareGroup
from penstock.core.groups.topics import NO_TOPIC_ID
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource, on_groups, on_topics
from penstock.core.node.serving.api import PENDING, Answer, Api
from penstock.core.node.serving.authorizing import REFUSED_AS, Question
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api import describe_share_group_offsets as wire
from penstock.core.wire.api import read_share_group_state_summary as summary
from penstock.core.wire.schema import Response

NOTHING: Final = -1
Partition = wire.DescribeShareGroupOffsetsResponsePartition
Topic = wire.DescribeShareGroupOffsetsResponseTopic
Group = wire.DescribeShareGroupOffsetsResponseGroup


def handle(node: Node, request: wire.DescribeShareGroupOffsetsRequest, slot: Slot) -> Answer:
    groups = [_Description(node, slot, each) for each in request.groups]
    missing = len(groups)

    def described() -> None:
        nonlocal missing
        missing -= 1
        if not missing:
            slot.reply(wire.DescribeShareGroupOffsetsResponse(groups=[each.group for each in groups]))

    if not groups:
        return wire.DescribeShareGroupOffsetsResponse(groups=[])
    for each in groups:
        each.begin(described)
    return PENDING


class _Description:
    """One group."""

    def __init__(self, node: Node, slot: Slot, asked: wire.DescribeShareGroupOffsetsRequestGroup) -> None:
        self._node = node
        self._slot = slot
        self._asked = asked
        self.group = Group(group_id=asked.group_id, topics=[], error_code=ErrorCode.NONE)

    def begin(self, done: Any) -> None:
        """`done` comes in a later step."""
        try:
            wanted = self._all() if self._asked.topics is None else self._named(self._asked.topics)
        except ApiError as error:
            self.group.error_code = self._node.error("DescribeShareGroupOffsets", error.code)
            wanted = []
        if not wanted:
            self._node.deadlines.soon(done)
            return
        request = summary.ReadShareGroupStateSummaryRequest(group_id=self._asked.group_id, topics=wanted)
        self._node.cluster.share_setup.ask(request, partial(self._read, done))

    def _all(self) -> list[summary.ReadStateSummaryData]:
        """All that is set up for the group, of topics that the client may see."""
        shard = self._node.coordinators.groups.find(self._asked.group_id).machine
        group = shard.groups.find(ShareGroup, self._asked.group_id)
        topics = {} if group is None else group.states.initialized
        return [
            _of_topic(topic_id, sorted(each.partitions))
            for topic_id, each in sorted(topics.items())
            if self._node.image.names.get(topic_id) == each.name and self._may_see(each.name)
        ]

    def _named(self, topics: list[wire.DescribeShareGroupOffsetsRequestTopic]) -> list[summary.ReadStateSummaryData]:
        wanted = []
        for topic in topics:
            found = self._node.image.topic(topic.topic_name)
            if not self._may_see(topic.topic_name):
                code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif found is not None:
                wanted.append(_of_topic(found.id, topic.partitions))
                continue
            else:
                code = ErrorCode.NONE
            partitions = [_nothing(each, code) for each in topic.partitions]
            self.group.topics.append(Topic(topic_name=topic.topic_name, topic_id=NO_TOPIC_ID, partitions=partitions))
        return wanted

    def _may_see(self, topic: str) -> bool:
        return may(self._node, self._slot, Operation.DESCRIBE, Resource.TOPIC, topic)

    def _read(self, done: Any, response: Any) -> None:
        """Share coordinators have answered: now where those partitions end that somebody has begun to read."""
        found = {
            (self._node.image.names.get(topic.topic_id) or "", each.partition): (topic.topic_id, each)
            for topic in response.results
            for each in topic.partitions
        }
        begun = [place for place, (_, each) in found.items() if _has_begun(each)]
        ask_ends(self._node, begun, partial(self._ended, done, found))

    def _ended(self, done: Any, found: dict[Place, tuple[bytes, Any]], ends: dict[Place, int | ErrorCode]) -> None:
        topics: dict[bytes, Topic] = {}
        for place, (topic_id, each) in found.items():
            topic = topics.setdefault(topic_id, Topic(topic_name=place[0], topic_id=topic_id, partitions=[]))
            topic.partitions.append(_told(each, ends.get(place)))
        self.group.topics = [*topics.values(), *self.group.topics]
        done()


def _of_topic(topic_id: bytes, partitions: list[int]) -> summary.ReadStateSummaryData:
    asked = [summary.PartitionData(partition=each, leader_epoch=-1) for each in partitions]
    return summary.ReadStateSummaryData(topic_id=topic_id, partitions=asked)


def _has_begun(each: summary.PartitionResult) -> bool:
    known = (each.start_offset, each.delivery_complete_count)
    return each.error_code == ErrorCode.NONE and NOTHING not in known


def _told(each: summary.PartitionResult, end: int | ErrorCode | None) -> Partition:
    if each.error_code != ErrorCode.NONE:
        return _nothing(each.partition, ErrorCode.NONE)
    if isinstance(end, ErrorCode):
        return _nothing(each.partition, end)
    return Partition(
        partition_index=each.partition,
        start_offset=each.start_offset,
        leader_epoch=each.leader_epoch,
        lag=NOTHING if end is None else end - each.start_offset - each.delivery_complete_count,
    )


def _nothing(index: int, code: ErrorCode) -> Partition:
    message = None if code is ErrorCode.NONE else code.name
    return Partition(partition_index=index, start_offset=NOTHING, lag=NOTHING, error_code=code, error_message=message)


def authorize(question: Question) -> Response | None:
    """Each group for itself; topics are looked at where they are named."""

    def verdict(group: Any) -> ErrorCode | None:
        allowed = question.may(Operation.DESCRIBE, Resource.GROUP, group.group_id)
        return None if allowed else REFUSED_AS[Resource.GROUP]

    return question.set_aside("groups", verdict)


API = Api(
    wire.DescribeShareGroupOffsetsRequest,
    range(2),
    by_coordinator(where_served(handle)),
    on_groups(Operation.DESCRIBE, "groups.group_id") + on_topics(Operation.DESCRIBE, "groups.topics.topic_name"),
    authorize=authorize,
)
