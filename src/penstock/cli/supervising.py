"""The node processes of one `penstock up`: one small loop waits for signals, deaths and signs of readiness."""

import json
import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from typing import Any, ClassVar

from penstock.cli.folder import ClusterFolder
from penstock.cli.node_process import STOPPED, NodeProcess
from penstock.cli.node_settings import HOST
from penstock.cli.plain import JSON, PORT
from penstock.cli.service_process import ServiceProcess
from penstock.cli.talk import complain, say

# A node takes up to 30 s for a clean stop; only one that is beyond help is killed.
STOP_SECONDS_MAX = 35.0
# How often somebody in the background looks how long its log is.
LOG_LOOK_SECONDS = 10.0
_STOPPERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def signals_as_bytes() -> socket.socket:
    """A socket from which the numbers of arriving signals are read, so that one `select` waits for everything."""
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)
    for number in (*_STOPPERS, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    return reader


class Terminal:
    """Where `up` was started, and stays."""

    is_left: ClassVar[bool] = False

    def log(self, folder: ClusterFolder) -> int | None:
        """What nodes say goes where we say what we say."""
        return None

    def show_log(self) -> None:
        """Everything was seen."""

    def leave(self) -> None:
        """We stay."""

    def limit_log(self) -> None:
        """Whoever collects what is said bounds it."""


class Cluster:
    """The node processes of one `up`, from their start to their end."""

    def __init__(
        self,
        folder: ClusterFolder,
        members: list[NodeProcess],
        restart: bool,
        output: str,
        terminal: Terminal,
        services: Sequence[ServiceProcess] = (),
    ) -> None:
        self._folder = folder
        self._members = members
        self._restart = restart
        self._output = output
        self._terminal = terminal
        self._services = services
        self._log: int | None = None
        self._announced = False
        self._has_lost = False

    def run(self, signals: socket.socket) -> int:
        """Start everybody, report what happens, stop everybody on a signal."""
        self._log = self._terminal.log(self._folder)
        for member in self._members:
            member.talk = self._log
            member.start()
        while True:
            numbers = self._wait(signals)
            if any(number in _STOPPERS for number in numbers):
                return self._stop()
            if not self._reap():
                self._stop_services()
                return 1 if self._has_lost else 0
            self._announce()
            for service in self._services:
                service.look_after(self._bootstrap, self._log, self._restart)

    @property
    def _bootstrap(self) -> str:
        return ",".join(member.ports.address for member in self._members)

    def _stop_services(self) -> None:
        """Before the nodes: a registry leaves its group while there is one."""
        for service in self._services:
            service.stop()

    def _wait(self, signals: socket.socket) -> bytes:
        """Sleep until a signal, a sign of readiness, or the time to start a node again; gives the signals' numbers."""
        waiting = [member for member in self._members if member.ready_fd is not None]
        times = [member.start_at for member in self._members if member.start_at is not None]
        timeout = max(0.0, min(times) - time.monotonic()) if times else None
        if self._terminal.is_left:
            timeout = LOG_LOOK_SECONDS if timeout is None else min(timeout, LOG_LOOK_SECONDS)
            self._terminal.limit_log()
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
            self._has_lost |= not self._announced or reason != STOPPED
            if not self._announced and not self._restart:
                self._terminal.show_log()
                complain(f"node {member.folder.number} did not start: it {reason}")
                self._stop()
                return False
            # Whoever was asked to stop has not died.
            is_started_again = self._restart and reason != STOPPED
            hint = None if is_started_again else member.start_again_hint()
            complain(f"node {member.folder.number} {reason}", hint)
            if is_started_again:
                member.restart_later(time.monotonic())
        return any(member.is_alive or member.start_at is not None for member in self._members)

    def _announce(self) -> None:
        if self._announced or not all(member.is_ready for member in self._members):
            return
        self._announced = True
        bootstrap = self._bootstrap
        for service in self._services:
            self._has_lost |= not service.start(bootstrap, self._log)
        print(json.dumps(self._facts(bootstrap)) if self._output == JSON else f"ready {bootstrap}", flush=True)
        first = self._members[0].ports
        at = "" if first.address == f"{HOST}:{PORT}" else f" --bootstrap {first.address}"
        end = "" if self._terminal.is_left else "ctrl-c or "
        say(f"Kafka clients connect to {bootstrap}; metrics are at {first.metrics_url}")
        say(f"data is in {self._folder.path}; stop with {end}`{self._folder.command('down')}`")
        if self._folder.is_secure:
            self._show_way_in()
            return
        say(f"try: echo hello | penstock produce greetings{at} && penstock consume greetings{at}")
        self._terminal.leave()

    def _show_way_in(self) -> None:
        """The settings of a client, to copy."""
        path = os.path.join(self._folder.security_path, "client.properties")
        say(f"clients get in as the admin with what is in {path}")
        if not self._terminal.is_left:
            # What is said in the background is kept in a log.
            with open(path, encoding="utf-8") as file:
                say(file.read().rstrip("\n"))
        say(f"try: penstock topic list --command-config {path}")
        self._terminal.leave()

    def _facts(self, bootstrap: str) -> dict[str, Any]:
        """For programs: where everything is, on one line."""
        nodes = [
            {
                "node": member.folder.number,
                "address": member.ports.address,
                "port": member.ports.client,
                "controller_port": None if member.ports.has_joined else member.ports.controller,
                "metrics_port": member.ports.metrics,
                "metrics": member.ports.metrics_url,
                "data": member.folder.path,
                "pid": member.pid,
            }
            for member in self._members
        ]
        return {
            "state": "ready",
            "bootstrap": bootstrap,
            "data_dir": self._folder.path,
            **({"client_config": f"{self._folder.security_path}/client.properties"} if self._folder.is_secure else {}),
            "pid": os.getpid(),
            **{service.command: service.url for service in self._services},
            "nodes": nodes,
        }

    def _stop(self) -> int:
        """Ask every node to stop and wait; the ones that do not are killed, and that is a failure."""
        self._stop_services()
        living = [member for member in self._members if member.is_alive]
        for member in living:
            member.terminate()
        deadline = time.monotonic() + STOP_SECONDS_MAX
        stubborn = [member for member in living if not member.wait(deadline)]
        for member in stubborn:
            complain(f"node {member.folder.number} did not stop in {STOP_SECONDS_MAX:.0f} s and was killed")
            member.kill()
        # A node that could not serve yet has nothing to finish: that it ended at once is as clean as it gets.
        ended = [member for member in living if member.is_ready and member not in stubborn]
        failed = [member for member in ended if member.failure() is not None]
        for member in failed:
            complain(f"node {member.folder.number} {member.failure()} while it stopped")
        if self._announced and not stubborn and not failed:
            say("stopped")
        return 1 if stubborn or failed else 0
