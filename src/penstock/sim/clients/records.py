"""Values in and out of batches. A value names its producer and its number, so that no two are alike."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.base.ports import Buffer
from penstock.core.records.batch import iterate_headers
from penstock.core.records.build import build_batch
from penstock.core.records.checksum import is_valid
from penstock.core.records.codecs import Codec
from penstock.core.records.record import iterate
from penstock.sim.chance import Chance

PADDING_BYTES_MAX = 2_000
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


def make_value(producer: str, number: int, chance: Chance) -> bytes:
    """A value that is mostly short and sometimes spans several sectors."""
    return f"{producer}#{number}:".encode() + chance.bytes(chance.skewed(0, PADDING_BYTES_MAX)).hex().encode()


def encode_values(
    values: Sequence[bytes], timestamp_ms: int, codec: int, producer_id: int = -1, epoch: int = -1, sequence: int = -1
) -> bytearray:
    """A batch of these values."""
    records = [(None, value, (), timestamp_ms) for value in values]
    return build_batch(records, codec=codec, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def decode_values(data: Buffer) -> tuple[tuple[tuple[int, bytes], ...], bool]:
    """(offset, value) of every whole batch in a fetched range, and whether one of them is damaged."""
    found: list[tuple[int, bytes]] = []
    for position, header in iterate_headers(data, partial_tail=True):
        if not is_valid(data, position, header):
            return tuple(found), True
        found += [(record.offset, record.value or b"") for record in iterate(data, position)]
    return tuple(found), False
