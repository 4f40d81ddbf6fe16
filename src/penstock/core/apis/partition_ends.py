"""Where partitions end: asked of their leaders, each once, and told of all together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.node.links.purposes import ENDS
from penstock.core.node.node import Node
from penstock.core.wire.api.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from penstock.core.wire.schema import Response

PATIENCE_MS: Final = 5_000
LATEST: Final = -1

Place = tuple[str, int]
"""A partition of a topic, by its name."""
Ends = dict[Place, int | ErrorCode]


def ask_ends(node: Node, places: Iterable[Place], then: Callable[[Ends], None]) -> None:
    """`then` comes in a later step, with an offset for each partition, or why there is none."""
    ends: Ends = {}
    by_leader: dict[int, list[Place]] = defaultdict(list)
    for place in places:
        topic = node.image.topic(place[0])
        if topic is None or place[1] >= len(topic) or topic.leaders[place[1]] < 0:
            ends[place] = ErrorCode.LEADER_NOT_AVAILABLE
        else:
            by_leader[int(topic.leaders[place[1]])].append(place)
    missing = len(by_leader)

    def heard(asked: list[Place], answer: Response | ErrorCode) -> None:
        nonlocal missing
        ends.update(_told(asked, answer))
        missing -= 1
        if not missing:
            then(ends)

    if not by_leader:
        node.deadlines.soon(partial(then, ends))
    for leader, asked in by_leader.items():
        node.cluster.brokers.send(leader, ENDS, _request(asked), partial(heard, asked), PATIENCE_MS)


def _request(places: list[Place]) -> ListOffsetsRequest:
    by_topic: dict[str, list[ListOffsetsPartition]] = defaultdict(list)
    for topic, index in places:
        by_topic[topic].append(ListOffsetsPartition(partition_index=index, timestamp=LATEST))
    topics = [ListOffsetsTopic(name=name, partitions=partitions) for name, partitions in by_topic.items()]
    return ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=topics, timeout_ms=PATIENCE_MS)


def _told(asked: list[Place], answer: Response | ErrorCode) -> Ends:
    if not isinstance(answer, ListOffsetsResponse):
        code = answer if isinstance(answer, ErrorCode) else ErrorCode.UNKNOWN_SERVER_ERROR
        return dict.fromkeys(asked, code)
    return {
        (topic.name, each.partition_index): ErrorCode(each.error_code) if each.error_code else each.offset
        for topic in answer.topics
        for each in topic.partitions
    }
