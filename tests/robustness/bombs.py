"""Batches that are small and unpack to a lot, and how much memory whoever meets them takes at most."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch, seal
from penstock.core.records.codecs import DECOMPRESSED_BYTES_MAX, Codec

PACKED: Final = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
NOW_MS: Final = 1_700_000_000_000
MEGABYTE: Final = 1 << 20


def bomb(codec: Codec = Codec.ZSTD, unpacked_bytes: int = 2 * DECOMPRESSED_BYTES_MAX) -> bytes:
    """A batch of one record, by its header; its body is nothing but zeros."""
    header = read_header(build_batch([(b"k", b"v", (), NOW_MS)]))
    return bytes(seal(header._replace(attributes=codec), bytes(unpacked_bytes)))


def heap(count: int, value_bytes: int, codec: Codec = Codec.ZSTD) -> bytes:
    """Good batches, one record in each, that are harmless one by one."""
    one = build_batch([(b"k", bytes(value_bytes), (), NOW_MS)], codec=codec)
    return b"".join(b"%b%b" % (offset.to_bytes(8, "big"), one[8:]) for offset in range(count))


@contextmanager
def holds_at_most(bytes_max: int) -> Iterator[None]:
    """What is in the block never holds more than that at a time."""
    tracemalloc.start()
    try:
        yield
        held = tracemalloc.get_traced_memory()[1]
        assert held < bytes_max, f"{held:,} bytes"
    finally:
        tracemalloc.stop()
