"""Whatever bytes arrive, a decoder answers with a message or with DecodeError, and takes memory in proportion."""

import random
import struct
import tracemalloc

import pytest

from penstock.core.wire.api.api_versions import ApiVersionsRequest
from penstock.core.wire.api.fetch import FetchRequest
from penstock.core.wire.api.heartbeat import HeartbeatRequest
from penstock.core.wire.api.metadata import MetadataRequest
from penstock.core.wire.api.produce import ProduceRequest
from penstock.core.wire.api.sync_group import SyncGroupRequest
from penstock.core.wire.errors import DecodeError
from penstock.core.wire.fields import Buffer
from penstock.core.wire.schema import Message
from tests.examples import scaled
from tests.wire.arbitrary import Arbitrary
from tests.wire.catalog import all_messages, all_versions

CUTS_MAX = 150
MUTANTS = scaled(40)
RANDOM_INPUTS = scaled(40)
INPUT_BYTES_MAX = 120

HUGE_COUNTS = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\xff\xff\x7f", b"\x00\xff\xff\xff\xff\x07")
MEMORY_BYTES_MAX = 100_000


def try_decode(message: type[Message], data: Buffer, version: int) -> Message | None:
    """The message, or None when the bytes were refused; any other error fails the test."""
    try:
        return message.decode(data, version)
    except DecodeError:
        return None


@pytest.mark.parametrize("message", all_messages(), ids=lambda message: message.__name__)
def test_a_message_cut_short_is_refused_at_every_byte(message: type[Message]) -> None:
    for version in message.VERSIONS:
        encoded = Arbitrary(f"cut {message.__name__} {version}").message(message, version).encode(version)
        step = max(1, len(encoded) // CUTS_MAX)
        for stop in range(0, len(encoded), step):
            assert try_decode(message, encoded[:stop], version) is None
            with pytest.raises(DecodeError):
                message.decode_from(memoryview(encoded)[:stop], version)


def test_stray_bytes_are_refused() -> None:
    for message, version in all_versions():
        encoded = Arbitrary(f"stray {message.__name__} {version}").message(message, version).encode(version)
        with pytest.raises(DecodeError, match="stray"):
            message.decode(encoded + b"\0", version)


@pytest.mark.parametrize("message", all_messages(), ids=lambda message: message.__name__)
def test_mutants_decode_or_are_refused(message: type[Message]) -> None:
    for version in message.VERSIONS:
        source = Arbitrary(f"mutants {message.__name__} {version}")
        encoded = source.message(message, version).encode(version)
        for _ in range(MUTANTS if encoded else 0):
            mutant = bytearray(encoded)
            for _ in range(source.random.randint(1, 4)):
                position = source.random.randrange(len(mutant))
                mutant[position] = source.random.choice((0, 1, 0x7F, 0x80, 0xFF, source.random.randrange(256)))
            try_decode(message, mutant, version)


def test_random_bytes_decode_or_are_refused() -> None:
    source = random.Random("noise")
    for message, version in all_versions():
        for _ in range(RANDOM_INPUTS):
            try_decode(message, source.randbytes(source.randrange(INPUT_BYTES_MAX)), version)


def test_lying_counts_take_no_memory() -> None:
    for message, version in all_versions():
        message.decode(message().encode(version), version)
    tracemalloc.start()
    try:
        for message, version in all_versions():
            for lie in HUGE_COUNTS:
                for padding in range(12):
                    try_decode(message, bytes(padding) + lie * 4, version)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MEMORY_BYTES_MAX


def test_null_where_none_is_allowed() -> None:
    with pytest.raises(DecodeError, match="group_id is null"):
        HeartbeatRequest.decode(b"\xff\xff" + bytes(6), 0)
    with pytest.raises(DecodeError, match="group_id is null"):
        HeartbeatRequest.decode(bytes(10), 4)


def test_only_minus_one_is_null() -> None:
    assert MetadataRequest.decode(b"\xff\xff\xff\xff\x00", 4).topics is None
    with pytest.raises(DecodeError, match="negative"):
        MetadataRequest.decode(b"\xff\xff\xff\xfe\x00", 4)


def test_count_beyond_the_remaining_bytes() -> None:
    with pytest.raises(DecodeError, match="topics claims 100 elements"):
        MetadataRequest.decode(struct.pack(">i", 100) + bytes(150), 4)


def test_text_that_is_not_utf8() -> None:
    with pytest.raises(DecodeError, match="not UTF-8"):
        HeartbeatRequest.decode(b"\x00\x02\xc3\x28" + bytes(6), 0)
    with pytest.raises(DecodeError, match="not UTF-8"):
        ProduceRequest.decode(b"\x00\x02\xc3\x28" + bytes(10), 3)


def test_string_longer_than_the_protocol_allows() -> None:
    too_long = 0x8000
    data = b"\x81\x80\x02" + b"x" * too_long
    with pytest.raises(DecodeError, match=f"string of {too_long} bytes"):
        SyncGroupRequest.decode(data, 4)


@pytest.mark.parametrize("varint", [b"\xff\xff\xff\xff\xff\x01", b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x80\x00"])
def test_varint_that_is_too_long(varint: bytes) -> None:
    with pytest.raises(DecodeError, match="varint"):
        ApiVersionsRequest.decode(varint + bytes(40), 3)


def test_tag_that_states_a_wrong_size() -> None:
    good = FetchRequest(cluster_id="abc").encode(12)
    tag = b"\x01\x00\x04\x04abc"
    assert good.endswith(tag)
    assert FetchRequest.decode(good, 12).cluster_id == "abc"
    with pytest.raises(DecodeError, match="cluster_id does not fill"):
        FetchRequest.decode(good.removesuffix(tag) + b"\x01\x00\x05\x04abcd", 12)


def test_unknown_tags_are_skipped() -> None:
    plain = ApiVersionsRequest(client_software_name="a", client_software_version="b").encode(3)
    assert plain.endswith(b"\0")
    tagged = plain[:-1] + b"\x02\x07\x03xyz\x90\x4e\x00"
    assert ApiVersionsRequest.decode(tagged, 3) == ApiVersionsRequest.decode(plain, 3)


def test_unknown_version() -> None:
    with pytest.raises(DecodeError, match="HeartbeatRequest has no version 5"):
        HeartbeatRequest.decode(b"", 5)
