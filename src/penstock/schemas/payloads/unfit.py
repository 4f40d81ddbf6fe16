"""What is wrong with a payload, on its way out of the parts that were being read."""

from __future__ import annotations

from typing import Final

from penstock.core.records.schema_ids import Misfit

NESTING_MAX: Final = 100
CHARS_MAX: Final = 200
"""Of what is said of it: a client hears it for each of many records."""


class Unfit(Exception):
    """Raised where it is found; whoever reads a part that has a name puts that in front."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self._path: list[str] = []

    def within(self, name: str) -> Unfit:
        self._path.append(name)
        return self

    def misfit(self) -> Misfit:
        path = ".".join(reversed(self._path))
        return Misfit(short(path), short(self.reason))


def unfit(failure: Unfit | IndexError) -> Unfit:
    """Running off the end is a payload that is too short."""
    return failure if isinstance(failure, Unfit) else Unfit("ends too early")


def short(text: str) -> str:
    return text if len(text) <= CHARS_MAX else f"{text[:CHARS_MAX]}…"
