"""A cluster that `penstock up` started, and commands run against it."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import typer
from typer.main import get_command

from penstock.cli.main import main
from tests.ports import free_base_port

HOST = "127.0.0.1"
TIMEOUT_S = 30.0
KEPT = ("--config", "retention.ms=-1")
"""For a topic whose records are years old: retention may come by at any moment."""


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "penstock.cli.main", *map(str, arguments)]


def run_process(*arguments: str | Path, input: str = "") -> subprocess.CompletedProcess[str]:
    """A command as a process of its own."""
    words = command(*arguments)
    return subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, input=input)


def seconds_of_nothing() -> float:
    """How long a command takes that does nothing: the measure for others, on a machine that may do much else."""
    begin = time.monotonic()
    assert run_process("--version").returncode == 0
    return time.monotonic() - begin


def at_a_terminal(*arguments: str | Path, bootstrap: str, columns: int = 80) -> str:
    """What a command prints at a terminal of so many columns."""
    leader, follower = pty.openpty()
    environment = os.environ | {"PENSTOCK_BOOTSTRAP": bootstrap, "COLUMNS": str(columns), "TERM": "dumb"}
    with subprocess.Popen(
        command(*arguments), stdin=subprocess.DEVNULL, stdout=follower, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        os.close(follower)
        with os.fdopen(leader, "rb", buffering=0) as screen:
            seen = b""
            # Where the last writer has gone, Linux says that the terminal has failed.
            with contextlib.suppress(OSError):
                while data := screen.read(4096):
                    seen += data
        process.wait(TIMEOUT_S)
    return seen.decode()


class Up:
    """A running `penstock up`."""

    def __init__(self, folder: Path, *options: str, port: int | None = None) -> None:
        self.folder = folder
        # Each node has ports of its own behind those of the first one.
        nodes = int(options[options.index("--nodes") + 1]) if "--nodes" in options else 1
        self.port = port or free_base_port(nodes)
        self.bootstrap = f"{HOST}:{self.port}"
        self._talk = (folder.parent / f"{folder.name}.talk").open("w+")
        self.process = subprocess.Popen(
            command("up", "--data-dir", folder, "--port", str(self.port), *options),
            stdout=subprocess.PIPE,
            stderr=self._talk,
            text=True,
        )
        assert self.process.stdout is not None
        self.ready_line = self.process.stdout.readline()

    @property
    def node_folder(self) -> Path:
        return self.folder / "node-1"

    @property
    def node_pid(self) -> int:
        return int((self.node_folder / "pid").read_text())

    def talk(self) -> str:
        """What it has said to the person so far."""
        self._talk.flush()
        return Path(self._talk.name).read_text()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to stop; gives the exit code."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        try:
            return self.process.wait(TIMEOUT_S)
        finally:
            self.close()

    def close(self) -> None:
        """Leave nothing behind, whatever the test did."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(TIMEOUT_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._talk.close()


@contextlib.contextmanager
def running(folder: Path, *options: str, port: int | None = None) -> Iterator[Up]:
    up = Up(folder, *options, port=port)
    try:
        assert up.ready_line, up.talk()
        yield up
    finally:
        up.close()


class Result(NamedTuple):
    code: int
    out: str
    err: str


class Shell:
    """Runs commands in this process: what a subprocess would do, without its start."""

    def __init__(self, capture: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self._capture = capture
        self._patch = patch

    def __call__(self, *arguments: str | Path, stdin: bytes = b"") -> Result:
        self._capture.readouterr()
        with self._patch.context() as patch, _pipe(stdin) as source:
            patch.setattr(sys, "stdin", source)
            patch.setattr(typer.main, "get_command", _parser)
            code = main([str(argument) for argument in arguments])
        return Result(code, *self._capture.readouterr())


def _parser(app: typer.Typer) -> object:
    return _parser_of(app, len(app.registered_groups))


@cache
def _parser_of(app: typer.Typer, groups: int) -> object:
    """Typer makes the parser of all commands for each command that is run, which takes longer than most of them. Here
    it is made once, and again when an optional part has added a group of its own."""
    return get_command(app)


@contextlib.contextmanager
def _pipe(data: bytes) -> Iterator[io.TextIOWrapper]:
    """Stdin as a shell gives it: a pipe that somebody writes to and then closes."""
    reader, writer = os.pipe()

    def write() -> None:
        # A command that fails early leaves the rest unread.
        with contextlib.suppress(BrokenPipeError), os.fdopen(writer, "wb") as end:
            end.write(data)

    thread = threading.Thread(target=write)
    thread.start()
    with os.fdopen(reader, "r") as source:
        yield source
    thread.join(TIMEOUT_S)
