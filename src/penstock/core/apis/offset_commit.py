"""OffsetCommit (8). Versions 2 to 10: 6 adds leader epochs, 7 static members, 10 names topics by id."""

from __future__ import annotations

from penstock.core.apis.asking import ask
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.offset_commit import OffsetCommitRequest

RETENTION_MS_MAX = 1 << 62
"""Longer than anybody waits; a time so far ahead still fits the 64 bits of a record."""


def handle(node: Node, request: OffsetCommitRequest, slot: Slot) -> Answer:
    request.retention_time_ms = min(request.retention_time_ms, RETENTION_MS_MAX)
    return ask(
        node,
        request.group_id,
        request,
        slot,
        lambda shard: shard.offset_commit(node.now_ms, request, slot.version, slot),
    )


API = Api(OffsetCommitRequest, range(2, 11), handle)
