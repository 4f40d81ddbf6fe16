"""Frames and headers: how messages stand in a byte stream.

A frame is a four-byte length and that many bytes: a header, then a message. Requests carry the API's key and version in
their header, so the table of APIs decides which form of header follows; a client id keeps its old two-byte length in
every form, because a node must be able to read the header of a version it does not know.
"""

import struct
from collections.abc import Sized
from typing import Any, TypeAlias

from penstock.core.base.ports import Steps
from penstock.core.wire.api_table import APIS
from penstock.core.wire.errors import DecodeError
from penstock.core.wire.fields import Buffer
from penstock.core.wire.schema import Message, Response
from penstock.core.wire.varint import TAGGED_FIELDS_MAX, skip_tagged_fields

RequestHeader: TypeAlias = tuple[int, int, int, str | None, int]
"""API key, API version, correlation id, client id, and where the body starts."""

API_VERSIONS_KEY = 18
LARGE_REQUESTS = frozenset({0, 58})
"""Produce, which carries records, and Envelope, which carries a request."""

FRAME_SIZE_BYTES = 4
FRAME_BYTES_MAX = 100 * 1024 * 1024
FIRST_BUFFER_BYTES = 2 * 1024
READ_BUFFER_BYTES_MAX = 256 * 1024
"""Reads that fill the buffer make it grow up to this size; only a larger frame makes it larger."""
KEPT_BUFFER_BYTES_MAX = 1024 * 1024 + 64 * 1024
"""A buffer above this, made for one large frame, is given back once that frame was handed out."""
GROWTH = 4

_FLEXIBLE_FROM = {key: api.flexible_from for key, api in APIS.items()}
_NO_BUFFER = memoryview(b"")
_request_start = struct.Struct(">hhih")
_response_start = struct.Struct(">ii")
_flexible_response_start = struct.Struct(">iiB")
_size = struct.Struct(">i")
_key = struct.Struct(">h")


def parse_request_header(frame: Buffer) -> RequestHeader:
    """Reads the header at the start of a frame. The version may be one we do not know; the API key may not."""
    try:
        key, version, correlation_id, length = _request_start.unpack_from(frame)
        position = _request_start.size
        client_id = None
        if length >= 0:
            stop = position + length
            client_id = str(frame[position:stop], "utf-8")
            position = stop
        elif length != -1:
            raise DecodeError(f"client id of {length} bytes")
        if version >= _FLEXIBLE_FROM[key]:
            position = skip_tagged_fields(frame, position, TAGGED_FIELDS_MAX) if frame[position] else position + 1
    except KeyError as error:
        raise DecodeError(f"there is no API with key {key}") from error
    except (struct.error, IndexError) as error:
        raise DecodeError("request header ends too early") from error
    except UnicodeDecodeError as error:
        raise DecodeError("client id is not UTF-8") from error
    if position > len(frame) or version < 0:
        raise DecodeError("request header is cut short or has a negative version")
    return key, version, correlation_id, client_id, position


def encode_request_header(key: int, version: int, correlation_id: int, client_id: str | None) -> bytes:
    encoded = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(encoded)
    tags = b"\0" if version >= _FLEXIBLE_FROM[key] else b""
    return _request_start.pack(key, version, correlation_id, length) + encoded + tags


def response_header_is_flexible(key: int, version: int) -> bool:
    """ApiVersions is answered with the oldest header, since its client cannot know yet what this node speaks."""
    return key != API_VERSIONS_KEY and version >= _FLEXIBLE_FROM[key]


def encode_response_header(key: int, version: int, correlation_id: int) -> bytes:
    return _size.pack(correlation_id) + (b"\0" if response_header_is_flexible(key, version) else b"")


def parse_response_header(frame: Buffer, key: int, version: int) -> tuple[int, int]:
    """The correlation id of a response, and where its body starts."""
    try:
        (correlation_id,) = _size.unpack_from(frame)
        position = 4
        if response_header_is_flexible(key, version):
            position = skip_tagged_fields(frame, position) if frame[position] else position + 1
    except (struct.error, IndexError) as error:
        raise DecodeError("response header ends too early") from error
    if position > len(frame):
        raise DecodeError("response header ends too early")
    return correlation_id, position


def request_frame(message: Message, key: int, version: int, correlation_id: int, client_id: str | None) -> list[Sized]:
    """A whole request with its size in front, as parts to send in order."""
    parts: list[Any] = message.encode_parts(version, encode_request_header(key, version, correlation_id, client_id))
    parts[0] = _size.pack(sum(map(len, parts))) + parts[0]
    return parts


def response_frame(message: Response, version: int, correlation_id: int) -> list[Sized]:
    """A whole response with its size in front, as parts to send in order."""
    return _framed(message, version, correlation_id, message.encode_parts(version))


def response_frame_in_turns(message: Response, version: int, correlation_id: int) -> Steps[list[Sized]]:
    """The same for one that may be large."""
    parts = yield from message.encode_in_turns(version)
    return _framed(message, version, correlation_id, parts)


def _framed(message: Response, version: int, correlation_id: int, parts: list[Any]) -> list[Sized]:
    size = sum(map(len, parts)) + 4
    if response_header_is_flexible(message.KEY, version):
        header = _flexible_response_start.pack(size + 1, correlation_id, 0)
    else:
        header = _response_start.pack(size, correlation_id)
    parts[0] = header + parts[0]
    return parts


class FrameReader:
    """Cuts a stream of bytes into frames, reading into one buffer without copying whole frames.

    The reader lends its free space to the transport (`get_buffer`), is told how much arrived (`received`) and answers
    with the frames that are now complete, as writable views of the buffer. A view is valid until the next `get_buffer`:
    then the beginning of an unfinished frame moves to the front, over what was there. The buffer grows with the bytes
    that really arrived, never with what a length claims, and a connection that rests gives it back (`rest`).
    """

    __slots__ = (
        "_buffer",
        "_capacity_wanted",
        "_frame_bytes_max",
        "_plain_bytes_max",
        "_start",
        "_stop",
        "_usual_bytes_max",
        "unfinished_bytes",
    )

    def __init__(self, frame_bytes_max: int = FRAME_BYTES_MAX, plain_bytes_max: int = FRAME_BYTES_MAX) -> None:
        self.allow(frame_bytes_max, plain_bytes_max)
        self.unfinished_bytes = 0
        """The size of the frame that has begun, as far as it is known; 0 if none has."""
        self._buffer = _NO_BUFFER
        self._capacity_wanted = FIRST_BUFFER_BYTES
        # Bytes that belong to no complete frame yet stand between these two.
        self._start = 0
        self._stop = 0

    def allow(self, frame_bytes_max: int, plain_bytes_max: int) -> None:
        """Other bounds from the next frame on."""
        self._frame_bytes_max = frame_bytes_max
        # Of frames that are requests, and of an API that carries nothing large.
        self._plain_bytes_max = plain_bytes_max
        # What need not be looked at any further.
        self._usual_bytes_max = min(frame_bytes_max, plain_bytes_max)

    @property
    def waiting_bytes(self) -> int:
        """How much of an unfinished frame has arrived."""
        return self._stop - self._start

    @property
    def capacity_bytes(self) -> int:
        return len(self._buffer)

    def get_buffer(self, size_hint: int = -1) -> memoryview:
        """Free space for the transport to read into, never empty. Frames handed out before are no longer valid.

        The transport's hint is not needed: what arrived so far says more.
        """
        waiting = self._stop - self._start
        capacity = len(self._buffer)
        if capacity > KEPT_BUFFER_BYTES_MAX and not waiting:
            self._capacity_wanted = READ_BUFFER_BYTES_MAX
            self._replace_buffer()
        elif capacity < self._capacity_wanted:
            self._replace_buffer()
        elif waiting and self._start:
            self._buffer[:waiting] = self._buffer[self._start : self._stop]
        self._start = 0
        self._stop = waiting
        return self._buffer[waiting:] if waiting else self._buffer

    def received(self, count: int) -> list[memoryview]:
        """Takes note of `count` bytes in the space lent last, and cuts off the frames that are complete.

        A forbidden length condemns whatever came with it: nothing behind it can be trusted to be where it should.
        """
        self._stop += count
        capacity = len(self._buffer)
        assert self._stop <= capacity
        frames, self.unfinished_bytes = self._cut()
        if self._stop == capacity:
            limit = max(READ_BUFFER_BYTES_MAX, self.unfinished_bytes)
            self._capacity_wanted = max(capacity, min(GROWTH * capacity, limit))
        return frames

    def feed(self, data: Buffer) -> list[memoryview]:
        """Copies `data` in, as if the transport had read it at once."""
        self._capacity_wanted = max(self._capacity_wanted, self.waiting_bytes + len(data))
        self.get_buffer()[: len(data)] = data
        return self.received(len(data))

    def is_next_frame(self, data: Buffer) -> bool:
        """Whether `data` is just what is missing here: one whole frame with its size, which need not be fed then."""
        size = len(data) - FRAME_SIZE_BYTES
        is_possible = self._start == self._stop and 0 <= size <= self._frame_bytes_max
        return is_possible and size == _size.unpack_from(data)[0]

    def rest(self) -> None:
        """Gives the buffer back if nothing is waiting in it. Frames handed out before keep their bytes."""
        if self._start == self._stop:
            self._buffer = _NO_BUFFER
            self._capacity_wanted = FIRST_BUFFER_BYTES
            self._start = self._stop = 0

    def drop(self) -> None:
        """Gives the buffer back with all that is in it: nothing more will be read."""
        self._buffer = _NO_BUFFER
        self._capacity_wanted = FIRST_BUFFER_BYTES
        self._start = self._stop = self.unfinished_bytes = 0

    def _replace_buffer(self) -> None:
        fresh = memoryview(bytearray(self._capacity_wanted))
        fresh[: self._stop - self._start] = self._buffer[self._start : self._stop]
        self._buffer = fresh

    def _cut(self) -> tuple[list[memoryview], int]:
        """The complete frames, and the size of the unfinished one behind them as far as it is known."""
        buffer, start, stop = self._buffer, self._start, self._stop
        frames: list[memoryview] = []
        unfinished_bytes = 0
        while stop - start >= 4:
            (size,) = _size.unpack_from(buffer, start)
            if not 0 <= size <= self._usual_bytes_max:
                self._check_size(size, start, stop)
            end = start + 4 + size
            if end > stop:
                unfinished_bytes = 4 + size
                break
            frames.append(buffer[start + 4 : end])
            start = end
        self._start = start
        return frames, unfinished_bytes or stop - start

    def _check_size(self, size: int, start: int, stop: int) -> None:
        """Of a frame that is not as small as all may be; which API it is for is known once two more bytes are here."""
        if not 0 <= size <= self._frame_bytes_max:
            raise DecodeError(f"frame of {size} bytes, allowed are 0 to {self._frame_bytes_max}")
        if size > self._plain_bytes_max and stop - start >= 6:
            self._check_large(size, start + 4)

    def _check_large(self, size: int, position: int) -> None:
        (key,) = _key.unpack_from(self._buffer, position)
        if key not in LARGE_REQUESTS:
            raise DecodeError(f"request of {size} bytes for API key {key}, allowed are {self._plain_bytes_max}")
