"""What an audit finds: a range of one partition, and what is wrong with it, or a sum that is another one. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from penstock.client.metadata import TopicPartition


class Kind(StrEnum):
    """What can be wrong with a range."""

    MISSING = "missing"
    DOUBLED = "doubled"
    SWAPPED = "swapped"
    CHANGED = "changed"


class Gap(NamedTuple):
    """Offsets `first` up to `end`, which is not in it."""

    kind: Kind
    where: TopicPartition
    first: int
    end: int
    why: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.where} [{self.first}, {self.end}): {self.why}"


class Sum(NamedTuple):
    """What somebody says he did, and what is there. None: it cannot be counted, and `note` says why."""

    pipeline: str
    what: str
    where: str
    told: int
    found: int | None
    note: str = ""

    @property
    def adds_up(self) -> bool:
        return self.found is None or self.found == self.told
