"""Varints round trip at every width, and widths beyond the type are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.records.errors import CorruptBatch
from penstock.core.records.varint import encode, read_raw32, read_raw64, wide32, wide64, zigzag
from tests.records.oracles import decode_varint, encode_varint

int32 = st.integers(-(1 << 31), (1 << 31) - 1)
int64 = st.integers(-(1 << 63), (1 << 63) - 1)


@given(int64 | st.integers(-70, 70) | st.integers(-9000, 9000))
def test_round_trip_and_bytes_of_an_independent_encoder(number: int) -> None:
    other = bytearray()
    encode_varint(number, other.append)
    encoded = encode(number)
    assert encoded == other
    assert decode_varint(encoded)[0] == number
    raw, end = read_raw64(b"\x07" + encoded, 1)
    assert (zigzag(raw), end) == (number, 1 + len(encoded))
    if len(encoded) > 1:
        assert wide64(encoded, 1) == (raw, len(encoded) - 1)


@given(int32)
def test_32_bits(number: int) -> None:
    encoded = encode(number)
    assert read_raw32(encoded, 0) == read_raw64(encoded, 0)
    if len(encoded) > 1:
        assert wide32(encoded, 1)[0] == read_raw32(encoded, 0)[0]


@pytest.mark.parametrize("encoded", [encode(1 << 31), encode(-(1 << 31) - 1), b"\xff" * 12, b"\x80" * 100 + b"\x01"])
def test_more_than_32_bits(encoded: bytes) -> None:
    with pytest.raises(CorruptBatch, match="32 bits"):
        read_raw32(encoded, 0)


@pytest.mark.parametrize("encoded", [encode(1 << 63), b"\xff" * 12, b"\x80" * 100])
def test_more_than_64_bits(encoded: bytes) -> None:
    with pytest.raises(CorruptBatch, match="64 bits"):
        read_raw64(encoded, 0)


def test_the_end_of_the_bytes_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        read_raw32(b"\x80", 0)
