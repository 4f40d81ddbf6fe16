"""A broker that says what a test tells it to: real sockets and real bytes, scripted answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from penstock.core.wire.api.api_versions import ApiVersion, ApiVersionsResponse
from penstock.core.wire.api.find_coordinator import Coordinator, FindCoordinatorResponse
from penstock.core.wire.api.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from penstock.core.wire.api_table import APIS
from penstock.core.wire.frames import FrameReader, parse_request_header, response_frame
from penstock.core.wire.registry import request_class
from penstock.core.wire.schema import Request, Response

HOST = "127.0.0.1"
Answer = Response | None | type[ConnectionError]
Handler = Callable[[Any, int], Answer]


class FakeBroker:
    """Answers Metadata, ApiVersions and FindCoordinator by itself; `on` scripts the rest.

    A handler gets (request, version) and returns a response, None for silence, or ConnectionError to hang up.
    """

    def __init__(self, node_id: int = 1, topics: dict[str, int] | None = None) -> None:
        self.node_id = node_id
        self.topics = {"t": 1} if topics is None else topics
        self.cluster: list[FakeBroker] = [self]
        self.leaders: dict[tuple[str, int], int] = {}
        self.versions = {api.key: (api.version_min, api.version_max) for api in APIS.values() if api.on_brokers}
        self.requests: list[tuple[Request, int]] = []
        self._handlers: dict[str, Handler] = {
            "ApiVersions": self._api_versions,
            "Metadata": self._metadata,
            "FindCoordinator": self._find_coordinator,
        }
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self._connections: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def on(self, api: str, handler: Handler) -> None:
        self._handlers[api] = handler

    def seen(self, api: str) -> list[Any]:
        """The requests of an API that have come in, in order."""
        return [request for request, _ in self.requests if type(request).__name__ == f"{api}Request"]

    def drop_connections(self) -> None:
        for connection in self._connections:
            _shut(connection)

    def close(self) -> None:
        _shut(self._listener)
        self.drop_connections()
        for thread in self._threads:
            thread.join(5)
            assert not thread.is_alive(), "a thread of the fake broker hangs"

    def _start(self, target: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        frames = FrameReader()
        with connection:
            try:
                while data := connection.recv(1 << 16):
                    for frame in frames.feed(data):
                        if not self._answer(connection, bytes(frame)):
                            return
            except OSError:
                return

    def _answer(self, connection: socket.socket, frame: bytes) -> bool:
        key, version, correlation_id, _, position = parse_request_header(frame)
        request = request_class(key).decode(frame, version, position)
        self.requests.append((request, version))
        answer = self._handlers[APIS[key].name](request, version)
        if answer is ConnectionError:
            _shut(connection)
            return False
        if isinstance(answer, Response):
            refused = isinstance(answer, ApiVersionsResponse) and answer.error_code == 35
            parts: list[Any] = response_frame(answer, 0 if refused else version, correlation_id)
            connection.sendall(b"".join(bytes(part) for part in parts))
        return True

    def _api_versions(self, _request: Request, _version: int) -> Response:
        return ApiVersionsResponse(
            api_keys=[
                ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in self.versions.items()
            ]
        )

    def _metadata(self, request: Any, _version: int) -> Response:
        wanted = self.topics if request.topics is None else [topic.name for topic in request.topics]
        return MetadataResponse(
            cluster_id="fake",
            controller_id=self.node_id,
            brokers=[
                MetadataResponseBroker(node_id=broker.node_id, host=HOST, port=broker.port) for broker in self.cluster
            ],
            topics=[self._topic(name) for name in wanted],
        )

    def _topic(self, name: str) -> MetadataResponseTopic:
        if name not in self.topics:
            return MetadataResponseTopic(name=name, error_code=3)
        return MetadataResponseTopic(
            name=name,
            topic_id=name.encode().ljust(16, b"."),
            partitions=[
                MetadataResponsePartition(
                    partition_index=number,
                    leader_id=self.leaders.get((name, number), self.node_id),
                    replica_nodes=[self.node_id],
                    isr_nodes=[self.node_id],
                )
                for number in range(self.topics[name])
            ],
        )

    def _find_coordinator(self, request: Any, _version: int) -> Response:
        return FindCoordinatorResponse(
            coordinators=[
                Coordinator(key=key, node_id=self.node_id, host=HOST, port=self.port)
                for key in request.coordinator_keys
            ]
        )


def _shut(connection: socket.socket) -> None:
    """Close so that whoever sleeps on the socket wakes up."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
