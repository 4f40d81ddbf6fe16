"""What a table is told apart by: where it lies, which topic it holds, how it is cut by time. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple


class By(StrEnum):
    """How a table is cut by the time of its records."""

    DAY = "day"
    HOUR = "hour"
    NONE = "none"

    @property
    def column(self) -> str | None:
        return _COLUMNS[self]

    @property
    def pattern(self) -> str:
        return _PATTERNS[self]


_COLUMNS: Final = {By.DAY: "_day", By.HOUR: "_hour", By.NONE: None}
# As Arrow's `strftime` reads it. Times are UTC's, whatever the session's are.
_PATTERNS: Final = {By.DAY: "%Y-%m-%d", By.HOUR: "%Y-%m-%d-%H", By.NONE: ""}


@dataclass(frozen=True)
class Origin:
    """The topic whose records a table holds. One that is made anew under its name has another id."""

    topic: str
    topic_id: str


@dataclass(frozen=True)
class Place:
    """A folder or a bucket, and the settings of its store, which may hold secrets."""

    address: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)


class Columns(NamedTuple):
    """What the columns are called by which a record is known: with decoded fields they begin with a `_`."""

    partition: str
    offset: str
    timestamp: str

    @classmethod
    def of(cls, names: list[str]) -> Columns:
        mark = "_" if "_offset" in names else ""
        return cls(f"{mark}partition", f"{mark}offset", f"{mark}timestamp")
