"""A service that `penstock up` starts beside its nodes, a registry or a console: one more child, once they serve."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from typing import Final, NamedTuple

from penstock.cli.choosing_ports import free_port_after, listen_failure, listener_text
from penstock.cli.node_process import READY_FD_VARIABLE
from penstock.cli.node_settings import joined_address
from penstock.cli.talk import Refused, complain, say

READY_SECONDS_MAX: Final = 30.0
STOP_SECONDS_MAX: Final = 10.0
RESTART_SECONDS: Final = 5.0


class ServiceWish(NamedTuple):
    """Which command it is and what it gives, where it is to listen, and what it needs to get in at a cluster that asks
    who it is."""

    command: str
    gives: str
    port: int
    host: str
    options: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        return f"{'https' if '--tls-cert' in self.options else 'http'}://{joined_address(self.host, self.port)}"


def refuse_busy(port: int, host: str, option: str) -> None:
    """A port that somebody has is named, and another one offered."""
    if listen_failure(port, host) is None:
        return
    free = free_port_after(port, host)
    hint = f"port {free} is free: {option} {free}" if free is not None else f"choose another one with {option}"
    raise Refused(f"port {port} on {host} is busy{listener_text(port)}", hint)


class ServiceProcess:
    """Its process, through all its lives."""

    def __init__(self, wish: ServiceWish) -> None:
        self.url = wish.url
        self.command = wish.command
        self._wish = wish
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0

    def start(self, bootstrap: str, talk: int | None) -> bool:
        """Comes back when it serves, or will not."""
        reader, writer = os.pipe()
        self._started = time.monotonic()
        at = ("-b", bootstrap, "--port", str(self._wish.port), "--host", self._wish.host)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "penstock.cli.main", self.command, *at, *self._wish.options],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr if talk is None else talk,
            stderr=talk,
            env=os.environ | {READY_FD_VARIABLE: str(writer)},
            pass_fds=(writer,),
            start_new_session=True,
        )
        os.close(writer)
        readable, _, _ = select.select([reader], [], [], READY_SECONDS_MAX)
        is_ready = bool(readable) and os.read(reader, 1) != b""
        os.close(reader)
        if is_ready:
            say(f"{self._wish.gives} at {self.url}")
        else:
            complain(
                f"the {self.command} does not serve", f"the nodes go on; start it again with: penstock {self.command}"
            )
        return is_ready

    def look_after(self, bootstrap: str, talk: int | None, restart: bool) -> None:
        """Says that it has died, and starts it again where that is asked for."""
        if self._process is None or self._process.poll() is None:
            return
        self._process = None
        hint = None if restart else f"start it again with: penstock {self.command} -b {bootstrap}"
        complain(f"the {self.command} has ended", hint)
        if restart and time.monotonic() - self._started > RESTART_SECONDS:
            self.start(bootstrap, talk)

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
