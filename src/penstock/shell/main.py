"""Run one node in this process until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from ssl import SSLContext

from penstock.core.base.endpoints import ENCRYPTING, Endpoint
from penstock.core.base.settings import BrokerSettings
from penstock.core.node.observing.event_log import Tell
from penstock.core.sealing.keys import KeyFault
from penstock.oauth.errors import OAuthError
from penstock.shell.descriptors import connections_allowed, files_allowed, raise_files_limit
from penstock.shell.dialing import Dialing
from penstock.shell.encrypting import Encryption
from penstock.shell.exposition.rendering import Exposition
from penstock.shell.handshakes import Door
from penstock.shell.http import serve_http
from penstock.shell.lock import FolderLock, FolderLocked
from penstock.shell.node_making import make_real_node
from penstock.shell.sd_notify import notify
from penstock.shell.server import Client, Server
from penstock.shell.signing_keys import ListenersKeys
from penstock.shell.tls_contexts import TlsContexts
from penstock.tls.settings import TlsError

METRICS_LISTENER = "METRICS"
"""The name under which its `listener.name.metrics.ssl.*` settings are found, if it has any of its own."""
STOP_S_MAX = 60.0
"""Ten thousand logs take seconds to close. What a disk has not written by then is recovered at the next start."""
GARBAGE_ALLOCATIONS = 20_000

_BUFFERS = {"socket.receive.buffer.bytes": socket.SO_RCVBUF, "socket.send.buffer.bytes": socket.SO_SNDBUF}


class CannotStart(Exception):
    """One line for a person: what is wrong and what to do."""


class StartFailed(CannotStart):
    """The node has said itself why."""


def run(settings: BrokerSettings, on_ready: Callable[[], None] = lambda: None) -> int:
    """Serve until SIGTERM or SIGINT; gives the exit code."""
    raise_files_limit()
    try:
        with make_runner() as runner:
            return runner.run(serve(settings, on_ready))
    except StartFailed:
        return 1
    except (CannotStart, FolderLocked) as error:
        print(f"penstock: {error}", file=sys.stderr)
        return 1


def make_runner() -> asyncio.Runner:
    """uvloop where there is one: it halves the cost of a small request."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=new_event_loop)


async def serve(settings: BrokerSettings, on_ready: Callable[[], None]) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    host = Host(settings)
    # Now as well as after the start, because a node may have to wait for its cluster for long.
    _calm_garbage_collector()
    try:
        if await _before(stop, host.start()):
            _calm_garbage_collector()
            on_ready()
            await host.wait(stop)
        notify("STOPPING=1")
        return await host.stop()
    finally:
        host.close()


async def _before(stop: asyncio.Event, work: Coroutine[None, None, None]) -> bool:
    """Whether some work has ended before we were told to stop; if not, it is given up."""
    working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if working.done():
        working.result()
        return True
    working.cancel()
    return False


def _calm_garbage_collector() -> None:
    """What the node has loaded stays for its life: never walk it again, and look for cycles less often, because
    requests make none."""
    gc.freeze()
    gc.set_threshold(GARBAGE_ALLOCATIONS, 20, 100)
    gc.enable()


class Host:
    """A node with its sockets, its disk and its loop."""

    def __init__(self, settings: BrokerSettings, tell: Tell | None = None) -> None:
        self._settings = settings
        self._lock = FolderLock(settings.log_dir)
        self._encryption = _encryption(settings, self._lock)
        self._sockets = [(endpoint, _bind(endpoint, settings)) for endpoint in settings.listeners.broker]
        self._quorum_sockets = [(endpoint, _bind(endpoint, settings)) for endpoint in settings.listeners.controller]
        self.server = Server(settings["penstock.response.bytes.max"])
        files_max = files_allowed(settings["penstock.open.files.max"])
        self.disk = self._encryption.disk(self.server.turn, files_max)
        self.tls = TlsContexts(lambda: self.node.settings, self._tls_failed)
        self.dialing = Dialing(self.server, self.tls)
        self.node = make_real_node(settings, self.disk, self.dialing, tell)
        self.node.advertised = tuple(self._advertised())
        self.node.host_name = self._settings["penstock.host"] or socket.gethostname()
        self.node.admission.connections_allowed = connections_allowed(files_max)
        self.node.signing_keys = self._signing_keys = ListenersKeys(settings, self._keys_say)
        self.server.node, self.server.disk = self.node, self.disk
        self.server.on_state = self._state_changed
        self._settled: asyncio.Future[None] | None = None
        self._listening: list[asyncio.Server | Door] = []
        self.http_port: int | None = None

    @property
    def addresses(self) -> list[tuple[str, int]]:
        return [bound.getsockname()[:2] for _, bound in self._sockets]

    async def start(self) -> None:
        """Listen to other controllers, because a quorum must form before a node can start; recover; listen to all."""
        for warning in self._settings.warnings:
            self.node.log("warning", "settings", warning)
        await self._start_keys()
        self._encryption.begin(lambda level, text: self.node.log(level, "encryption", text))
        await self._listen(self._quorum_sockets)
        await self._until(self.node.start)
        if self.node.state != "running":
            raise StartFailed(self.node.failure)
        self.disk.starting = False
        await self._listen(self._sockets)
        await self._serve_http()
        self.node.log("info", "node", f"ready: {self._where()}")

    async def wait(self, stop: asyncio.Event) -> None:
        """Until told to stop, or until the node fails, if it has not while the listeners were opened."""
        if self.node.state == "failed":
            return
        failed = self._watch()
        stopping = asyncio.ensure_future(stop.wait())
        await asyncio.wait((failed, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()

    async def stop(self) -> int:
        """Stop cleanly; gives the exit code."""
        for listening in self._listening:
            listening.close()
        if self.node.state == "failed":
            return 1
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._until(self.node.stop), STOP_S_MAX)
        return 0 if self.node.state == "stopped" else 1

    def close(self) -> None:
        for listening in self._listening:
            listening.close()
        for client in list(self.server.clients.values()):
            client.abort()
        self.dialing.close()
        self._signing_keys.close()
        self._encryption.close()
        for _, bound in (*self._sockets, *self._quorum_sockets):
            bound.close()
        self.server.close()
        self.disk.close()
        self._lock.release()

    async def _start_keys(self) -> None:
        try:
            await self._signing_keys.start()
        except OAuthError as failure:
            raise CannotStart(str(failure)) from None

    def _keys_say(self, level: str, text: str) -> None:
        self.node.log(level, "network", text, kind="signing keys")

    def _tls_failed(self, text: str) -> None:
        self.node.log("warning", "network", text, kind="tls")

    def _where(self) -> str:
        """What this node is, and where it is to be found."""
        found = [f"{endpoint.name} at {_shown(bound)}" for endpoint, bound in (*self._sockets, *self._quorum_sockets)]
        if self.http_port is not None:
            found.append(f"metrics at {self._settings['penstock.metrics.host']}:{self.http_port}")
        return ", ".join(found)

    async def _listen(self, sockets: list[tuple[Endpoint, socket.socket]]) -> None:
        backlog = self._settings["socket.listen.backlog.size"]
        for endpoint, bound in sockets:
            factory = partial(Client, self.server, endpoint.name)
            if endpoint.protocol in ENCRYPTING:
                context = partial(self.tls.server, endpoint.name)
                allowed = self.node.admission.connections_allowed
                self._listening.append(Door(bound, backlog, _usable(context), factory, self._tls_failed, allowed))
                continue
            listening = await asyncio.get_running_loop().create_server(factory, sock=bound, backlog=backlog)
            self._listening.append(listening)

    def _advertised(self) -> list[Endpoint]:
        """What clients are told. Port 0 asked for any free port, and every interface is no address at all."""
        ports = {endpoint.name: bound.getsockname()[1] for endpoint, bound in self._sockets}
        return [
            endpoint._replace(
                port=endpoint.port or ports.get(endpoint.name, 0),
                host=socket.gethostname() if endpoint.host in ("", "0.0.0.0", "::") else endpoint.host,
            )
            for endpoint in self._settings.listeners.advertised
        ]

    async def _serve_http(self) -> None:
        port = self._settings["penstock.metrics.port"]
        if port >= 0:
            tls = partial(self.tls.server, METRICS_LISTENER) if self._settings["penstock.metrics.tls"] else None
            context = None if tls is None else _usable(tls)
            exposition = Exposition(self.node, self.tls.expiries_s, self.server.traffic)
            host = self._settings["penstock.metrics.host"]
            listening = await serve_http(self.server, exposition, host, port, context)
            self.http_port = listening.sockets[0].getsockname()[1]
            self._listening.append(listening)

    async def _until(self, begin: Callable[[], None]) -> None:
        """Run turns until the node has left the state that `begin` puts it into."""
        settled = self._watch()
        self.server.turn(begin)
        await settled

    def _watch(self) -> asyncio.Future[None]:
        self._settled = asyncio.get_running_loop().create_future()
        return self._settled

    def _state_changed(self) -> None:
        settled = self._settled
        if settled is not None and not settled.done() and self.node.state in ("running", "stopped", "failed"):
            settled.set_result(None)


def _encryption(settings: BrokerSettings, lock: FolderLock) -> Encryption:
    """What opens the folder; without the keys it needs, a node does not start."""
    try:
        return Encryption(settings)
    except KeyFault as fault:
        lock.release()
        raise CannotStart(str(fault)) from None


def _usable(context: Callable[[], SSLContext]) -> Callable[[], SSLContext]:
    """What makes contexts, tried once: without a certificate a node does not start."""
    try:
        context()
    except TlsError as failure:
        raise CannotStart(str(failure)) from None
    return context


def _shown(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _bind(endpoint: Endpoint, settings: BrokerSettings) -> socket.socket:
    """Bind before anything else: a busy port is known at once. Without a word about listeners, only this machine
    is listened to."""
    host, port = endpoint.host or ("::" if "listeners" in settings else "127.0.0.1"), endpoint.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _size_buffers(bound, settings)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise CannotStart(
            f"cannot listen on {host}:{port} ({error.strerror}); stop what uses it, or choose another port"
        ) from None
    return bound


def _size_buffers(listening: socket.socket, settings: BrokerSettings) -> None:
    """Accepted sockets inherit these. A size that nobody asked for is left to the system, which adapts it to each
    connection and so is faster than any fixed one."""
    for name, option in _BUFFERS.items():
        if name in settings and settings[name] > 0:
            listening.setsockopt(socket.SOL_SOCKET, option, settings[name])
