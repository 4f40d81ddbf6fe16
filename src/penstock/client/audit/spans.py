"""A span is what was counted of one partition in one minute: batches in a row, their records, and three sums. Pure.

The sums do not depend on the order of adding, and each batch enters them with its offset: two batches that change
places change the sum. There are three, because a broker may pack a batch again: its content has another
checksum then, and is the same batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from struct import Struct
from typing import Final, NamedTuple

from penstock.core.records.batch import BatchHeader

MINUTE_MS: Final = 60_000
# What SQLite keeps in an integer.
_SUM_MASK: Final = (1 << 63) - 1
_IDENTITY: Final = Struct(">qiqqqhii")
_CONTENT: Final = Struct(">qI")
_PACKING: Final = Struct(">qB")


class Span(NamedTuple):
    """From offset `first` up to `end`, which is not in it."""

    first: int
    end: int
    minute: int
    records: int = 0
    batches: int = 0
    bytes: int = 0
    identity: int = 0
    """Of offsets, times, producers and sequences."""
    content: int = 0
    """Of checksums, which cover all bytes of all records."""
    packing: int = 0
    """Of codecs."""

    def with_batch(self, header: BatchHeader) -> Span:
        return Span(
            self.first,
            max(self.end, header.next_offset),
            self.minute,
            self.records + (0 if header.is_control else header.count),
            self.batches + 1,
            self.bytes + header.size,
            _added(self.identity, _identity(header)),
            _added(self.content, _CONTENT.pack(header.base_offset, header.crc)),
            _added(self.packing, _PACKING.pack(header.base_offset, header.codec)),
        )

    def is_like(self, other: Span) -> bool:
        """Whether both counted the same batches. One that was packed in between has the same identity, and no more."""
        is_same = (self.records, self.batches, self.identity) == (other.records, other.batches, other.identity)
        return is_same and (self.content == other.content or self.packing != other.packing)


def minute_of(header: BatchHeader) -> int:
    return header.max_timestamp // MINUTE_MS


def per_minute(spans: Mapping[str, list[Span]]) -> dict[str, dict[int, int]]:
    """The records of each minute, by topic."""
    found: dict[str, dict[int, int]] = {}
    for topic, those in spans.items():
        minutes = found.setdefault(topic, {})
        for span in those:
            minutes[span.minute] = minutes.get(span.minute, 0) + span.records
    return found


def _identity(header: BatchHeader) -> bytes:
    return _IDENTITY.pack(
        header.base_offset,
        header.last_offset_delta,
        header.base_timestamp,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.count,
    )


def _added(total: int, data: bytes) -> int:
    return (total + int.from_bytes(blake2b(data, digest_size=8).digest())) & _SUM_MASK
