"""One step from what there is to what the file says."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from penstock.client.declared.marked import Mark


class Sign(Enum):
    """What a change does, as it is shown before its line."""

    ADD = "+"
    ALTER = "~"
    REMOVE = "-"


def _nothing() -> None:
    """Nobody can be asked beforehand."""


class Change(NamedTuple):
    """`check` asks the brokers whether it could be done, and changes nothing; `perform` does it. The marks say where
    the words stand that a refusal may be about; the thing itself stands at `mark`, unless the file does not name it."""

    sign: Sign
    kind: str
    name: str
    details: tuple[str, ...]
    perform: Callable[[], None]
    check: Callable[[], None] = _nothing
    mark: Mark | None = None
    marks: tuple[tuple[str, Mark], ...] = ()

    @property
    def takes_away(self) -> bool:
        """Whether something that is there will not be there any more."""
        return self.sign is Sign.REMOVE or any(detail.startswith(f"{Sign.REMOVE.value} ") for detail in self.details)

    def mark_of(self, refusal: str) -> Mark | None:
        """Where that stands which a broker refuses."""
        named = [(len(word), mark) for word, mark in self.marks if word in refusal]
        return max(named)[1] if named else self.mark


def became(name: str, before: object, after: object) -> str:
    """What of a thing is another than before."""
    if before is None:
        return f"+ {name}: {after}"
    return f"- {name}: {before}" if after is None else f"~ {name}: {before} -> {after}"
