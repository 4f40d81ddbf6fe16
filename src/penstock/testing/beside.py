"""A node in a child process, which can be killed like any process."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping

from penstock.shell.children import environment
from penstock.testing.faults import INJECT_S_MAX, Fault
from penstock.testing.serving import Ports


class ChildFailed(Exception):
    """The child ended before it was ready; says what it printed."""


class Beside:
    """Starts when it is made; `stop` waits for a clean end, `kill` is SIGKILL."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        # Open for as long as the child lives.
        self._talk = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", "penstock.testing.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._talk,
            env=environment(),
            # Ctrl-c is for the test run, which then stops its nodes.
            start_new_session=True,
        )
        self._tell(dict(settings))

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_ready(self, timeout_s: float) -> Ports:
        words = self._hear(timeout_s)
        # No word at all: the child closed its output, by ending.
        if words[:1] != [b"ready"]:
            talk = self.talk()
            self.kill()
            raise ChildFailed(talk)
        return Ports(int(words[1]), int(words[2]))

    def inject(self, fault: Fault | None) -> None:
        """Add a fault; None: forget all."""
        self._tell(fault)
        if not self._hear(INJECT_S_MAX):
            raise ChildFailed(self.talk())

    def stop(self, timeout_s: float) -> int:
        self._process.terminate()
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise TimeoutError from None
        finally:
            self._close()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._close()

    def talk(self) -> str:
        """What the node has said so far."""
        self._talk.seek(0)
        return self._talk.read().decode(errors="replace").strip()

    def _tell(self, what: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        self._process.stdin.flush()

    def _hear(self, timeout_s: float) -> list[bytes]:
        """The words of the next line; none if the child has ended."""
        output = self._process.stdout
        assert output is not None
        poll = select.poll()
        poll.register(output, select.POLLIN)
        if not poll.poll(timeout_s * 1000):
            raise TimeoutError
        return output.readline().split()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._talk.close()
