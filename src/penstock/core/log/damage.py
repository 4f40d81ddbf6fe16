"""A log whose bytes are not what was written: what is known of that, and who decides what becomes of it.

A crash can tear what it interrupted, and nobody was told that this was kept: that is cut off. Everything else was
acknowledged once. It is cut only where somebody takes the responsibility for that: a person, or a leader that has it.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from penstock.core.base.errors import PenstockError
from penstock.core.base.ports import File, FileFailure, Steps, Unlink
from penstock.core.log.checkpoints import read_file
from penstock.core.log.durable import sync_file, sync_folder, write_anew

DAMAGE_FILE: Final = "penstock.damage"
"""In the folder of a log that was not opened: the next start looks at it again, however the last stop was."""


class Damage(NamedTuple):
    """Where a log stops being one."""

    topic: str
    partition: int
    file: str
    position: int
    """Where in the file the first batch begins that is bad; its end, if what follows is missing."""
    first_offset: int
    """The first one that cannot be read."""
    end_offset: int
    """The log's old end, as far as that is known; never below `first_offset`."""
    size_bytes: int
    """From there on, what follows included."""
    is_partial: bool
    """The last file ends within the batch, as an interrupted append leaves it."""
    can_be_torn: bool
    """A crash explains it, and nobody was told that these bytes would last."""

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def what(self) -> str:
        return clause(self.file, self.position, self.size_bytes, self.first_offset, self.end_offset)


def clause(file: str, position: int, size_bytes: int, first_offset: int, end_offset: int) -> str:
    """What is damaged, for a sentence: file, position, offsets, bytes."""
    lost = f"offsets {first_offset} to {end_offset - 1}"
    if end_offset <= first_offset:
        lost = f"what came from offset {first_offset} on"
    return f"{file} at byte {position}: {lost} ({size_bytes} bytes)"


class DamagedLog(PenstockError):
    """A log that is not opened: nothing of it was changed."""

    def __init__(self, damage: Damage) -> None:
        self.damage = damage
        super().__init__(f"{damage.name} is damaged in {damage.what}")


def refuse_untorn(damage: Damage) -> Steps[None]:
    """Leave the files as they are, unless a crash explains what is wrong with them."""
    if not damage.can_be_torn:
        raise DamagedLog(damage)
    yield from ()


def cut_anyway(damage: Damage) -> Steps[None]:
    """Somebody answers for it."""
    yield from ()


def mark(folder: str, damage: Damage) -> Steps[None]:
    """Note that a log is not to be trusted, whatever the mark of a clean stop will say. A disk that does not even take
    that is looked at anew."""
    try:
        file = File(f"{folder}/{DAMAGE_FILE}")
        yield from write_anew(file, json.dumps({"version": 0, "offset": damage.first_offset}).encode())
        yield from sync_file(file)
        yield from sync_folder(folder)
    except FileFailure:
        return


def marked_offset(folder: str) -> Steps[int]:
    """From where on a marked log is to be looked at; all of it where the mark cannot be read."""
    data = yield from read_file(f"{folder}/{DAMAGE_FILE}")
    try:
        return max(0, int(json.loads(data or b"")["offset"]))
    except (ValueError, KeyError, TypeError):
        return 0


def unmark(folder: str) -> Steps[None]:
    """It was looked at, and is whole, or was made so."""
    yield Unlink(File(f"{folder}/{DAMAGE_FILE}"))
