"""A machine's log as it comes to count: a record of a transaction counts from the marker that ends it, or never.

The same fold reads the log when a machine is loaded, and takes what the machine has just written while it lives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from penstock.core.base.ports import Buffer
from penstock.core.records.batch import BatchHeader
from penstock.core.records.control import decode_end_transaction
from penstock.core.records.record import iterate
from penstock.core.rsm.result import KeyValue, Transaction

Replay = Callable[[bytes, bytes | None, int], None]
"""(key, value, timestamp)"""
Waits = Callable[[bytes, int], None]
"""(key, timestamp)"""
At = Callable[[int], None]
"""(offset)"""


def _nothing(key: bytes, timestamp: int) -> None:
    """Most do not care what is still open."""


def _nowhere(offset: int) -> None:
    """Most do not care where a record is."""


class _Waiting(NamedTuple):
    offset: int
    value: bytes | None
    timestamp: int


class Fold:
    """Hands on the records of a log as they come to count."""

    __slots__ = ("_at", "_open", "_replay", "_waits")

    def __init__(self, replay: Replay, waits: Waits = _nothing, at: At = _nowhere) -> None:
        """`waits` hears of what is written in a transaction when it is written; `at`, before each record that counts,
        where it is."""
        self._at = at
        self._replay = replay
        self._waits = waits
        # By producer, the last record of each key in its open transaction.
        self._open: dict[int, dict[bytes, _Waiting]] = {}

    def appended(self, records: Sequence[KeyValue], base_offset: int, now_ms: int, of: Transaction | None) -> None:
        """What the machine has just written."""
        if of is None:
            for offset, (key, value) in enumerate(records, base_offset):
                self._counts(key, value, offset, now_ms)
            return
        waiting = self._open.setdefault(of.producer_id, {})
        for offset, (key, value) in enumerate(records, base_offset):
            waiting[key] = _Waiting(offset, value, now_ms)
            self._waits(key, now_ms)

    def ended(self, producer_id: int, committed: bool) -> None:
        """A marker has been written, or read."""
        waiting = self._open.pop(producer_id, {})
        for key, each in waiting.items() if committed else ():
            self._counts(key, each.value, each.offset, each.timestamp)

    @property
    def are_open(self) -> bool:
        """Whether a transaction is."""
        return bool(self._open)

    def pending(self, key: bytes) -> bool:
        """Whether a transaction that is still open would change what a key says."""
        return any(key in waiting for waiting in self._open.values())

    def pending_from(self, prefix: bytes) -> Iterator[bytes]:
        """The keys with this beginning that a transaction that is still open would change."""
        for waiting in self._open.values():
            yield from (key for key in waiting if key.startswith(prefix))

    def take(self, data: Buffer, position: int, header: BatchHeader) -> None:
        if header.is_control:
            self._end(data, position, header)
        elif header.is_transactional:
            waiting = self._open.setdefault(header.producer_id, {})
            for record in iterate(data, position):
                if record.key is not None:
                    waiting[record.key] = _Waiting(record.offset, record.value, record.timestamp)
                    self._waits(record.key, record.timestamp)
        else:
            for record in iterate(data, position):
                if record.key is not None:
                    self._counts(record.key, record.value, record.offset, record.timestamp)

    def _end(self, data: Buffer, position: int, header: BatchHeader) -> None:
        for record in iterate(data, position):
            end = decode_end_transaction(record.key, record.value)
            if end is not None:
                self.ended(header.producer_id, end.committed)

    def _counts(self, key: bytes, value: bytes | None, offset: int, timestamp: int) -> None:
        """What counts now is newer than what was written before it and still waits for the end of a transaction."""
        for waiting in self._open.values():
            if key in waiting and waiting[key].offset < offset:
                del waiting[key]
        self._at(offset)
        self._replay(key, value, timestamp)
