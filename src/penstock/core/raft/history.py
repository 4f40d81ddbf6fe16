"""The voters through time: what each control record of the log made of them, so that a cut log takes its changes back.

A change counts from the moment it is in the log, committed or not: a majority of the new set must commit it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from penstock.core.base.ports import Buffer
from penstock.core.raft.ids import UNKNOWN_OFFSET
from penstock.core.raft.voters import VoterSet
from penstock.core.records.batch import iterate_headers
from penstock.core.records.control import ControlType, decode_key
from penstock.core.records.record import Record, iterate
from penstock.core.wire.stored.quorum import KRaftVersionRecord, VotersRecord


class VoterHistory:
    """Voter sets and kraft.version levels, each by the offset of its record, above what the settings say."""

    __slots__ = ("_sets", "_static", "_versions")

    def __init__(self, static: VoterSet | None = None) -> None:
        self._static = VoterSet() if static is None else static
        self._sets: list[tuple[int, VoterSet]] = []
        self._versions: list[tuple[int, int]] = []

    @property
    def last(self) -> VoterSet:
        """The voters as of the log's end."""
        return self._sets[-1][1] if self._sets else self._static

    @property
    def previous(self) -> VoterSet:
        """The voters before the last change."""
        return self._sets[-2][1] if len(self._sets) > 1 else self._static

    @property
    def last_offset(self) -> int:
        """Where the last set stands in the log, -1 where it came from the settings."""
        return self._sets[-1][0] if self._sets else UNKNOWN_OFFSET

    @property
    def kraft_version(self) -> int:
        return self._versions[-1][1] if self._versions else 0

    @property
    def is_dynamic(self) -> bool:
        """Whether voters are kept in the log and can be changed there."""
        return self.kraft_version >= 1

    def at(self, end_offset: int) -> tuple[int, VoterSet]:
        """(kraft.version, voters) as of a log that ends there, which is what a snapshot must keep."""
        versions = bisect_left(self._versions, end_offset, key=lambda entry: entry[0])
        sets = bisect_left(self._sets, end_offset, key=lambda entry: entry[0])
        version = self._versions[versions - 1][1] if versions else 0
        return version, self._sets[sets - 1][1] if sets else self._static

    def fold(self, batches: Buffer) -> None:
        """Take over what control batches of the log say; others are passed over."""
        for record in _controls(batches):
            self._take(record, record.offset)

    def load_snapshot(self, end_offset: int, batches: Buffer) -> None:
        """Begin anew from a snapshot's control batches, which stand for everything before its end."""
        self._sets.clear()
        self._versions.clear()
        for record in _controls(batches):
            self._take(record, end_offset - 1)

    def truncate(self, end_offset: int) -> None:
        """The log was cut: what stood from there on never happened."""
        for entries in (self._sets, self._versions):
            del entries[bisect_left(entries, end_offset, key=lambda entry: entry[0]) :]

    def forget_before(self, start_offset: int) -> None:
        """Nobody asks any longer for the time before a snapshot's end; the newest entry of that time stays."""
        for entries in (self._sets, self._versions):
            del entries[: max(0, bisect_left(entries, start_offset, key=lambda entry: entry[0]) - 1)]

    def _take(self, record: Record, offset: int) -> None:
        match decode_key(record.key):
            case ControlType.KRAFT_VOTERS:
                self._sets.append((offset, VoterSet.from_record(VotersRecord.decode(record.value or b"", 0))))
            case ControlType.KRAFT_VERSION:
                self._versions.append((offset, KRaftVersionRecord.decode(record.value or b"", 0).k_raft_version))


def _controls(batches: Buffer) -> Iterator[Record]:
    for position, header in iterate_headers(batches):
        if header.is_control:
            yield from iterate(batches, position)
