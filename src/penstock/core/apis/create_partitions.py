"""CreatePartitions (37). Versions 0 to 3: add partitions to topics."""

from __future__ import annotations

from collections import Counter

from penstock.core.apis.committing import commit
from penstock.core.apis.forwarded import forwarded
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.topics import plan_partitions
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from penstock.core.wire.schema import StoredRecord


def handle(node: Node, request: CreatePartitionsRequest, slot: Slot) -> Answer:
    records: list[StoredRecord] = []
    results: list[CreatePartitionsTopicResult] = []
    names = Counter(topic.name for topic in request.topics)
    # A name that was given twice is refused once.
    for topic in {topic.name: topic for topic in request.topics}.values():
        try:
            if names[topic.name] > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, f"Topic {topic.name!r} is named more than once.")
            records += plan_partitions(node.quorum.latest, topic)
            results.append(CreatePartitionsTopicResult(name=topic.name, error_code=0))
        except ApiError as error:
            code = node.error("CreatePartitions", error.code)
            results.append(CreatePartitionsTopicResult(name=topic.name, error_code=code, error_message=error.message))
    response = CreatePartitionsResponse(results=results)
    return commit(node, slot, [] if request.validate_only else records, results, response)


API = Api(CreatePartitionsRequest, range(4), forwarded(handle))
