"""Reply slots: requests of a connection run as they arrive, their replies leave in that order."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final, cast

from penstock.core.base.ports import Buffer, Slice
from penstock.core.rsm.result import Reply
from penstock.core.wire import Message
from penstock.core.wire.frames import RequestHeader, response_frame
from penstock.core.wire.schema import Request, Response

if TYPE_CHECKING:
    from penstock.core.node.connection import Connection
    from penstock.core.node.node import Node

Part = Buffer | Slice


class Pending:
    """The type of `PENDING`: the slot has been parked with whoever will answer it."""


class NoReply:
    """The type of `NO_REPLY`: the protocol has no answer to this request."""


PENDING: Final = Pending()
NO_REPLY: Final = NoReply()

Answer = Message | Pending | NoReply | Generator[Any, Any, Message]
Handler = Callable[["Node", Any, "Slot"], Answer]
Straight = Callable[["Node", "Connection", "Api", list[memoryview], int, RequestHeader], int]
"""A short way for an API's usual request, and for those like it right behind: gives how many it has served or parked, 0
when it has touched nothing."""


class Api:
    """One API as the node serves it: its versions and its handler."""

    __slots__ = ("handle", "key", "name", "request", "straight", "versions")

    def __init__(
        self, request: type[Request], versions: range, handle: Handler, straight: Straight | None = None
    ) -> None:
        assert set(versions) <= set(request.VERSIONS), f"{request.__name__} is not declared in all of {versions}"
        self.key = request.KEY
        self.name = request.__name__.removesuffix("Request")
        self.request = request
        self.versions = versions
        self.handle = handle
        self.straight = straight


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
        "client_id",
        "connection",
        "correlation_id",
        "parked",
        "parts",
        "requests",
        "size",
        "version",
    )

    def __init__(
        self,
        connection: Connection,
        api: Api,
        version: int,
        correlation_id: int,
        client_id: str | None,
        arrived_us: int,
    ) -> None:
        self.connection = connection
        self.api = api
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.arrived_us = arrived_us
        self.parts: list[Part] | None = None
        self.parked: object = None
        self.requests = 1
        self.size = 0

    @property
    def line(self) -> object:
        return self.connection

    @property
    def gone(self) -> bool:
        return self.connection.gone

    def reply(self, message: Message) -> None:
        """Answer a parked request; its connection sends it when its turn comes, if it is still there."""
        if not self.connection.gone:
            self.parts, self.size = self.encode(message)
            self.connection.drain()

    def reply_frame(self, frame: bytes) -> None:
        """Answer a parked request with a response that is framed already."""
        if not self.connection.gone:
            self.parts, self.size = [frame], len(frame)
            self.connection.drain()

    def reply_parts(self, parts: list[Part], size: int) -> None:
        """The same for one that is in several parts."""
        if not self.connection.gone:
            self.parts, self.size = parts, size
            self.connection.drain()

    def encode(self, message: Message) -> tuple[list[Part], int]:
        """The framed response as parts to send, and their size."""
        parts: list[Any] = response_frame(cast(Response, message), self.version, self.correlation_id)
        return parts, len(parts[0]) if len(parts) == 1 else sum(map(len, parts))
