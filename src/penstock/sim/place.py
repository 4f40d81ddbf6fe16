"""Where things happen: a partition, by its name."""

from __future__ import annotations

from typing import Final, NamedTuple

UNKNOWN: Final = -1


class Partition(NamedTuple):
    """A topic's partition; of a topic that is deleted and created again, in the how-many-th of its lives (its id)."""

    topic: str
    number: int
    life: str = ""

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}" + (f"@{self.life}" if self.life else "")
