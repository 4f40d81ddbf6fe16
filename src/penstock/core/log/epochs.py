"""Leader epochs: where each began in this log, kept in `leader-epoch-checkpoint`."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from penstock.core.base.ports import FileFailure, Steps
from penstock.core.log import checkpoints
from penstock.core.log.names import EPOCHS_FILE

UNDEFINED: Final = (-1, -1)


class LeaderEpochs:
    """(epoch, first offset) in rising order of both."""

    __slots__ = ("_entries", "dirty", "latest")

    def __init__(self, entries: list[tuple[int, int]] | None = None) -> None:
        self._entries = entries or []
        self.latest = self._entries[-1][0] if self._entries else -1
        # Set when the file no longer says the same; whoever moves the recovery point writes it first.
        self.dirty = False

    def entries(self) -> list[tuple[int, int]]:
        return list(self._entries)

    def assign(self, epoch: int, offset: int) -> None:
        """An epoch begins at an offset; entries that contradict it belonged to a history that was cut off."""
        if epoch < 0 or (self._entries and epoch == self.latest and offset >= self._entries[-1][1]):
            return
        while self._entries and (self._entries[-1][0] >= epoch or self._entries[-1][1] >= offset):
            self._entries.pop()
        self._entries.append((epoch, offset))
        self._changed()

    def truncate_end(self, end_offset: int) -> None:
        """Forget epochs that would begin at or after the end."""
        while self._entries and self._entries[-1][1] >= end_offset:
            self._entries.pop()
            self._changed()

    def truncate_start(self, start_offset: int) -> None:
        """The epoch that the start offset lies in now begins there; older ones are forgotten."""
        below = bisect_right(self._entries, start_offset, key=lambda entry: entry[1])
        if below and self._entries[below - 1][1] < start_offset:
            self._entries[:below] = [(self._entries[below - 1][0], start_offset)]
            self._changed()

    def end_of(self, epoch: int, end_offset: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch not above the one asked for, as OffsetForLeaderEpoch answers."""
        if epoch == self.latest and self._entries:
            return epoch, end_offset
        above = bisect_right(self._entries, epoch, key=lambda entry: entry[0])
        if epoch < 0 or above == len(self._entries):
            return UNDEFINED
        first_above = self._entries[above][1]
        return (epoch if above == 0 else self._entries[above - 1][0]), first_above

    def at(self, offset: int) -> int:
        """The epoch in which an offset was written; -1 if unknown."""
        if self._entries and self._entries[-1][1] <= offset:
            return self.latest
        below = bisect_right(self._entries, offset, key=lambda entry: entry[1])
        return self._entries[below - 1][0] if below else -1

    def write(self, folder: str) -> Steps[None]:
        """Store the epochs if they changed; a change that comes while this runs leaves them dirty."""
        if not self.dirty:
            return
        lines = [f"{epoch} {offset}" for epoch, offset in self._entries]
        self.dirty = False
        try:
            yield from checkpoints.write(f"{folder}/{EPOCHS_FILE}", lines)
        except FileFailure:
            self.dirty = True
            raise

    def _changed(self) -> None:
        self.latest = self._entries[-1][0] if self._entries else -1
        self.dirty = True


def read(folder: str) -> Steps[LeaderEpochs]:
    """The stored epochs. A damaged file counts as none: recovery adds what the scanned batches say."""
    lines = yield from checkpoints.read(f"{folder}/{EPOCHS_FILE}")
    epochs = LeaderEpochs()
    for line in lines or ():
        match line.split():
            case [epoch, offset] if epoch.isdecimal() and offset.isdecimal():
                epochs.assign(int(epoch), int(offset))
    epochs.dirty = False
    return epochs
