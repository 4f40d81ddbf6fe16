"""The batch checksum: CRC-32C of everything from the attributes to the end of the batch.

The wheel computes it with the processor's instruction: 0.1 us for 100 bytes, 36 us for a megabyte.
"""

from __future__ import annotations

from penstock.core.base.crc32c import crc32c
from penstock.core.base.ports import Buffer
from penstock.core.records.batch import ATTRIBUTES_AT, BatchHeader


def compute(buf: Buffer, pos: int, size: int) -> int:
    """The checksum that the batch of `size` bytes at `pos` should carry."""
    return crc32c(memoryview(buf)[pos + ATTRIBUTES_AT : pos + size])


def of_parts(head: Buffer, body: Buffer) -> int:
    """The checksum of a batch whose header and body do not stand together yet."""
    return crc32c(body, crc32c(memoryview(head)[ATTRIBUTES_AT:]))


def is_valid(buf: Buffer, pos: int, header: BatchHeader) -> bool:
    """Whether all the bytes of the batch are there and are those its writer checksummed."""
    size = header.size
    return pos + size <= len(buf) and compute(buf, pos, size) == header.crc
