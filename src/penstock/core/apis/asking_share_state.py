"""How the five APIs about the state of share groups reach their machines."""

from __future__ import annotations

from typing import Any

from penstock.core.apis.gathering import Gathering, Part
from penstock.core.apis.places import by_coordinator, count_errors
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.serving.access import CLUSTER_ACTION
from penstock.core.node.serving.api import PENDING, Answer, Api
from penstock.core.node.serving.slots import Answerable, Slot
from penstock.core.share_state.answering import merge, split
from penstock.core.share_state.key import SharePartition
from penstock.core.wire import Message
from penstock.core.wire.schema import Request


def share_state_api(request: type[Request], versions: range) -> Api[Node]:
    """Only nodes ask: leaders of partitions and group coordinators."""
    return Api(request, versions, by_coordinator(ask), CLUSTER_ACTION)


def ask(node: Node, request: Any, slot: Slot) -> Answer:
    """Ask each machine its part; one that cannot answer refuses for its part only."""
    hosts = node.coordinators.share_state
    count = hosts.count

    def index_of(key: SharePartition) -> int:
        return hosts.kind.index_of(key.text, count)

    def merged(answers: list[Message]) -> Message:
        answer = merge(request, answers)
        count_errors(node, slot, answer)
        return answer

    parts = split(request, index_of)
    if not parts:
        return merge(request, [])
    gathering = Gathering(slot, len(parts), merged)
    for index, part in parts.items():
        _ask_one(node, index, part, slot, Part(gathering, index))
    return PENDING


def _ask_one(node: Node, index: int, part: Any, slot: Slot, reply: Answerable) -> None:
    try:
        host = node.coordinators.share_state.at(index)
    except ApiError as error:
        reply.reply(slot.api.refuse(part, slot.version, ErrorCode(error.code), None))
        return
    host.run(lambda machine: machine.answer(node.now_ms, part, reply))
