"""Fetch (1). Versions 4 to 12 name topics, 13 and later use ids; sessions since 7 (KIP-227).

On the listeners of controllers the metadata log is fetched, and nothing else.
"""

from __future__ import annotations

from penstock.core.apis.quorum_requests import ask_quorum
from penstock.core.node.node import Node
from penstock.core.node.slots import Answer, Api, Slot
from penstock.core.wire.api.fetch import FetchRequest


def handle(node: Node, request: FetchRequest, slot: Slot) -> Answer:
    if slot.connection.listener in node.controller_listeners:
        return ask_quorum(node, request, slot)
    return node.fetching.fetch(request, slot)


API = Api(FetchRequest, range(4, 19), handle)
