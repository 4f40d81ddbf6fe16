"""Headers against kio's, and the frame reader against every way of cutting a stream."""

import random
import struct
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.request_header.v1.header import RequestHeader as RequestHeaderV1
from kio.schema.request_header.v2.header import RequestHeader as RequestHeaderV2
from kio.serial import entity_writer
from kio.static.primitive import i16, i32

from penstock.core.wire.api.api_versions import ApiVersionsResponse
from penstock.core.wire.api.metadata import MetadataRequest, MetadataResponse
from penstock.core.wire.errors import DecodeError
from penstock.core.wire.frames import (
    FIRST_BUFFER_BYTES,
    KEPT_BUFFER_BYTES_MAX,
    READ_BUFFER_BYTES_MAX,
    FrameReader,
    encode_request_header,
    encode_response_header,
    parse_request_header,
    parse_response_header,
    request_frame,
    response_frame,
)

METADATA = 3
API_VERSIONS = 18
SASL_HANDSHAKE = 17


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


def joined(parts: list[Any]) -> bytes:
    return b"".join(parts)


# Headers


@pytest.mark.parametrize("client_id", ["penstock", "", "é世", None])
@pytest.mark.parametrize(("version", "theirs"), [(8, RequestHeaderV1), (9, RequestHeaderV2)])
def test_request_header(client_id: str | None, version: int, theirs: type) -> None:
    written = BytesIO()
    header = theirs(
        request_api_key=i16(METADATA), request_api_version=i16(version), correlation_id=i32(77), client_id=client_id
    )
    entity_writer(theirs)(written, header)
    encoded = encode_request_header(METADATA, version, 77, client_id)
    assert encoded == written.getvalue()
    assert parse_request_header(encoded + b"body") == (METADATA, version, 77, client_id, len(encoded))


def test_request_header_of_an_unknown_version() -> None:
    encoded = struct.pack(">hhih", API_VERSIONS, 99, 5, 1) + b"a" + b"\0"
    assert parse_request_header(encoded) == (API_VERSIONS, 99, 5, "a", len(encoded))


def test_request_header_steps_over_tags() -> None:
    encoded = struct.pack(">hhih", METADATA, 9, 5, -1) + b"\x01\x05\x02xx"
    assert parse_request_header(encoded + b"body") == (METADATA, 9, 5, None, len(encoded))


def test_bad_request_headers_are_refused() -> None:
    good = encode_request_header(METADATA, 9, 5, "client")
    for stop in range(len(good)):
        with pytest.raises(DecodeError):
            parse_request_header(good[:stop])
    for bad in (
        struct.pack(">hhih", 4, 0, 5, -1),
        struct.pack(">hhih", -1, 0, 5, -1),
        struct.pack(">hhih", METADATA, -1, 5, -1),
        struct.pack(">hhih", METADATA, 1, 5, -2),
        struct.pack(">hhih", METADATA, 1, 5, 2) + b"\xc3\x28",
    ):
        with pytest.raises(DecodeError):
            parse_request_header(bad)


@given(st.binary(max_size=40))
def test_random_request_headers(data: bytes) -> None:
    try:
        *_, position = parse_request_header(data)
    except DecodeError:
        return
    assert position <= len(data)


def test_response_header_by_version() -> None:
    assert encode_response_header(METADATA, 8, 7) == b"\0\0\0\7"
    assert encode_response_header(METADATA, 9, 7) == b"\0\0\0\7\0"
    assert encode_response_header(API_VERSIONS, 4, 7) == b"\0\0\0\7"
    assert encode_response_header(SASL_HANDSHAKE, 1, 7) == b"\0\0\0\7"


def test_response_header_is_parsed_alike() -> None:
    for key, version in [(METADATA, 8), (METADATA, 9), (API_VERSIONS, 4)]:
        encoded = encode_response_header(key, version, 7)
        assert parse_response_header(encoded + b"body", key, version) == (7, len(encoded))
        with pytest.raises(DecodeError):
            parse_response_header(encoded[:-1], key, version)


def test_whole_frames() -> None:
    request = MetadataRequest()
    (frame,) = FrameReader().feed(joined(request_frame(request, METADATA, 9, 7, "me")))
    *_, position = parse_request_header(frame)
    assert MetadataRequest.decode(frame, 9, position) == request
    for response, version in [(MetadataResponse(cluster_id="c"), 9), (ApiVersionsResponse(error_code=35), 0)]:
        (frame,) = FrameReader().feed(joined(response_frame(response, version, 7)))
        correlation_id, position = parse_response_header(frame, response.KEY, version)
        assert correlation_id == 7
        assert type(response).decode(frame, version, position) == response


# The frame reader


def deliver(reader: FrameReader, stream: bytes, chunks: Iterator[int]) -> list[bytes]:
    """Lets a transport write `stream` into the reader in chunks, as far as the reader gives room."""
    frames = []
    while stream:
        room = reader.get_buffer()
        assert len(room) > 0
        count = min(len(room), len(stream), next(chunks))
        room[:count] = stream[:count]
        frames += [bytes(frame) for frame in reader.received(count)]
        stream = stream[count:]
    return frames


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 7, 1000, 10**9])
def test_frames_survive_any_chunking(chunk: int) -> None:
    source = random.Random(chunk)
    bodies = [source.randbytes(size) for size in (0, 1, 3, 4, 5, 100, 3000, 0, 9000)]
    assert deliver(FrameReader(), framed(*bodies), iter(lambda: chunk, None)) == bodies


@given(st.lists(st.binary(max_size=5000), max_size=12), st.randoms(use_true_random=False))
def test_frames_survive_random_chunking(bodies: list[bytes], source: random.Random) -> None:
    chunks = iter(lambda: source.choice((1, 4, 100, 4096, 10**6)), None)
    assert deliver(FrameReader(), framed(*bodies), chunks) == bodies


def test_frames_are_writable_and_not_copied() -> None:
    reader = FrameReader()
    first, second = reader.feed(framed(b"abc", b"def"))
    assert first.obj is second.obj
    first[0] = 0x41
    assert bytes(first) == b"Abc"


def test_frames_stay_valid_until_the_next_get_buffer() -> None:
    reader = FrameReader()
    (first,) = reader.feed(framed(b"abc") + b"\0\0")
    assert bytes(first) == b"abc"
    assert reader.waiting_bytes == 2
    assert [bytes(frame) for frame in reader.feed(b"\0\2xy")] == [b"xy"]


@pytest.mark.parametrize("size", [-1, -(2**31), 1001, 2**31 - 1])
def test_frames_of_a_forbidden_size(size: int) -> None:
    with pytest.raises(DecodeError, match="frame of"):
        FrameReader(frame_bytes_max=1000).feed(struct.pack(">i", size))
    assert FrameReader(frame_bytes_max=1000).feed(struct.pack(">i", 1000)) == []


def test_a_claimed_size_takes_no_memory() -> None:
    reader = FrameReader()
    reader.feed(struct.pack(">i", 90_000_000))
    assert len(reader.get_buffer()) <= FIRST_BUFFER_BYTES
    assert reader.capacity_bytes == FIRST_BUFFER_BYTES


def test_the_buffer_grows_with_what_arrives() -> None:
    reader, body = FrameReader(), bytes(3_000_000)
    stream, arrived = framed(body), 0
    frames: list[memoryview] = []
    while arrived < len(stream):
        room = reader.get_buffer()
        assert reader.capacity_bytes <= max(4 * arrived, FIRST_BUFFER_BYTES)
        count = min(len(room), len(stream) - arrived)
        room[:count] = stream[arrived : arrived + count]
        frames = reader.received(count)
        arrived += count
    assert [len(frame) for frame in frames] == [len(body)]
    assert reader.capacity_bytes > KEPT_BUFFER_BYTES_MAX
    reader.get_buffer()
    assert reader.capacity_bytes == READ_BUFFER_BYTES_MAX


def test_full_reads_widen_the_buffer_up_to_a_bound() -> None:
    reader = FrameReader()
    deliver(reader, framed(*[bytes(96)] * 30_000), iter(lambda: 10**9, None))
    assert reader.capacity_bytes == READ_BUFFER_BYTES_MAX


def test_a_resting_reader_holds_nothing() -> None:
    reader = FrameReader()
    (frame,) = reader.feed(framed(b"abc"))
    reader.rest()
    assert reader.capacity_bytes == 0
    assert bytes(frame) == b"abc"
    assert [bytes(frame) for frame in reader.feed(framed(b"def"))] == [b"def"]


def test_a_reader_with_half_a_frame_does_not_rest() -> None:
    reader = FrameReader()
    reader.feed(framed(b"abc")[:5])
    reader.rest()
    assert [bytes(frame) for frame in reader.feed(b"bc")] == [b"abc"]
