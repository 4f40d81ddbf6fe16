"""The header view: every field where it belongs, patched in place, and nonsense refused with its position."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.records import checksum
from penstock.core.records.batch import (
    HEADER_BYTES,
    NO_SEQUENCE,
    iterate_headers,
    read_header,
    set_log_append_time,
    stamp,
)
from penstock.core.records.build import build_batch
from penstock.core.records.codecs import Codec
from penstock.core.records.errors import CorruptBatch
from penstock.core.records.record import iterate
from tests.records.oracles import KafkaBatch

RECORDS = [(b"k", b"v", (), 1000), (None, None, (), 3000), (b"k2", b"", (("h", None),), 2000)]


def test_fields_agree_with_an_independent_reader() -> None:
    batch = build_batch(
        RECORDS,
        base_offset=77,
        codec=Codec.GZIP,
        producer_id=5,
        producer_epoch=6,
        base_sequence=7,
        transactional=True,
        leader_epoch=9,
    )
    header, other = read_header(batch), KafkaBatch(bytes(batch))
    assert header.base_offset == other.base_offset == 77
    assert header.leader_epoch == other.leader_epoch == 9
    assert header.crc == other.crc
    assert header.attributes == other.attributes
    assert header.last_offset_delta == other.last_offset_delta == 2
    assert (header.base_timestamp, header.max_timestamp) == (other.first_timestamp, other.max_timestamp) == (1000, 3000)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 6, 7)
    assert header.count == 3
    assert header.size == len(batch)
    assert (header.last_offset, header.next_offset) == (79, 80)
    assert header.codec == Codec.GZIP
    assert header.is_transactional
    assert not header.is_control
    assert not header.has_delete_horizon
    assert header.delete_horizon is None


def test_attribute_bits() -> None:
    batch = build_batch(RECORDS, control=True, delete_horizon=500, log_append_time=900)
    header = read_header(batch)
    assert header.is_control
    assert header.is_log_append_time
    assert header.delete_horizon == 500
    assert not header.is_transactional


@pytest.mark.parametrize(
    ("base", "last_delta", "expected"), [(0, 4, 4), ((1 << 31) - 2, 3, 1), ((1 << 31) - 1, 0, (1 << 31) - 1)]
)
def test_sequences_wrap(base: int, last_delta: int, expected: int) -> None:
    header = read_header(build_batch(RECORDS))._replace(base_sequence=base, last_offset_delta=last_delta)
    assert header.last_sequence == expected
    assert header._replace(base_sequence=NO_SEQUENCE).last_sequence == NO_SEQUENCE


def test_stamping_leaves_the_checksum_valid_and_the_neighbours_alone() -> None:
    row = build_batch(RECORDS) * 3
    size = len(row) // 3
    stamp(memoryview(row)[size : 2 * size], 1 << 40, 12)
    header = read_header(row, size)
    assert (header.base_offset, header.leader_epoch) == (1 << 40, 12)
    assert checksum.is_valid(row, size, header)
    assert row[:size] == row[2 * size :] == build_batch(RECORDS)


def test_log_append_time_is_every_records_time() -> None:
    row = build_batch(RECORDS) * 2
    size = len(row) // 2
    set_log_append_time(memoryview(row), size, 123456)
    header = read_header(row, size)
    assert checksum.is_valid(row, size, header)
    assert header.is_log_append_time
    assert [record.timestamp for record in iterate(row, size)] == [123456] * 3
    assert row[:size] == build_batch(RECORDS)


def test_a_row_of_batches() -> None:
    first, second = build_batch(RECORDS, base_offset=0), build_batch(RECORDS[:1], base_offset=3)
    row = bytes(first + second)
    assert [(pos, header.base_offset) for pos, header in iterate_headers(row)] == [(0, 0), (len(first), 3)]
    assert [pos for pos, _ in iterate_headers(row, len(first))] == [len(first)]
    assert list(iterate_headers(b"")) == []


@given(st.integers(0, 200))
def test_a_cut_row_is_an_error_or_a_partial_tail(cut: int) -> None:
    first, second = build_batch(RECORDS), build_batch(RECORDS, base_offset=3)
    row = bytes(first + second)[: len(first) + min(cut, len(second) - 1)]
    assert [pos for pos, _ in iterate_headers(row, partial_tail=True)] == [0]
    if len(row) > len(first):
        with pytest.raises(CorruptBatch) as caught:
            list(iterate_headers(row))
        assert caught.value.position == len(first)


@pytest.mark.parametrize(
    ("position", "garbage"),
    [
        (16, b"\x01"),
        (8, b"\x00\x00\x00\x30"),
        (8, b"\xff\xff\xff\xff"),
        (8, b"\x7f\xff\xff\xff"),
        (0, b"\xff"),
        (23, b"\x80"),
        (57, b"\x80"),
    ],
)
def test_nonsense_is_refused_with_its_position(position: int, garbage: bytes) -> None:
    first, second = build_batch(RECORDS), build_batch(RECORDS, base_offset=3)
    second[position : position + len(garbage)] = garbage
    with pytest.raises(CorruptBatch, match=f"position {len(first)}"):
        list(iterate_headers(first + second))


def test_too_short_for_a_header() -> None:
    with pytest.raises(CorruptBatch, match="too few"):
        read_header(bytes(HEADER_BYTES - 1))


@given(st.data())
def test_the_checksum_sees_every_bit_behind_it(data: st.DataObject) -> None:
    batch = build_batch(RECORDS)
    batch[data.draw(st.integers(21, len(batch) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert not checksum.is_valid(batch, 0, read_header(batch))
    assert not checksum.is_valid(batch[:-1], 0, read_header(batch))
