"""Reply slots: requests of a connection run as they arrive, their replies leave in that order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from penstock.core.base.ports import Buffer, Slice, Steps
from penstock.core.node.serving.api import Api
from penstock.core.node.serving.context import RequestContext
from penstock.core.rsm.result import Reply
from penstock.core.wire import Message
from penstock.core.wire.frames import response_frame, response_frame_in_turns
from penstock.core.wire.schema import Response

if TYPE_CHECKING:
    from penstock.core.node.serving.connection import Connection

Part = Buffer | Slice


class Answerable(Reply):
    """A reply token that this node knows how to answer."""

    __slots__ = ()

    @property
    def gone(self) -> bool:
        """Nobody waits any longer."""
        return False

    @property
    def line(self) -> object:
        """What came over the same line came in this order."""
        return self

    def reply(self, message: Message) -> None:
        raise AssertionError("each kind of token answers in its own way")


class Slot(Answerable):
    """One request that will be answered in its turn; or several in a row that are answered at once."""

    __slots__ = (
        "api",
        "arrived_us",
        "begun_us",
        "connection",
        "context",
        "correlation_id",
        "finish",
        "parked",
        "parts",
        "ready_us",
        "requests",
        "size",
        "throttle_ms",
        "version",
    )

    def __init__(
        self,
        connection: Connection,
        api: Api[Any],
        version: int,
        correlation_id: int,
        context: RequestContext,
        begun_us: int,
    ) -> None:
        self.connection = connection
        self.api = api
        self.version = version
        self.correlation_id = correlation_id
        self.context = context
        self.arrived_us = self.begun_us = self.ready_us = begun_us
        self.parts: list[Part] | None = None
        self.parked: object = None
        self.requests = 1
        self.size = 0
        self.throttle_ms = 0
        # What is still to be done to an answer before it leaves: it lacks what was not allowed.
        self.finish: Callable[[Message], None] | None = None

    @property
    def line(self) -> object:
        return self.connection

    @property
    def gone(self) -> bool:
        return self.connection.gone

    def reply(self, message: Message) -> None:
        """Answer a parked request; its connection sends it when its turn comes, if it is still there."""
        if not self.connection.gone:
            self._is_ready(*self.encode(message))

    def reply_frame(self, frame: bytes) -> None:
        """Answer a parked request with a response that is framed already."""
        if not self.connection.gone:
            self._is_ready([frame], len(frame))

    def reply_parts(self, parts: list[Part], size: int) -> None:
        """The same for one that is in several parts."""
        if not self.connection.gone:
            self._is_ready(parts, size)

    def encode(self, message: Message) -> tuple[list[Part], int]:
        """The framed response as parts to send, and their size."""
        if self.finish is not None or self.throttle_ms:
            self._complete(message)
        parts: list[Any] = response_frame(cast(Response, message), self.version, self.correlation_id)
        return parts, len(parts[0]) if len(parts) == 1 else sum(map(len, parts))

    def reply_in_turns(self, message: Message) -> Steps[None]:
        """Answer a parked request with what may be large, so that others are heard while it is encoded."""
        if not self.connection.gone:
            self._complete(message)
            frame = yield from response_frame_in_turns(cast(Response, message), self.version, self.correlation_id)
            parts: list[Any] = frame
            self.reply_parts(parts, sum(map(len, parts)))

    def _is_ready(self, parts: list[Part], size: int) -> None:
        connection = self.connection
        self.parts, self.size = parts, size
        self.ready_us = connection.now_us
        connection.drain()

    def throttle(self, throttle_ms: int) -> None:
        """The client is over its quota: it is told how long to rest, and not listened to for as long."""
        self.throttle_ms = max(throttle_ms, self.throttle_ms)
        self.connection.throttle(self.api.name, throttle_ms)

    def _complete(self, message: Message) -> None:
        if self.finish is not None:
            self.finish(message)
        if self.throttle_ms:
            self._tell_to_rest(message)

    def _tell_to_rest(self, message: Message) -> None:
        if getattr(message, "throttle_time_ms", None) is not None:
            message.throttle_time_ms = self.throttle_ms  # type: ignore[attr-defined]  # most responses have it
