"""`penstock up`: a local cluster in the foreground. One small loop waits for signals, deaths and signs of readiness.

Nothing here imports what a node imports: the node process is started first and everything else happens meanwhile.
"""

import errno
import os
import select
import signal
import socket
import time

from penstock.cli import node_settings
from penstock.cli.folder import ClusterFolder, NodeFolder
from penstock.cli.node_process import NodeProcess
from penstock.cli.node_settings import HOST, Ports
from penstock.cli.pidfile import Held
from penstock.cli.plain import PORT
from penstock.cli.talk import Refused, complain, say

STOP_SECONDS_MAX = 30.0
PORT_MAX = 65_535
META_FILE = "meta.properties"
_STOPPERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def up(
    nodes: int | None,
    data_dir: str,
    port: int | None,
    metrics_port: int | None,
    config: str | None,
    set: list[str],
    restart: bool,
) -> int:
    """Start or resume the cluster of a folder and stay until it is told to stop."""
    given = node_settings.read_settings_file(config) if config else {}
    node_settings.refuse_decided(given, f"in {config}")
    assigned = node_settings.parse_assignments(set)
    node_settings.refuse_decided(assigned, "given with --set")
    folder = ClusterFolder(data_dir)
    folder.create()
    _check_count(folder, nodes)
    try:
        folder.pid_file.hold()
    except Held as held:
        raise Refused(
            f"{folder.shown} is in use by `penstock up` (process {held.pid})",
            f"stop it with `penstock down --data-dir {folder.shown}`, or choose another folder with --data-dir",
        ) from None
    try:
        members = [_prepare(folder.node(1), port, metrics_port, given | assigned)]
        return Cluster(folder, members, restart).run()
    finally:
        folder.pid_file.release()


def _check_count(folder: ClusterFolder, nodes: int | None) -> None:
    existing = len(folder.nodes())
    if nodes is not None and existing not in (0, nodes):
        raise Refused(
            f"{folder.shown} holds a cluster of {existing} node(s), not {nodes}",
            "leave --nodes out to resume it, or choose another folder with --data-dir",
        )
    if nodes not in (None, 1):
        raise Refused(f"--nodes {nodes}: one node for now", "leave --nodes out")


def _prepare(node: NodeFolder, port: int | None, metrics_port: int | None, given: dict[str, str]) -> NodeProcess:
    """Settle the node's ports, write its settings file, and make the folder its own."""
    if (pid := node.pid_file.holder()) is not None:
        raise Refused(f"node {node.number} is running already (process {pid})", "stop it with `penstock down`")
    text = ""
    if os.path.exists(node.settings_path):
        with open(node.settings_path, encoding="utf-8") as file:
            text = file.read()
    ports = _ports(node.number, text, port, metrics_port)
    for number in ports.all():
        _require_free(number)
    merged = node_settings.merge(text, node_settings.own_settings(node.number, ports, node.path), given)
    if given:
        node_settings.refuse_unusable(merged)
    os.makedirs(node.path, exist_ok=True)
    with open(node.settings_path, "w", encoding="utf-8") as file:
        file.write(merged)
    if not os.path.exists(os.path.join(node.path, META_FILE)):
        from penstock.cli.formatting import format_folder, new_id

        format_folder(node.path, new_id(), node.number)
    return NodeProcess(node, ports)


def _ports(number: int, text: str, port: int | None, metrics_port: int | None) -> Ports:
    """The ports that were asked for, else those the node had before, else the defaults."""
    before = node_settings.ports_of(text)
    if port is None:
        port = before[0] if before else PORT
        metrics_port = metrics_port or (before[1] if before else None)
    ports = Ports(number, port, metrics_port or port + node_settings.METRICS_PORT_OFFSET)
    if not all(0 < one <= PORT_MAX for one in ports.all()):
        raise Refused(
            f"port {port} leaves no room: the node needs {', '.join(map(str, ports.all()))}",
            "choose a lower one with --port",
        )
    return ports


def _require_free(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as failure:
            if failure.errno != errno.EADDRINUSE:
                raise Refused(f"cannot listen on {HOST}:{port}: {failure.strerror}", "choose another --port") from None
            raise Refused(
                f"port {port} on {HOST} is busy",
                "stop what listens there, or choose other ports with --port (and --metrics-port)",
            ) from None


class Cluster:
    """The node processes of one `up`, from their start to their end."""

    def __init__(self, folder: ClusterFolder, members: list[NodeProcess], restart: bool) -> None:
        self._folder = folder
        self._members = members
        self._restart = restart
        self._announced = False

    def run(self) -> int:
        """Start everybody, report what happens, stop everybody on a signal."""
        signals = _signals_as_bytes()
        for member in self._members:
            member.start()
        while True:
            numbers = self._wait(signals)
            if any(number in _STOPPERS for number in numbers):
                return self._stop()
            if not self._reap():
                return 1
            self._announce()

    def _wait(self, signals: socket.socket) -> bytes:
        """Sleep until a signal, a sign of readiness, or the time to start a node again; gives the signals' numbers."""
        waiting = [member for member in self._members if member.ready_fd is not None]
        times = [member.start_at for member in self._members if member.start_at is not None]
        timeout = max(0.0, min(times) - time.monotonic()) if times else None
        sources: list[socket.socket | int] = [signals, *(fd for fd in (m.ready_fd for m in waiting) if fd is not None)]
        readable, _, _ = select.select(sources, [], [], timeout)
        for member in waiting:
            if member.ready_fd in readable:
                member.take_readiness()
        for member in self._members:
            member.start_if_due(time.monotonic())
        return signals.recv(64) if signals in readable else b""

    def _reap(self) -> bool:
        """Report the nodes that died. False when there is nothing left to wait for."""
        for member in self._members:
            if (reason := member.take_death()) is None:
                continue
            if not self._announced and not self._restart:
                complain(f"node {member.folder.number} did not start: it {reason}")
                self._stop()
                return False
            complain(f"node {member.folder.number} {reason}", None if self._restart else member.start_again_hint())
            if self._restart:
                member.restart_later(time.monotonic())
        return any(member.is_alive or member.start_at is not None for member in self._members)

    def _announce(self) -> None:
        if self._announced or not all(member.is_ready for member in self._members):
            return
        self._announced = True
        bootstrap = ",".join(f"{HOST}:{member.ports.client}" for member in self._members)
        print(f"ready {bootstrap}", flush=True)
        first = self._members[0].ports
        at = "" if first.client == PORT else f" --bootstrap {HOST}:{first.client}"
        say(f"Kafka clients connect to {bootstrap}; metrics are at http://{HOST}:{first.metrics}/metrics")
        say(f"data is in {self._folder.path}; stop with ctrl-c or `penstock down`")
        say(f"try: echo hello | penstock produce greetings{at} && penstock consume greetings{at}")

    def _stop(self) -> int:
        """Ask every node to stop and wait; the ones that do not are killed, and that is a failure."""
        living = [member for member in self._members if member.is_alive]
        for member in living:
            member.terminate()
        deadline = time.monotonic() + STOP_SECONDS_MAX
        stubborn = [member for member in living if not member.wait(deadline)]
        for member in stubborn:
            complain(f"node {member.folder.number} did not stop in {STOP_SECONDS_MAX:.0f} s and was killed")
            member.kill()
        failed = [member for member in living if member not in stubborn and member.failure() is not None]
        for member in failed:
            complain(f"node {member.folder.number} {member.failure()} while it stopped")
        if self._announced and not stubborn and not failed:
            say("stopped")
        return 1 if stubborn or failed else 0


def _signals_as_bytes() -> socket.socket:
    """A socket from which the numbers of arriving signals are read, so that one `select` waits for everything."""
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)
    for number in (*_STOPPERS, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    return reader
