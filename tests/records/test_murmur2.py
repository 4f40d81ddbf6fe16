"""Keys land where Java's client puts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.records.murmur2 import murmur2, partition_for
from tests.records.oracles import kafka_murmur2

# Hashes that Kafka's own tests expect, as Java's signed integers.
KAFKAS_HASHES = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize("key", KAFKAS_HASHES)
def test_hashes_of_kafkas_tests(key: bytes) -> None:
    assert murmur2(key) == KAFKAS_HASHES[key] % (1 << 32)


@given(st.binary(max_size=70), st.integers(1, 1000))
def test_agrees_with_an_independent_hash(key: bytes, partitions: int) -> None:
    assert murmur2(key) == kafka_murmur2(key) % (1 << 32)
    assert partition_for(key, partitions) == (kafka_murmur2(key) & 0x7FFFFFFF) % partitions
