"""What one connection still has to send, in order, with as little of it in memory as possible.

A small reply leaves in one piece, so that its reader is woken once. Of a larger one, what comes from a file goes from
the page cache to the socket with `sendfile`, past this process; when the socket takes no more, it stays in the file
until it does. Pages that are not in memory are read in a thread first and handed to the transport chunk by chunk, and
so is everything where there is no `sendfile`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from penstock.core.base.ports import LATER, Buffer, File, FileFailure, Slice
from penstock.core.node.serving.slots import Part

if TYPE_CHECKING:
    from penstock.shell.server import Server

CHUNK_BYTES = 256 * 1024
"""What a slow reader holds in memory, whatever the size of its reply."""
WRITE_BUFFER_BYTES_MAX = 64 * 1024
"""Above this the transport says that its reader is slow; a chunk is larger, so that it says so of any chunk."""
GATHERED_BYTES_MAX = 64 * 1024
"""Up to here reading from a file and writing in one piece costs less than what it saves: a packet, and a wakeup of the
reader, for each part. Followers that wait for every record feel that most."""
TURN_BYTES_MAX = 2 << 20
"""How much one connection may send before others get their turn."""

HAS_SENDFILE = sys.platform == "linux" and hasattr(os, "sendfile")


class Outbox:
    """The unsent parts of one connection."""

    def __init__(self, server: Server, transport: asyncio.Transport, progressed: Callable[[], None]) -> None:
        self._server = server
        self._transport = transport
        self._progressed = progressed
        self._queue: deque[Part] = deque()
        self._queued_bytes = 0
        self._paused = False
        self._paused_bytes = 0
        self._reading_disk = False
        self._turn_bytes = 0
        self._is_resting = False
        self._warm_until = -1
        # A second descriptor of the socket, on which to wait for room past the transport, which owns the first.
        self._waiting_fd = -1
        self._is_waiting = False
        # What the transport encrypts must not get around it.
        is_plain = transport.get_extra_info("sslcontext") is None
        socket = transport.get_extra_info("socket") if server.direct and is_plain else None
        self._socket_fd: int = -1 if socket is None else socket.fileno()
        transport.set_write_buffer_limits(WRITE_BUFFER_BYTES_MAX, 0)

    def __bool__(self) -> bool:
        return bool(self._queue)

    @property
    def unsent_bytes(self) -> int:
        return self._queued_bytes + self._paused_bytes

    def put(self, parts: list[Part]) -> int:
        """Take parts and send as much as may be sent; gives their size."""
        if not self._queue and not self._paused and (data := self._gather(parts)) is not None:
            # The common case: small replies, nobody waiting. They leave in one system call.
            self._write(data)
            return len(data)
        if not self._pin([part.file for part in parts if type(part) is Slice]):
            self._transport.abort()
            return 0
        size = sum(map(len, parts))
        self._queue += parts
        self._queued_bytes += size
        self.pump()
        return size

    def _pin(self, files: list[File]) -> bool:
        """Keep the files open until they are sent. A reply that waited for others may have waited until its segment was
        deleted, and there may be no descriptor left: its reader has to ask again."""
        disk = self._server.disk
        for count, file in enumerate(files):
            try:
                disk.pin(file)
            except OSError as error:
                self._server.node.log("warning", "network", f"a reader is sent away, and will ask again: {error}")
                for pinned in files[:count]:
                    disk.unpin(pinned)
                return False
        return True

    def _gather(self, parts: list[Part]) -> Buffer | None:
        """The parts in one piece, unless there is too much of a file in them, or some of it is not in memory."""
        if Slice in map(type, parts):
            if sum(map(len, parts)) > GATHERED_BYTES_MAX:
                return None
            read = self._server.disk.read_warm
            found = [read(part) if type(part) is Slice else part for part in parts]
            return None if None in found else b"".join(cast(list[bytes], found))
        return cast(bytes, parts[0]) if len(parts) == 1 else b"".join(cast(list[bytes], parts))

    @property
    def _is_held(self) -> bool:
        """Whether something has to happen before more can be sent."""
        return self._paused or self._reading_disk or self._is_resting or self._is_waiting

    def pump(self) -> None:
        """Send queued parts while the socket takes them."""
        queue, transport = self._queue, self._transport
        while queue and not (self._is_held or transport.is_closing()):
            part = queue[0]
            if type(part) is Slice:
                if not self._send_slice(part):
                    return
            else:
                queue.popleft()
                self._send(cast(bytes, part))
            if self._turn_bytes >= TURN_BYTES_MAX:
                self._is_resting = True
                asyncio.get_running_loop().call_soon(self._go_on)

    def pause(self) -> None:
        self._paused = True
        self._paused_bytes = self._transport.get_write_buffer_size()
        self._server.buffered_bytes += self._paused_bytes

    def resume(self) -> None:
        self._unpause()
        # Who waited for room gets it first; otherwise one busy reader could keep it for ever.
        self._server.feed_starved()
        self.pump()

    def release(self) -> None:
        """The connection is gone: let go of the files."""
        if self._paused:
            self._unpause()
            self._server.feed_starved()
        self._stop_waiting()
        if self._waiting_fd >= 0:
            os.close(self._waiting_fd)
            self._waiting_fd = -1
        if self._reading_disk:
            # The thread still reads from the pinned file; `_cold` comes back here.
            return
        for part in self._queue:
            if type(part) is Slice:
                self._server.disk.unpin(part.file)
        self._queue.clear()
        self._queued_bytes = 0

    def _go_on(self) -> None:
        self._is_resting = False
        self._turn_bytes = 0
        self.pump()
        self._progressed()

    def _unpause(self) -> None:
        self._paused = False
        self._server.buffered_bytes -= self._paused_bytes
        self._paused_bytes = 0

    def _is_direct(self) -> bool:
        """Whether the socket may be written to past the transport: only while the transport holds nothing for it."""
        return self._socket_fd >= 0 and self._transport.get_write_buffer_size() == 0

    def _send(self, data: Buffer) -> None:
        self._queued_bytes -= len(data)
        self._turn_bytes += len(data)
        self._write(data)

    def _write(self, data: Buffer) -> None:
        """Write past the transport if it holds nothing: it would wait for the end of the loop's round, and the peer
        could not go on meanwhile."""
        sent = 0
        if self._is_direct():
            try:
                sent = os.write(self._socket_fd, data)
            except BlockingIOError:
                sent = 0
            except OSError:
                self._transport.abort()
                return
        if sent < len(data):
            self._transport.write(memoryview(data)[sent:] if sent else data)

    def _send_slice(self, part: Slice) -> bool:
        """Send some of a file; False when there is nothing to do before something else happens."""
        server = self._server
        if self._is_direct() and self._is_warm(part):
            try:
                sent = os.sendfile(self._socket_fd, part.file.fd, part.position, min(part.length, TURN_BYTES_MAX))
            except BlockingIOError:
                self._wait()
                return False
            except OSError:
                self._transport.abort()
                return False
            return self._advance(part, sent)
        if not server.has_room():
            server.starve(self)
            return False
        found = server.disk.read_pinned(part.file, part.position, min(part.length, CHUNK_BYTES), self._cold)
        if found is LATER:
            self._reading_disk = True
            return False
        return self._write_chunk(part, found)

    def _is_warm(self, part: Slice) -> bool:
        """Whether what would be sent next is in memory; what was asked once is not asked again."""
        if part.position >= self._warm_until:
            length = min(part.length, TURN_BYTES_MAX)
            if not self._server.disk.is_warm(part.file, part.position, length):
                return False
            self._warm_until = part.position + length
        return True

    def _wait(self) -> None:
        """Go on when the socket takes more."""
        if self._waiting_fd < 0:
            self._waiting_fd = os.dup(self._socket_fd)
        self._is_waiting = True
        asyncio.get_running_loop().add_writer(self._waiting_fd, self._writable)

    def _stop_waiting(self) -> None:
        if self._is_waiting:
            self._is_waiting = False
            asyncio.get_running_loop().remove_writer(self._waiting_fd)

    def _writable(self) -> None:
        self._stop_waiting()
        self._go_on()

    def _write_chunk(self, part: Slice, found: object) -> bool:
        if isinstance(found, FileFailure):
            self._server.node.log("error", "network", f"reading {part.file.path} for a reply failed: {found}")
            found = b""
        data = cast(bytes, found)
        if data:
            self._transport.write(data)
        return self._advance(part, len(data), self._server.disk.weight(part.file))

    def _advance(self, part: Slice, count: int, weight: int = 1) -> bool:
        if count == 0:
            # The reply's size has been sent already: all that is left is to close.
            self._transport.abort()
            return False
        self._queued_bytes -= count
        self._turn_bytes += count * weight
        part.position += count
        part.length -= count
        if part.length == 0:
            self._queue.popleft()
            self._warm_until = -1
            self._server.disk.unpin(part.file)
        return True

    def _cold(self, found: object) -> None:
        """A read that had to wait for the disk is done."""
        self._reading_disk = False
        if self._transport.is_closing():
            self.release()
            return
        part = self._queue[0]
        assert type(part) is Slice
        if self._write_chunk(part, found):
            self.pump()
        self._progressed()
