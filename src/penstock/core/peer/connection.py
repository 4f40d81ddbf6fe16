"""A connection to a broker without its socket: requests become bytes, bytes become replies, in the order of asking.

A broker answers the requests of a connection in order, so replies are matched by a queue; the correlation id only
proves that both sides count alike. Before anything else the two sides agree on versions: `greet` asks, and the
connection is ready once the answer has come in. A deadline that passes ends the connection, because the late answer
would still come and everything behind it waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sized
from typing import Final, NamedTuple

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Buffer
from penstock.core.peer.errors import PeerError
from penstock.core.peer.versions import PeerVersions
from penstock.core.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from penstock.core.wire.errors import DecodeError
from penstock.core.wire.frames import FRAME_SIZE_BYTES, FrameReader, parse_response_header, request_frame
from penstock.core.wire.schema import Request, Response

FRAME_BYTES_MAX: Final = 1 << 30
IN_FLIGHT_MAX: Final = 1024
CORRELATION_MODULUS: Final = 1 << 31
SOFTWARE_NAME: Final = "penstock"

_UNSUPPORTED_VERSION: Final = ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")


class Reply(NamedTuple):
    """The answer to the request that `ask` gave this number."""

    correlation_id: int
    message: Response


class _Question(NamedTuple):
    correlation_id: int
    response: type[Response]
    version: int
    deadline: float


class PeerConnection:
    """One side of a conversation. The driver moves the bytes and keeps the time, in whatever unit it likes."""

    __slots__ = ("_client_id", "_frames", "_greeting", "_next_id", "_out", "_questions", "versions")

    def __init__(self, client_id: str, software_version: str = "0", *, frame_bytes_max: int = FRAME_BYTES_MAX) -> None:
        self._client_id = client_id
        self._greeting = ApiVersionsRequest(
            client_software_name=SOFTWARE_NAME, client_software_version=software_version
        )
        self._frames = FrameReader(frame_bytes_max)
        self._questions: deque[_Question] = deque()
        self._next_id = 0
        self._out: list[Sized] = []
        self.versions: PeerVersions | None = None

    @property
    def is_ready(self) -> bool:
        """Whether the versions are agreed on."""
        return self.versions is not None

    @property
    def in_flight(self) -> int:
        return len(self._questions)

    def greet(self, deadline: float, version: int = ApiVersionsRequest.VERSIONS[-1]) -> None:
        """Ask for the versions that the broker speaks."""
        self._put(self._greeting, ApiVersionsResponse, version, deadline)

    def ask(
        self, request: Request, response: type[Response], deadline: float, *, newest_version: int | None = None
    ) -> int:
        """Send a request at the highest common version; gives the number that its reply will carry."""
        assert self.versions is not None, "the connection has not been greeted"
        version = self.versions.pick(type(request), newest_version)
        return self._put(request, response, version, deadline)

    def tell(self, request: Request, *, newest_version: int | None = None) -> None:
        """Send a request that is never answered: a Produce with acks=0."""
        assert self.versions is not None, "the connection has not been greeted"
        self._write(request, self.versions.pick(type(request), newest_version))

    def take_output(self) -> list[Sized]:
        """What to send, once: bytes, and record batches as they were given."""
        output, self._out = self._out, []
        return output

    def feed(self, data: Buffer) -> list[Reply]:
        """Some bytes came in, cut anywhere: the replies that are complete now."""
        # A view is overwritten by what comes next, but fetched records live as long as their reply: hence a copy.
        if self._frames.is_next_frame(data):
            return self.take_frame(bytearray(data[FRAME_SIZE_BYTES:]))
        try:
            frames = [bytearray(frame) for frame in self._frames.feed(data)]
        except DecodeError as error:
            raise _unreadable(error) from error
        return [reply for frame in frames for reply in self.take_frame(frame)]

    def take_frame(self, frame: Buffer) -> list[Reply]:
        """One whole frame came in, without its size: for a driver that can read so much at once, and so copies none of
        it. The records of the reply are views of it."""
        try:
            reply = self._take(frame)
        except DecodeError as error:
            raise _unreadable(error) from error
        return [] if reply is None else [reply]

    def next_deadline(self) -> float | None:
        """When the first of the open questions must have been answered."""
        return min((question.deadline for question in self._questions), default=None)

    def _put(self, request: Request, response: type[Response], version: int, deadline: float) -> int:
        assert len(self._questions) < IN_FLIGHT_MAX, "the driver waits for replies before it asks more"
        correlation_id = self._write(request, version)
        self._questions.append(_Question(correlation_id, response, version, deadline))
        return correlation_id

    def _write(self, request: Request, version: int) -> int:
        correlation_id = self._next_id
        self._next_id = (correlation_id + 1) % CORRELATION_MODULUS
        self._out += request_frame(request, type(request).KEY, version, correlation_id, self._client_id)
        return correlation_id

    def _take(self, frame: Buffer) -> Reply | None:
        """The reply in a frame, or None for the answer to a greeting."""
        if not self._questions:
            raise PeerError("the broker answers a question that was not asked")
        question = self._questions.popleft()
        correlation_id, position = parse_response_header(frame, question.response.KEY, question.version)
        if correlation_id != question.correlation_id:
            raise PeerError("the broker's answers are out of order")
        message = _decode(frame, question, position)
        if isinstance(message, ApiVersionsResponse) and not self.is_ready:
            self._take_greeting(message, question)
            return None
        return Reply(correlation_id, message)

    def _take_greeting(self, answer: ApiVersionsResponse, question: _Question) -> None:
        """A broker that does not know our version says so at version 0, with the versions it knows."""
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION and question.version > 0:
            offered = PeerVersions.of(answer).offered(ApiVersionsRequest.KEY)
            self.greet(question.deadline, min(offered[-1], question.version - 1) if offered else 0)
        elif answer.error_code != ErrorCode.NONE:
            raise PeerError(f"the broker refuses to say which versions it speaks: error {answer.error_code}")
        else:
            self.versions = PeerVersions.of(answer)


def _unreadable(error: DecodeError) -> PeerError:
    return PeerError(f"the broker's answer cannot be read: {error}")


def _decode(frame: Buffer, question: _Question, position: int) -> Response:
    version = question.version
    if question.response is ApiVersionsResponse and frame[position : position + 2] == _UNSUPPORTED_VERSION:
        # A refusal is always written at version 0, which every client can read.
        version = 0
    return question.response.decode(frame, version, position)
