"""From the bytes of a fetch to the records a reader may see. A pure function, for the CLI and for columnar readers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from penstock.core.base.ports import Buffer
from penstock.core.records import checksum
from penstock.core.records.batch import BatchHeader, iterate_headers
from penstock.core.records.control import ControlType, decode_key
from penstock.core.records.errors import CorruptBatch
from penstock.core.records.record import Record, iterate, read_body, records_of
from penstock.core.wire.api.fetch import AbortedTransaction

UNPACKED_BYTES_MAX: Final = 64 * 1024 * 1024
RECORDS_MAX: Final = 100_000
"""A fetched megabyte may unpack to gigabytes: beyond these the rest is left for the next fetch."""


def read_batches(
    blob: Buffer, first: int, end: int | None = None, aborted: Iterable[AbortedTransaction] = ()
) -> tuple[list[Record], int]:
    """The records from offset `first` up to `end`, and the offset to go on from: that after the last whole batch, or
    an earlier one where they are many.

    Marks of the cluster are passed over, and so is what belongs to the aborted transactions that a read_committed
    answer lists. A fetch begins with the batch that holds its offset and may end inside another one.
    """
    filter_ = AbortedFilter(aborted)
    records: list[Record] = []
    next_offset, unpacked_bytes = first, 0
    for at, header in iterate_headers(blob, partial_tail=True):
        if unpacked_bytes >= UNPACKED_BYTES_MAX:
            break
        if not checksum.is_valid(blob, at, header):
            raise CorruptBatch("the checksum does not match", position=at, offset=header.base_offset)
        if not filter_.hides(blob, at, header) and header.next_offset > first:
            body = read_body(blob, at, header)
            unpacked_bytes += len(body)
            records += islice(_wanted(header, body, first, end), RECORDS_MAX - len(records))
            if len(records) == RECORDS_MAX:
                return records, records[-1].offset + 1
        next_offset = max(next_offset, header.next_offset)
    return records, next_offset


def _wanted(header: BatchHeader, body: bytes, first: int, end: int | None) -> Iterator[Record]:
    found = records_of(header, body)
    if header.base_offset < first or (end is not None and header.last_offset >= end):
        return (record for record in found if first <= record.offset and (end is None or record.offset < end))
    return found


class AbortedFilter:
    """Knows, batch by batch, which producers are inside a transaction that was aborted in the end."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._coming = sorted(aborted, key=lambda one: one.first_offset, reverse=True)
        self._inside: set[int] = set()

    def hides(self, blob: Buffer, at: int, header: BatchHeader) -> bool:
        while self._coming and self._coming[-1].first_offset <= header.last_offset:
            self._inside.add(self._coming.pop().producer_id)
        if header.is_control:
            mark = next(iterate(blob, at), None)
            if mark is not None and decode_key(mark.key) is ControlType.ABORT:
                self._inside.discard(header.producer_id)
            return True
        return header.is_transactional and header.producer_id in self._inside
