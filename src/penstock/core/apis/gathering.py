"""One answer put together from those of several machines."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.node.serving.slots import Answerable, Slot
from penstock.core.wire import Message


class Gathering:
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


class Part(Answerable):
    """The reply token that one of several shards holds."""

    __slots__ = ("_gathering", "_shard")

    def __init__(self, gathering: Gathering, shard: int) -> None:
        self._gathering = gathering
        self._shard = shard

    @property
    def gone(self) -> bool:
        return self._gathering.gone

    def reply(self, message: Message) -> None:
        self._gathering.put(self._shard, message)
