"""What leaves past the transport, and what must not."""

from __future__ import annotations

import socket
import ssl
from typing import Any

import pytest

from penstock.core.base.ports import File, Slice
from penstock.shell.outbox import GATHERED_BYTES_MAX, Outbox

LARGE = bytes(range(256)) * (GATHERED_BYTES_MAX // 256 + 1)


class Transport:
    """Keeps what it is given to send, as one that encrypts would before it sends something else."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext | None) -> None:
        self._facts = {"socket": sock, "sslcontext": context}
        self.written = b""

    def get_extra_info(self, name: str) -> object:
        return self._facts[name]

    def set_write_buffer_limits(self, high: int, low: int) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes | memoryview) -> None:
        self.written += data


class Files:
    """One file that is in memory."""

    direct = True
    buffered_bytes = 0

    def __init__(self, content: bytes) -> None:
        self.disk: Any = self
        self._content = content

    def pin(self, file: File) -> None: ...

    def unpin(self, file: File) -> None: ...

    def has_room(self) -> bool:
        return True

    def read_warm(self, part: Slice) -> bytes:
        return self.read_pinned(part.file, part.position, part.length, None)

    def read_pinned(self, file: File, position: int, length: int, done: object) -> bytes:
        return self._content[position : position + length]

    def weight(self, _: File) -> int:
        return 1

    def is_warm(self, file: File, position: int, length: int) -> bool:
        raise AssertionError("sendfile is for sockets that nothing encrypts")


@pytest.mark.parametrize("encrypts", [False, True])
def test_what_a_transport_encrypts_goes_through_it(encrypts: bool) -> None:
    near, far = socket.socketpair()
    with near, far:
        near.setblocking(False)
        far.setblocking(False)
        transport: Any = Transport(near, ssl.create_default_context() if encrypts else None)
        server: Any = Files(b"")
        Outbox(server, transport, lambda: None).put([b"head", b"tail"])
        if encrypts:
            assert transport.written == b"headtail"
            with pytest.raises(BlockingIOError):
                far.recv(1)
        else:
            assert transport.written == b""
            assert far.recv(64) == b"headtail"


def test_files_are_read_for_a_transport_that_encrypts() -> None:
    near, far = socket.socketpair()
    with near, far:
        transport: Any = Transport(near, ssl.create_default_context())
        server: Any = Files(LARGE)
        outbox = Outbox(server, transport, lambda: None)
        outbox.put([b"head", Slice(File("/a.log"), 0, len(LARGE))])
        assert transport.written == b"head" + LARGE
        assert not outbox
