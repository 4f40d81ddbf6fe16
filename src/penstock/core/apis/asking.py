"""How group APIs reach their machines: one shard by group id, or several whose answers are put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from penstock.core.apis.gathering import Gathering, Part
from penstock.core.base.errors import ApiError
from penstock.core.base.ports import Steps
from penstock.core.groups.asked import Asked
from penstock.core.groups.shard import GroupShard
from penstock.core.node.coordination.groups import GroupHost
from penstock.core.node.node import Node
from penstock.core.node.serving.api import PENDING, Answer
from penstock.core.node.serving.slots import Answerable, Slot
from penstock.core.rsm.result import Reply
from penstock.core.wire import Message

R = TypeVar("R", bound=Message)


def ask(node: Node, request: Any, slot: Slot) -> Answer:
    """Let the shard of the request's group answer; where there is none, the request is refused as its API does that."""
    group_id: str = request.group_id
    try:
        coordinator = node.coordinators.groups.find(group_id)
    except ApiError as error:
        node.error(slot.api.name, error.code)
        return slot.api.refuse(request, slot.version, error.code, None)
    slot.parked = coordinator
    asked = _asked(request, slot, slot, group_id)
    coordinator.run(partial(GroupShard.answer, now_ms=node.now_ms, asked=asked))
    return PENDING


def _asked(request: R, slot: Slot, reply: Reply, group_id: str | None = None) -> Asked[R]:
    context = slot.context
    return Asked(request, slot.version, reply, group_id, context.client_id or "", f"/{context.address}")


def ask_shards_in_turn(
    node: Node,
    slot: Slot,
    request: Message,
    ask_one: Callable[[GroupHost, Answerable], Steps[None]],
    merge: Callable[[list[Message]], Message],
) -> Answer:
    """Ask every shard of this node the same, one after the other, because each may take some turns."""
    shards = node.coordinators.groups.local
    if not shards:
        return merge([])
    gathering = Gathering(slot, len(shards), merge)

    def ask_each() -> Steps[None]:
        for index in shards:
            try:
                coordinator = node.coordinators.groups.at(index)
            except ApiError as error:
                gathering.put(index, slot.api.refuse(request, slot.version, error.code, None))
                continue
            yield from ask_one(coordinator, Part(gathering, index))

    node.tasks.run(ask_each())
    return PENDING


def ask_shards(
    node: Node,
    slot: Slot,
    parts: Mapping[int, R],
    merge: Callable[[list[Message]], Message],
    version: int,
) -> Answer:
    """Ask each shard its part; one that cannot answer refuses for its part only."""
    if not parts:
        return merge([])
    gathering = Gathering(slot, len(parts), merge)
    for index, part in parts.items():
        try:
            coordinator = node.coordinators.groups.at(index)
        except ApiError as error:
            gathering.put(index, slot.api.refuse(part, version, error.code, None))
            continue
        asked = _asked(part, slot, Part(gathering, index))
        coordinator.run(partial(GroupShard.answer, now_ms=node.now_ms, asked=asked))
    return PENDING
