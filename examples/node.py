"""A node in a process of its own, as `penstock up` starts it: on a free port, with its data in a given folder."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

READY_S_MAX = 20
DERIVED_PORTS = (1001, 2000)
"""The controller's and the metrics' port, counted from the node's."""


class Node:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> float:
        """Start and wait for the `ready` line; gives the seconds that took."""
        begun = time.perf_counter()
        command = [sys.executable, "-m", "penstock.cli.main", "up"]
        options = ["--port", str(self.port), "--data-dir", str(self.folder)]
        talk = self.folder.with_name("node.log").open("a+")
        self._process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=talk, text=True)
        assert self._process.stdout is not None
        if not self._process.stdout.readline().startswith("ready"):
            talk.seek(0)
            raise SystemExit(f"the node did not start: {talk.read()}")
        talk.close()
        return time.perf_counter() - begun

    def kill(self) -> None:
        """kill -9: no goodbye, no flush."""
        os.kill(int((self.folder / "node-1" / "pid").read_text()), signal.SIGKILL)
        self._wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._wait()

    def _wait(self) -> None:
        assert self._process is not None
        self._process.wait(READY_S_MAX)


def free_port() -> int:
    """A port that is free, as those that `penstock up` derives from it; below those that the system hands out."""
    chance = random.SystemRandom()
    while True:
        port = chance.randrange(20_000, 29_000)
        if all(is_free(port + offset) for offset in (0, *DERIVED_PORTS)):
            return port


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
