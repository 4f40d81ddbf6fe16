"""One node as `up` sees it: a child process, a pipe on which it says that it serves, and how it ended."""

import os
import signal
import subprocess
import sys
import time

from penstock.cli.folder import NodeFolder
from penstock.cli.node_settings import Ports

READY_FD_VARIABLE = "PENSTOCK_READY_FD"
RESTART_SECONDS_MAX = 30.0
# How a node ends that somebody else has asked to stop.
STOPPED = "has stopped"
# A node that served for this long has earned a restart without delay.
STEADY_SECONDS = 60.0


class NodeProcess:
    """A node's process through all its lives."""

    def __init__(self, folder: NodeFolder, ports: Ports) -> None:
        self.folder = folder
        self.ports = ports
        self.is_ready = False
        self.ready_fd: int | None = None
        self.start_at: float | None = None
        # Where the process says what happens; with us, unless somebody else is told.
        self.talk: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._failures = 0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process. It gets no terminal signals: ctrl-c is for `up`, which then stops its nodes in order."""
        reader, writer = os.pipe()
        self.start_at, self.is_ready, self.ready_fd = None, False, reader
        self._started = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "penstock.cli.main", "node", "--config", self.folder.settings_path],
            stdin=subprocess.DEVNULL,
            # A node has no data to print: whatever it says is talk.
            stdout=sys.stderr if self.talk is None else self.talk,
            stderr=self.talk,
            env=os.environ | {READY_FD_VARIABLE: str(writer)},
            pass_fds=(writer,),
            start_new_session=True,
        )
        os.close(writer)

    def take_readiness(self) -> None:
        """Read the pipe: a byte means that the node serves, the pipe's end that it never will."""
        assert self.ready_fd is not None, "a pipe that is read is open"
        self.is_ready = os.read(self.ready_fd, 1) != b""
        os.close(self.ready_fd)
        self.ready_fd = None

    def take_death(self) -> str | None:
        """How the process ended, told once; None while it lives."""
        reason = self.failure(of_any_exit=True)
        if reason is not None:
            self._process = None
        return reason

    def failure(self, of_any_exit: bool = False) -> str | None:
        """How the process failed, or None if it lives or ended well."""
        code = self._process.poll() if self._process is not None else None
        if code is None or (code == 0 and not of_any_exit):
            return None
        if code == 0:
            return STOPPED
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def start_again_hint(self) -> str:
        return f"start it again with: {self.folder.start_command}"

    def restart_later(self, now: float) -> None:
        """Plan the next start: at once after a steady life, with a growing pause after short ones."""
        self._failures = 0 if now - self._started > STEADY_SECONDS else self._failures + 1
        pause = 0.0 if self._failures <= 1 else min(2.0 ** (self._failures - 2), RESTART_SECONDS_MAX)
        self.start_at = now + pause

    def start_if_due(self, now: float) -> None:
        if self.start_at is not None and now >= self.start_at:
            self.start()

    def terminate(self) -> None:
        assert self._process is not None, "a process that is asked to stop has been started"
        self._process.terminate()

    def wait(self, deadline: float) -> bool:
        """Whether the process ended before the deadline."""
        assert self._process is not None, "a process that is waited for has been started"
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        assert self._process is not None, "a process that is killed has been started"
        self._process.kill()
        self._process.wait()
