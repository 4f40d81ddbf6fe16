"""Values in and out of batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from penstock.core.base.ports import Buffer
from penstock.core.records.batch import iterate_headers
from penstock.core.records.build import NewRecord, build_batch
from penstock.core.records.checksum import is_valid
from penstock.core.records.codecs import Codec
from penstock.core.records.record import iterate
from penstock.sim.events import UNKNOWN
from penstock.sim.values import is_tombstone, key_of

NAME_HEADER: Final = "name"
CODECS = (Codec.NONE, Codec.NONE, Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.ZSTD, Codec.SNAPPY)


class Sequences:
    """Gives each batch its place in the sequence of the present producer id, when it is first sent under that."""

    def __init__(self) -> None:
        self._next = 0
        self._of: dict[int, int] = {}

    def of(self, first_number: int, count: int) -> int:
        """The sequence number of a batch, by the number of its first value."""
        if first_number not in self._of:
            self._of[first_number] = self._next
            self._next += count
        return self._of[first_number]


def encode_values(
    values: Sequence[bytes], timestamp_ms: int, codec: int, producer_id: int = -1, epoch: int = -1, sequence: int = -1
) -> bytearray:
    """A batch of these values."""
    records = [_record(value, timestamp_ms) for value in values]
    return build_batch(records, codec=codec, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def _record(value: bytes, timestamp_ms: int) -> NewRecord:
    if is_tombstone(value):
        return key_of(value), None, ((NAME_HEADER, value),), timestamp_ms
    return key_of(value), value, (), timestamp_ms


class Decoded(NamedTuple):
    """(offset, value) of every whole batch in a fetched range, where the last one ends (-1: there is none),
    whether one of them is damaged (by its checksum, or by a key that is not its value's), and the size of all."""

    values: tuple[tuple[int, bytes], ...]
    next_offset: int
    damaged: bool
    size_bytes: int


def decode_values(data: Buffer) -> Decoded:
    """Take a fetched range apart."""
    found: list[tuple[int, bytes]] = []
    next_offset, size_bytes = UNKNOWN, 0
    for position, header in iterate_headers(data, partial_tail=True):
        if not is_valid(data, position, header):
            return Decoded(tuple(found), next_offset, True, position)
        for record in iterate(data, position):
            value = dict(record.headers)[NAME_HEADER] or b"" if record.value is None else record.value
            if record.key != key_of(value):
                return Decoded(tuple(found), next_offset, True, position)
            found.append((record.offset, value))
        next_offset, size_bytes = header.next_offset, position + header.size
    return Decoded(tuple(found), next_offset, False, size_bytes)
