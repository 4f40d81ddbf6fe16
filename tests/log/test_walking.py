"""Walking to an offset: what lies before it is passed quickly, and believed no more than what is found."""

from __future__ import annotations

import struct

import pytest

from penstock.core.base.ports import File, Read, Steps
from penstock.core.log.scan import Located, walk_to
from penstock.core.records.batch import stamp
from penstock.core.records.build import build_batch
from penstock.core.records.errors import CorruptBatch

BATCHES = 5
RECORDS = 2
FILE = File("/data/orders-0/00000000000000000000.log")


def row() -> tuple[bytearray, int]:
    """Batches behind each other, and the size of each."""
    data = bytearray()
    for number in range(BATCHES):
        batch = build_batch([(None, b"v", (), 1_000)] * RECORDS)
        stamp(batch, number * RECORDS, 0)
        data += batch
    return data, len(data) // BATCHES


def walked(data: bytearray, offset: int) -> Located | None:
    steps: Steps[Located | None] = walk_to(FILE, 0, len(data), offset)
    found: bytes | None = None
    try:
        while True:
            op = steps.send(found)
            assert isinstance(op, Read)
            found = bytes(data[op.position : op.position + op.length])
    except StopIteration as stop:
        located: Located | None = stop.value
        return located


def test_each_offset_is_found_in_its_batch() -> None:
    data, size = row()
    for offset in range(BATCHES * RECORDS):
        located = walked(data, offset)
        assert located is not None
        assert (located.position, located.header.base_offset) == (offset // RECORDS * size, offset // RECORDS * RECORDS)
    assert walked(data, BATCHES * RECORDS) is None


@pytest.mark.parametrize(
    ("at", "form", "value"),
    [(0, ">q", -9), (8, ">i", 48), (8, ">i", -12), (16, ">b", 1), (16, ">b", 3), (23, ">i", -1), (57, ">i", -1)],
    ids=["base offset", "length", "no way on", "old magic", "new magic", "last offset delta", "count"],
)
def test_what_is_passed_must_be_a_batch(at: int, form: str, value: int) -> None:
    data, size = row()
    struct.pack_into(form, data, size + at, value)
    with pytest.raises(CorruptBatch):
        walked(data, BATCHES * RECORDS - 1)
