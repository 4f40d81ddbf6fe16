"""The node processes of one `penstock up`: one small loop waits for signals, deaths and signs of readiness."""

import select
import signal
import socket
import time

from penstock.cli.folder import ClusterFolder
from penstock.cli.node_process import STOPPED, NodeProcess
from penstock.cli.node_settings import HOST
from penstock.cli.plain import PORT
from penstock.cli.talk import complain, say

# A node takes up to 30 s for a clean stop; only one that is beyond help is killed.
STOP_SECONDS_MAX = 35.0
_STOPPERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def signals_as_bytes() -> socket.socket:
    """A socket from which the numbers of arriving signals are read, so that one `select` waits for everything."""
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)
    for number in (*_STOPPERS, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    return reader


class Cluster:
    """The node processes of one `up`, from their start to their end."""

    def __init__(self, folder: ClusterFolder, members: list[NodeProcess], restart: bool) -> None:
        self._folder = folder
        self._members = members
        self._restart = restart
        self._announced = False
        self._has_lost = False

    def run(self, signals: socket.socket) -> int:
        """Start everybody, report what happens, stop everybody on a signal."""
        for member in self._members:
            member.start()
        while True:
            numbers = self._wait(signals)
            if any(number in _STOPPERS for number in numbers):
                return self._stop()
            if not self._reap():
                return 1 if self._has_lost else 0
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
            self._has_lost |= not self._announced or reason != STOPPED
            if not self._announced and not self._restart:
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
        bootstrap = ",".join(member.ports.address for member in self._members)
        print(f"ready {bootstrap}", flush=True)
        first = self._members[0].ports
        at = "" if first.address == f"{HOST}:{PORT}" else f" --bootstrap {first.address}"
        say(f"Kafka clients connect to {bootstrap}; metrics are at http://{HOST}:{first.metrics}/metrics")
        say(f"data is in {self._folder.path}; stop with ctrl-c or `{self._folder.command('down')}`")
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
        # A node that could not serve yet has nothing to finish: that it ended at once is as clean as it gets.
        ended = [member for member in living if member.is_ready and member not in stubborn]
        failed = [member for member in ended if member.failure() is not None]
        for member in failed:
            complain(f"node {member.folder.number} {member.failure()} while it stopped")
        if self._announced and not stubborn and not failed:
            say("stopped")
        return 1 if stubborn or failed else 0
