"""Codecs against what clients really send and read, and against bombs."""

import gzip
from contextlib import suppress
from random import Random
from struct import pack

import cramjam
import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.records.codecs import LEVELS, Codec, compress, decompress
from penstock.core.records.errors import BodyTooLarge, CorruptBatch
from tests.records.oracles import aiokafka_codec, kafka_codec

bodies = st.binary(max_size=200) | st.binary(min_size=1, max_size=50).map(lambda piece: piece * 3000)
PACKED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
TEXT = b" ".join(Random(7).choices([b"penstock", b"carries", b"water", b"to", b"the", b"turbine"], k=20_000))

READERS = {
    Codec.GZIP: (kafka_codec.gzip_decode, aiokafka_codec.gzip_decode),
    Codec.SNAPPY: (kafka_codec.snappy_decode, aiokafka_codec.snappy_decode),
    Codec.LZ4: (kafka_codec.lz4_decode, aiokafka_codec.lz4_decode),
    Codec.ZSTD: (kafka_codec.zstd_decode, aiokafka_codec.zstd_decode),
}
WRITERS = {
    Codec.GZIP: (kafka_codec.gzip_encode, aiokafka_codec.gzip_encode),
    Codec.SNAPPY: (
        kafka_codec.snappy_encode,
        aiokafka_codec.snappy_encode,
        lambda body: kafka_codec.snappy_encode(body, xerial_compatible=False),
    ),
    Codec.LZ4: (
        kafka_codec.lz4_encode,
        aiokafka_codec.lz4_encode,
        lambda body: lz4.frame.compress(body, block_linked=True, content_checksum=True, store_size=True),
    ),
    Codec.ZSTD: (kafka_codec.zstd_encode, aiokafka_codec.zstd_encode),
}


@pytest.mark.parametrize("codec", PACKED)
@given(body=bodies)
def test_others_read_ours_and_we_read_theirs(codec: Codec, body: bytes) -> None:
    packed = compress(codec, memoryview(body))
    assert decompress(codec, memoryview(packed)) == body
    if body:
        # Their readers stumble over nothing at all, which no batch of ours ever packs.
        assert all(bytes(read(packed)) == body for read in READERS[codec])
        assert all(decompress(codec, write(body)) == body for write in WRITERS[codec])


@pytest.mark.parametrize("codec", LEVELS)
def test_levels_reach_the_codec(codec: Codec) -> None:
    low, high, default = LEVELS[codec]
    fast, small = compress(codec, TEXT, max(low, 1)), compress(codec, TEXT, min(high, 19))
    assert decompress(codec, fast) == decompress(codec, small) == TEXT
    assert len(small) < len(fast)
    assert compress(codec, TEXT, default) == compress(codec, TEXT)


def test_javas_snappy_stream_byte_by_byte() -> None:
    chunks = [bytes(cramjam.snappy.compress_raw(TEXT[at : at + 32768])) for at in range(0, len(TEXT), 32768)]
    stream = b"\x82SNAPPY\x00" + pack(">ii", 1, 1) + b"".join(pack(">i", len(chunk)) + chunk for chunk in chunks)
    assert compress(Codec.SNAPPY, TEXT) == stream
    assert decompress(Codec.SNAPPY, stream) == TEXT


@pytest.mark.parametrize("end", [17, 19, 21, -1])
def test_a_cut_snappy_stream(end: int) -> None:
    with pytest.raises(CorruptBatch, match="snappy"):
        decompress(Codec.SNAPPY, compress(Codec.SNAPPY, TEXT)[:end])


def test_a_snappy_chunk_that_claims_more_than_is_there() -> None:
    chunk = bytes(cramjam.snappy.compress_raw(TEXT))
    stream = b"\x82SNAPPY\x00" + pack(">iii", 1, 1, len(chunk) + 5) + chunk
    with pytest.raises(CorruptBatch, match="too early"):
        decompress(Codec.SNAPPY, stream)


def test_java_reads_no_linked_lz4_blocks() -> None:
    magic, flags = compress(Codec.LZ4, TEXT)[:4], compress(Codec.LZ4, TEXT)[4]
    assert magic == b"\x04\x22\x4d\x18"
    assert flags >> 6 == 1
    assert flags & 0x20


def test_several_members_are_one_body() -> None:
    assert decompress(Codec.GZIP, gzip.compress(b"one") + gzip.compress(b"two")) == b"onetwo"
    assert decompress(Codec.ZSTD, compress(Codec.ZSTD, b"one") + compress(Codec.ZSTD, b"two")) == b"onetwo"


@pytest.mark.parametrize("codec", PACKED)
def test_a_bomb_is_refused_and_the_exact_bound_is_not(codec: Codec) -> None:
    bomb = compress(codec, bytes(8_000_000))
    assert len(bomb) < 500_000
    with pytest.raises(BodyTooLarge, match="7999999"):
        decompress(codec, bomb, 7_999_999)
    assert decompress(codec, bomb, 8_000_000) == bytes(8_000_000)


def test_a_snappy_block_that_lies_about_its_size() -> None:
    with pytest.raises(BodyTooLarge):
        decompress(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + b"\x00" * 20, 1_000_000)


def test_an_unpacked_body_has_the_same_bound() -> None:
    assert decompress(Codec.NONE, b"12345", 5) == b"12345"
    with pytest.raises(BodyTooLarge):
        decompress(Codec.NONE, b"123456", 5)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_codecs_that_do_not_exist(codec: int) -> None:
    with pytest.raises(CorruptBatch, match=f"unknown codec {codec}"):
        decompress(codec, b"")


@pytest.mark.parametrize("codec", PACKED)
@given(data=st.data())
def test_broken_bytes_never_raise_anything_else(codec: Codec, data: st.DataObject) -> None:
    packed = bytearray(compress(codec, TEXT[:3000]))
    for _ in range(data.draw(st.integers(1, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    with suppress(CorruptBatch):
        decompress(codec, packed[: data.draw(st.integers(0, len(packed)))], 100_000)


@pytest.mark.parametrize("codec", PACKED)
@given(junk=st.binary(max_size=100))
def test_junk_is_refused_or_read(codec: Codec, junk: bytes) -> None:
    with suppress(CorruptBatch):
        assert len(decompress(codec, junk, 10_000)) <= 10_000
