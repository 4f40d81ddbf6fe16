"""OffsetFetch (9). Versions 1 to 10: 2 gives all offsets for null, 8 asks for many groups, 10 names topics by id."""

from __future__ import annotations

from penstock.core.apis.asking import ask_shards
from penstock.core.groups.fanout import SEVERAL_GROUPS_FROM, merge_offset_fetch, split_offset_fetch
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.offset_fetch import OffsetFetchRequest


def handle(node: Node, request: OffsetFetchRequest, slot: Slot) -> Answer:
    version = slot.version
    return ask_shards(
        node,
        slot,
        split_offset_fetch(request, version, node.coordinators.count),
        lambda shard, part, reply: shard.offset_fetch(node.now_ms, part, version, reply),
        lambda parts: merge_offset_fetch(parts, version),  # type: ignore[arg-type]  # each part answers its own API
        max(version, SEVERAL_GROUPS_FROM),
    )


API = Api(OffsetFetchRequest, range(1, 11), handle)
