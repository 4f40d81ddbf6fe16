"""Offsets that were committed in transactions: they count from the marker that ends the transaction, or never.

No producer of ours writes them yet, but a log that was taken over from Kafka has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from penstock.core.base.ports import Buffer
from penstock.core.records.batch import BatchHeader
from penstock.core.records.control import decode_end_transaction
from penstock.core.records.record import Record, iterate

Replay = Callable[[bytes, bytes | None, int], None]
"""(key, value, timestamp)"""


class _Waiting(NamedTuple):
    offset: int
    value: bytes | None
    timestamp: int


class CommittedRecords:
    """Hands on the records of a log as they come to count."""

    __slots__ = ("_open", "_replay")

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        # By producer, the last record of each key in its open transaction.
        self._open: dict[int, dict[bytes, _Waiting]] = {}

    def take(self, data: Buffer, position: int, header: BatchHeader) -> None:
        if header.is_control:
            self._end(data, position, header)
        elif header.is_transactional:
            waiting = self._open.setdefault(header.producer_id, {})
            for record in iterate(data, position):
                if record.key is not None:
                    waiting[record.key] = _Waiting(record.offset, record.value, record.timestamp)
        else:
            for record in iterate(data, position):
                self._count(record)

    def _end(self, data: Buffer, position: int, header: BatchHeader) -> None:
        for record in iterate(data, position):
            end = decode_end_transaction(record.key, record.value)
            if end is not None:
                waiting = self._open.pop(header.producer_id, {})
                for key, each in waiting.items() if end.committed else ():
                    self._overtake(key, each.offset)
                    self._replay(key, each.value, each.timestamp)

    def _count(self, record: Record) -> None:
        if record.key is not None:
            self._overtake(record.key, record.offset)
            self._replay(record.key, record.value, record.timestamp)

    def _overtake(self, key: bytes, offset: int) -> None:
        """What counts now is newer than what was written before it and still waits for the end of a transaction."""
        for waiting in self._open.values():
            if key in waiting and waiting[key].offset < offset:
                del waiting[key]
