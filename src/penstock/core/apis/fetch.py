"""Fetch (1). Versions 4 to 12 name topics, 13 and later use ids; sessions since 7 (KIP-227)."""

from __future__ import annotations

from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.fetch import FetchRequest


def handle(node: Node, request: FetchRequest, slot: Slot) -> Answer:
    return node.fetching.fetch(request, slot)


API = Api(FetchRequest, range(4, 19), handle)
