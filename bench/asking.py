"""Many requests over one bare socket, some of them under way at a time."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterable
from itertools import islice
from typing import Self, TypeVar

from bench.stages import frame
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from penstock.core.wire.frames import parse_response_header
from penstock.core.wire.schema import Response

TIMEOUT_S = 60.0
LOOK_AGAIN_S = 0.05
GROUP, TRANSACTION = 0, 1
COORDINATOR_VERSION = 4
_SIZE = struct.Struct(">i")

R = TypeVar("R", bound=Response)


class Asking:
    """A connection. A context manager."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), TIMEOUT_S)
        self._file = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()
        self._socket.close()

    def all(self, frames: Iterable[bytes], at_once: int, expected: type[R], version: int) -> list[R]:
        """The answers, in their order."""
        left, answers = iter(frames), []
        while some := list(islice(left, at_once)):
            self._socket.sendall(b"".join(some))
            answers += [self._answer(expected, version) for _ in some]
        return answers

    def until_coordinated(self, name: str, key_type: int = TRANSACTION) -> None:
        """Come back when there is a coordinator for this transactional id, or group."""
        request = frame(FindCoordinatorRequest(key_type=key_type, coordinator_keys=[name]), COORDINATOR_VERSION)
        until = time.monotonic() + TIMEOUT_S
        while self._is_away(request):
            assert time.monotonic() < until, "no coordinator"
            time.sleep(LOOK_AGAIN_S)

    def _is_away(self, request: bytes) -> bool:
        (answer,) = self.all([request], 1, FindCoordinatorResponse, COORDINATOR_VERSION)
        return answer.coordinators[0].error_code != 0

    def _answer(self, expected: type[R], version: int) -> R:
        data = self._file.read(_SIZE.unpack(self._file.read(_SIZE.size))[0])
        _, position = parse_response_header(data, expected.KEY, version)
        return expected.decode(data, version, position)
