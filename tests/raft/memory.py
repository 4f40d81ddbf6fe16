"""A log in memory that forgets what a disk would: a crash keeps what was written, power loss only what was synced."""

from __future__ import annotations

from typing import NamedTuple

from penstock.core.raft.ids import SnapshotId
from penstock.core.records.batch import BatchHeader, stamp
from penstock.core.records.record import iterate

Entry = tuple[int, bytes]
"""(epoch, value) of a record."""


class Stored(NamedTuple):
    """A batch as it stands in the log; `entries` are its records by offset, none where they are control records."""

    base_offset: int
    next_offset: int
    epoch: int
    data: bytes
    is_control: bool
    entries: dict[int, Entry]


class MemoryLog:
    """A `RaftLog` over a list of batches. `durable` is what would be found after power loss."""

    def __init__(self) -> None:
        self.batches: list[Stored] = []
        self.durable: list[Stored] = []
        self.start_offset = 0
        self.synced_offset = 0
        self.is_blocked = False

    def __repr__(self) -> str:
        return f"log {self.start_offset}..{self.end_offset} of {self.latest_epoch}, synced {self.synced_offset}"

    @property
    def end_offset(self) -> int:
        return self.batches[-1].next_offset if self.batches else self.start_offset

    @property
    def latest_epoch(self) -> int:
        return self.batches[-1].epoch if self.batches else -1

    def epoch_end(self, epoch: int) -> tuple[int, int]:
        if not self.batches or epoch > self.latest_epoch:
            return -1, -1
        below = None
        for batch in self.batches:
            if batch.epoch > epoch:
                return (epoch if below is None else below), batch.base_offset
            below = batch.epoch
        return epoch, self.end_offset

    def epoch_at(self, offset: int) -> int:
        return next(batch.epoch for batch in self.batches if batch.base_offset <= offset < batch.next_offset)

    def append(self, batch: bytearray | memoryview, header: BatchHeader, leader_epoch: int, now_ms: int) -> int:
        assert not self.is_blocked, "a log that is blocked takes nothing"
        base_offset = self.end_offset
        stamp(batch, base_offset, leader_epoch)
        next_offset = base_offset + header.last_offset_delta + 1
        records = () if header.is_control else iterate(batch)
        entries = {record.offset: (leader_epoch, record.value or b"") for record in records}
        self.batches.append(Stored(base_offset, next_offset, leader_epoch, bytes(batch), header.is_control, entries))
        return base_offset

    # What the owner of a `Raft` does with it

    def read(self, offset: int, bytes_max: int) -> bytes:
        """Whole batches from the one with `offset`, at least one."""
        found: list[bytes] = []
        for batch in self.batches:
            if batch.next_offset > offset:
                if found and bytes_max < len(batch.data):
                    break
                found.append(batch.data)
                bytes_max -= len(batch.data)
        return b"".join(found)

    def entries(self, since: int = 0) -> dict[int, Entry]:
        """The records from an offset on."""
        found: dict[int, Entry] = {}
        for batch in reversed(self.batches):
            if batch.next_offset <= since:
                break
            found |= batch.entries
        return found

    def sync(self, batches: list[Stored]) -> None:
        """A sync that began when the log held these is done."""
        self.durable = [batch for batch in batches if batch.next_offset > self.start_offset]
        self.synced_offset = self.durable[-1].next_offset if self.durable else self.start_offset

    def truncate(self, offset: int) -> None:
        """Cut; the cut itself is durable only with the next sync."""
        self.batches = [batch for batch in self.batches if batch.next_offset <= offset]
        self.synced_offset = min(self.synced_offset, self.end_offset)

    def drop_before(self, snapshot_id: SnapshotId) -> None:
        start_offset = snapshot_id.end_offset
        self.batches = [batch for batch in self.batches if batch.next_offset > start_offset]
        self.durable = [batch for batch in self.durable if batch.next_offset > start_offset]
        self.start_offset = max(self.start_offset, start_offset)

    def replace(self, start_offset: int) -> None:
        """A snapshot takes the place of everything."""
        self.batches, self.durable = [], []
        self.start_offset = self.synced_offset = start_offset

    def fit(self, newest: SnapshotId) -> None:
        """What an owner sees to before a `Raft` has the log: a snapshot is durable when it is made, and what it holds
        of the log may not be yet. A power loss can leave a log that ends before it, or, when the log had just been cut,
        one that holds there what was cut off."""
        last = newest.end_offset - 1
        is_behind = self.end_offset < newest.end_offset
        if is_behind or (self.start_offset <= last and self.epoch_at(last) != newest.epoch):
            self.replace(newest.end_offset)

    def crash(self) -> None:
        """The process died: everything written is there, and nobody knows how much of it is synced."""
        common = 0
        for written, safe in zip(self.batches, self.durable, strict=False):
            if written != safe:
                break
            common += 1
        self.synced_offset = self.batches[common - 1].next_offset if common else self.start_offset

    def lose_power(self, survivors: int) -> None:
        """The machine died: what was synced is there, and as much of the rest as chance has it."""
        grown = self.durable == self.batches[: len(self.durable)]
        self.batches = self.batches[: len(self.durable) + survivors] if grown else list(self.durable)
        self.durable = list(self.batches)
        self.synced_offset = self.end_offset
