"""How group APIs reach their machines: one shard by group id, or several whose answers are put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol, TypeVar

from penstock.core.base.errors import ApiError
from penstock.core.base.ports import Steps
from penstock.core.groups.refusals import refused
from penstock.core.groups.shard import GroupShard
from penstock.core.node.coordinators import Coordinator
from penstock.core.node.node import Node
from penstock.core.node.slots import PENDING, Answer, Answerable, Slot
from penstock.core.rsm.result import Reply, Result
from penstock.core.wire import Message

R = TypeVar("R", bound=Message)
P = TypeVar("P", bound=Message, contravariant=True)


class Decide(Protocol[P]):
    """How one shard answers its part."""

    def __call__(self, shard: GroupShard, part: P, reply: Reply) -> Result: ...


def ask(node: Node, group_id: str, request: Message, slot: Slot, decide: Callable[[GroupShard], Result]) -> Answer:
    """Let the group's shard answer; where there is none, the request is refused as its API does that."""
    try:
        coordinator = node.coordinators.find(group_id)
    except ApiError as error:
        node.error(slot.api.name, error.code)
        return refused(request, slot.version, error.code)
    slot.parked = coordinator
    coordinator.run(decide)
    return PENDING


class _Gathering:
    """Collects the answers of several shards for one slot."""

    def __init__(self, slot: Slot, expected: int, merge: Callable[[list[Message]], Message]) -> None:
        self._slot = slot
        self._missing = expected
        self._merge = merge
        self._answers: dict[int, Message] = {}

    @property
    def gone(self) -> bool:
        return self._slot.gone

    def put(self, shard: int, answer: Message) -> None:
        self._answers[shard] = answer
        self._missing -= 1
        if self._missing == 0:
            self._slot.reply(self._merge([self._answers[each] for each in sorted(self._answers)]))


class _Part(Answerable):
    """The reply token that one of several shards holds."""

    __slots__ = ("_gathering", "_shard")

    def __init__(self, gathering: _Gathering, shard: int) -> None:
        self._gathering = gathering
        self._shard = shard

    @property
    def gone(self) -> bool:
        return self._gathering.gone

    def reply(self, message: Message) -> None:
        self._gathering.put(self._shard, message)


def ask_shards_in_turn(
    node: Node,
    slot: Slot,
    request: Message,
    ask_one: Callable[[Coordinator, Answerable], Steps[None]],
    merge: Callable[[list[Message]], Message],
) -> Answer:
    """Ask every shard of this node the same, one after the other, because each may take some turns."""
    shards = node.coordinators.local
    if not shards:
        return merge([])
    gathering = _Gathering(slot, len(shards), merge)

    def ask_each() -> Steps[None]:
        for index in shards:
            try:
                coordinator = node.coordinators.at(index)
            except ApiError as error:
                gathering.put(index, refused(request, slot.version, error.code))
                continue
            yield from ask_one(coordinator, _Part(gathering, index))

    node.tasks.run(ask_each())
    return PENDING


def ask_shards(
    node: Node,
    slot: Slot,
    parts: Mapping[int, R],
    decide: Decide[R],
    merge: Callable[[list[Message]], Message],
    version: int,
) -> Answer:
    """Ask each shard its part; one that cannot answer refuses for its part only."""
    if not parts:
        return merge([])
    gathering = _Gathering(slot, len(parts), merge)
    for index, part in parts.items():
        try:
            coordinator = node.coordinators.at(index)
        except ApiError as error:
            gathering.put(index, refused(part, version, error.code))
            continue
        coordinator.run(partial(decide, part=part, reply=_Part(gathering, index)))
    return PENDING
