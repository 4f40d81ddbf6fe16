"""DescribeLogDirs (35). Versions 1 to 5: sizes by partition; 4 adds the disk's own size and room, 5 whether it
takes nothing new."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from penstock.core.base.ports import FreeSpace, Steps
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_cluster
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.partition.partition import Partition
from penstock.core.wire.api.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


def handle(node: Node, request: DescribeLogDirsRequest, slot: Slot) -> Answer:
    return _answer(node, request)


def _answer(node: Node, request: DescribeLogDirsRequest) -> Steps[DescribeLogDirsResponse]:
    free, total = yield FreeSpace(node.settings.log_dir)
    topics: dict[str, list[DescribeLogDirsPartition]] = defaultdict(list)
    for partition in _wanted(node, request):
        topics[partition.topic].append(
            DescribeLogDirsPartition(
                partition_index=partition.index,
                partition_size=partition.log.size_bytes(),
                offset_lag=0,
                is_future_key=False,
            )
        )
    result = DescribeLogDirsResult(
        error_code=0,
        log_dir=node.settings.log_dir,
        topics=[DescribeLogDirsTopic(name=name, partitions=found) for name, found in topics.items()],
        total_bytes=total,
        usable_bytes=free,
        is_cordoned=bool(node.settings["cordoned.log.dirs"]),
    )
    return DescribeLogDirsResponse(error_code=0, results=[result])


def _wanted(node: Node, request: DescribeLogDirsRequest) -> Iterable[Partition]:
    if request.topics is None:
        return node.replicas
    named = ((topic.topic, index) for topic in request.topics for index in topic.partitions)
    return [found for topic, index in named if (found := node.replicas.get(topic, index)) is not None]


API = Api(DescribeLogDirsRequest, range(1, 6), handle, on_cluster(Operation.DESCRIBE))
