"""Varints at the edges of each length."""

import pytest

from penstock.core.wire.varint import INT32_MAX, encode_varint, read_varint
from tests.wire import naive

EDGES = sorted({max(0, (1 << bits) + step) for bits in range(0, 31, 7) for step in (-1, 0, 1)} | {INT32_MAX})


@pytest.mark.parametrize("value", EDGES)
def test_round_trip(value: int) -> None:
    encoded = encode_varint(value)
    assert encoded == naive.varint(value)
    assert read_varint(b"x" + encoded + b"y", 1) == (value, 1 + len(encoded))


@pytest.mark.parametrize("value", EDGES)
def test_cut_short(value: int) -> None:
    encoded = encode_varint(value)
    for stop in range(len(encoded)):
        with pytest.raises(IndexError):
            read_varint(encoded[:stop], 0)
