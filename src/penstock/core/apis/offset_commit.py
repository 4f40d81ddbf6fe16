"""OffsetCommit (8). Versions 2 to 10: 6 adds leader epochs, 7 static members, 10 names topics by id."""

from __future__ import annotations

from penstock.core.apis.asking import ask
from penstock.core.apis.places import by_coordinator
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_groups, on_topics
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.offset_commit import OffsetCommitRequest

RETENTION_MS_MAX = 1 << 62
"""Longer than anybody waits; a time so far ahead still fits the 64 bits of a record."""


def handle(node: Node, request: OffsetCommitRequest, slot: Slot) -> Answer:
    request.retention_time_ms = min(request.retention_time_ms, RETENTION_MS_MAX)
    return ask(node, request, slot)


API = Api(
    OffsetCommitRequest,
    range(2, 11),
    by_coordinator(handle),
    on_groups(Operation.READ, "group_id") + on_topics(Operation.READ, "topics.name", "topics.topic_id"),
)
