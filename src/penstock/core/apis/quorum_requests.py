"""Requests that are the quorum's own to answer: Raft takes them, and answers when there is something to say."""

from __future__ import annotations

from penstock.core.apis.forwarded import forwarded
from penstock.core.node.node import Node
from penstock.core.node.slots import PENDING, Answer, Slot
from penstock.core.wire.schema import Request


def ask_quorum(node: Node, request: Request, slot: Slot) -> Answer:
    """Whoever asks here looks for the leader itself, and is told who that is."""
    node.quorum.handle(slot, request, slot.version)
    return PENDING


_ask_leader = forwarded(ask_quorum)


def ask_leader(node: Node, request: Request, slot: Slot) -> Answer:
    """Whoever asks a broker is given the leader's answer."""
    on_controllers = slot.connection.listener in node.controller_listeners
    return ask_quorum(node, request, slot) if on_controllers else _ask_leader(node, request, slot)
