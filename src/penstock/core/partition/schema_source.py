"""What a leader asks of schemas: whether those that records name may be used, and how payloads are read with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.log.log import Log
from penstock.core.records.diverting import Diverted, Letter
from penstock.core.records.schema_ids import NOTHING_KNOWN, Demand, Known, Named, Verdicts

Written = Callable[[ApiError | None], None]
Judged = Callable[[Verdicts | ApiError], None]


class Diverting(Protocol):
    """The partition from which records are diverted."""

    @property
    def topic(self) -> str: ...

    @property
    def index(self) -> int: ...

    @property
    def log(self) -> Log: ...


class DeadLetterWriter(Protocol):
    """Takes records that did not fit. `written` comes once, in a later step or at once."""

    def check(self, source: Diverting, letters: Sequence[Letter]) -> None:
        """Raise what the producer hears if they cannot be taken."""
        ...

    def write(self, source: Diverting, base_offset: int, letters: Sequence[Letter], written: Written) -> None: ...

    def write_again(self, source: Diverting, base_offset: int, whole: Diverted, written: Written) -> None:
        """Of a batch that is stored already, write what is not."""
        ...


class SchemaSource(Protocol):
    """Knows the schemas of a registry."""

    @property
    def dead_letters(self) -> DeadLetterWriter: ...

    def known(self, topic: str, demands: tuple[Demand, ...]) -> Known:
        """What was judged before and still holds."""
        ...

    def judge(self, topic: str, demands: tuple[Demand, ...], schemas: frozenset[Named], judged: Judged) -> None:
        """Say of each schema whether records of a topic may name it; at once, or when that is known. `judged` comes
        exactly once, with an error where nobody can say it now."""
        ...


class NoSchemas:
    """Where nobody folds the registry's topic."""

    @property
    def dead_letters(self) -> DeadLetterWriter:
        raise AssertionError("what nobody knows is not found to be wrong")

    def known(self, topic: str, demands: tuple[Demand, ...]) -> Known:
        return NOTHING_KNOWN

    def judge(self, topic: str, demands: tuple[Demand, ...], schemas: frozenset[Named], judged: Judged) -> None:
        judged(ApiError(ErrorCode.NOT_ENOUGH_REPLICAS, "this node does not know any schemas"))


NO_SCHEMAS: Final = NoSchemas()
