"""The door of a listener that encrypts: who has said hello is shaken hands with, a few in each round of the loop.

A handshake costs about a millisecond, nearly all of it when the client's hello is answered. A thousand clients that
come back at once would hold up everything else for a second, so that the controller would take the node for dead. So a
connection first waits until its hello is here, and then for its turn. Who says nothing costs a descriptor, and makes
room for others when there are too many of that kind; so does who says hello, and then does not go on.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final

from penstock.tls.settings import TlsError

ACCEPTED_PER_ROUND_MAX: Final = 64
HANDSHAKES_PER_ROUND_MAX: Final = 8
HANDSHAKES_MAX: Final = 256
"""As many may be under way; others wait with their hello."""
SLOW_S_MAX: Final = 2.0
"""Then the one that began first goes, if there are as many and somebody waits."""
SILENT_MAX: Final = 2_048
"""As many may be here without a hello, or wait for their turn, or fewer where there are few descriptors."""
SILENT_SHARE: Final = 4
"""This part of what connections may have of the descriptors."""
GRACE_S: Final = 0.5
"""Then the oldest goes, if there are as many. Until then nobody else is taken: of a crowd that comes back together many
have connected before the first is heard."""
SILENT_S_MAX: Final = 5.0
HANDSHAKE_S_MAX: Final = 10.0
GOODBYE_S_MAX: Final = 5.0
"""For how long a client may take the rest of what it was sent, and say goodbye, once its connection ends."""
LOOK_AGAIN_S: Final = 0.05
"""After a hello of which only a part was here."""
_RECORD_HEAD: Final = 5
_HANDSHAKE_RECORD: Final = 0x16
_RECORD_BYTES_MAX: Final = _RECORD_HEAD + (1 << 14) + 256


class Door:
    """One listening socket."""

    def __init__(
        self,
        bound: socket.socket,
        backlog: int,
        context: Callable[[], ssl.SSLContext],
        protocol: Callable[[], asyncio.BufferedProtocol],
        complain: Callable[[str], None],
        connections_allowed: int | None,
    ) -> None:
        self._bound = bound
        self._context = context
        self._protocol = protocol
        self._complain = complain
        allowed = SILENT_MAX if connections_allowed is None else connections_allowed // SILENT_SHARE
        self._silent_max = max(1, min(SILENT_MAX, allowed))
        self._loop = asyncio.get_running_loop()
        self._silent: OrderedDict[socket.socket, asyncio.TimerHandle] = OrderedDict()
        self._greeted: deque[socket.socket] = deque()
        self._shaking: dict[asyncio.Task[None], float] = {}
        """With the time at which each has begun."""
        self._is_pumping = False
        self._hurrying: asyncio.TimerHandle | None = None
        self._paused: asyncio.TimerHandle | None = None
        bound.listen(backlog)
        bound.setblocking(False)
        self._loop.add_reader(bound, self._accept)

    def close(self) -> None:
        """Let nobody in any more; who is in stays."""
        for sock in list(self._silent):
            self._drop(sock)
        while self._greeted:
            self._greeted.popleft().close()
        for task in self._shaking:
            task.cancel()
        for timer in (self._paused, self._hurrying):
            if timer is not None:
                timer.cancel()
        self._paused = None
        self._loop.remove_reader(self._bound)

    def _accept(self) -> None:
        for _ in range(ACCEPTED_PER_ROUND_MAX):
            if len(self._silent) + len(self._greeted) >= self._silent_max:
                self._pause()
                return
            try:
                sock, _ = self._bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as failure:
                self._complain(f"a connection could not be taken: {failure.strerror}")
                # The loop would tell of it in every round.
                self._pause()
                return
            sock.setblocking(False)
            self._silent[sock] = self._loop.call_later(SILENT_S_MAX, self._drop, sock)
            self._loop.add_reader(sock, self._heard, sock)

    def _pause(self) -> None:
        """Take nobody for a moment; if nothing is heard meanwhile, the oldest goes."""
        self._loop.remove_reader(self._bound)
        self._paused = self._loop.call_later(GRACE_S, self._relieve)

    def _relieve(self) -> None:
        if self._silent:
            self._drop(next(iter(self._silent)))
        self._resume()

    def _resume(self) -> None:
        if self._paused is not None:
            self._paused.cancel()
            self._paused = None
            self._loop.add_reader(self._bound, self._accept)

    def _drop(self, sock: socket.socket) -> None:
        timer = self._silent.pop(sock, None)
        if timer is not None:
            timer.cancel()
            self._loop.remove_reader(sock)
            sock.close()
        self._resume()

    def _heard(self, sock: socket.socket) -> None:
        """Look at what has come, and leave it where it is."""
        try:
            head = sock.recv(_RECORD_BYTES_MAX, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            head = b""
        if not head or head[0] != _HANDSHAKE_RECORD:
            if head:
                self._complain(
                    "somebody who speaks no TLS was sent away: its client lacks security.protocol=SSL or SASL_SSL"
                )
            self._drop(sock)
            return
        if len(head) < _RECORD_HEAD or len(head) < _RECORD_HEAD + int.from_bytes(head[3:5], "big"):
            # It would be told of the same bytes in every round.
            self._loop.remove_reader(sock)
            self._loop.call_later(LOOK_AGAIN_S, self._listen_again, sock)
            return
        self._silent.pop(sock).cancel()
        self._loop.remove_reader(sock)
        self._greeted.append(sock)
        self._pump_soon()

    def _listen_again(self, sock: socket.socket) -> None:
        if sock in self._silent:
            self._loop.add_reader(sock, self._heard, sock)

    def _pump_soon(self) -> None:
        if not self._is_pumping:
            self._is_pumping = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        self._is_pumping = False
        for _ in range(HANDSHAKES_PER_ROUND_MAX):
            if not self._greeted or self._is_full():
                break
            # The only task of a connection: it ends as soon as the connection stands.
            task = self._loop.create_task(self._shake(self._greeted.popleft()))
            self._shaking[task] = self._loop.time()
            task.add_done_callback(self._shaken)
        self._resume()
        if self._greeted:
            (self._hurry if self._is_full() else self._pump_soon)()

    def _is_full(self) -> bool:
        return len(self._shaking) >= HANDSHAKES_MAX

    def _hurry(self) -> None:
        """Who began first has to go, once it has had its time: another waits for its place."""
        task, begun_s = next(iter(self._shaking.items()))
        left_s = begun_s + SLOW_S_MAX - self._loop.time()
        if left_s <= 0:
            task.cancel()
        elif self._hurrying is None:
            self._hurrying = self._loop.call_later(left_s, self._look_again)

    def _look_again(self) -> None:
        self._hurrying = None
        self._pump_soon()

    async def _shake(self, sock: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(
                self._protocol,
                sock,
                ssl=self._context(),
                ssl_handshake_timeout=HANDSHAKE_S_MAX,
                ssl_shutdown_timeout=GOODBYE_S_MAX,
            )
        except asyncio.CancelledError:
            sock.close()
            raise
        except (TlsError, OSError) as failure:
            self._complain(_why(failure))
            sock.close()

    def _shaken(self, task: asyncio.Task[None]) -> None:
        del self._shaking[task]
        if self._greeted:
            self._pump_soon()


def _why(failure: TlsError | OSError) -> str:
    if isinstance(failure, TlsError):
        return str(failure)
    reason = getattr(failure, "reason", None) or failure.strerror or type(failure).__name__
    return f"a client did not get through the TLS handshake: {reason}"
