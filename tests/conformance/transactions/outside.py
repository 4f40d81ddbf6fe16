"""Libraries of other languages: a small program each, one process that is told what to do, line by line.

A line is words with tabs between them, the first of them what to do and the second to which of its clients. So is the
answer: `ok` and what was read, or `refused` and why.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from tests.conformance.transactions.client import DEADLINE_S, POLL_S, TIMEOUT_MS, Refused
from tests.kafka_peer import java_command
from tests.kafka_peer.libs import CACHE, one_process_at_a_time, program

HERE = Path(__file__).resolve().parent
JAVA_PROGRAM = HERE / "Transactions.java"
GO_MODULE = HERE / "franz"
BUILD_SECONDS_MAX = 300
POLL_MS = str(int(POLL_S * 1000))


class Outside:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._numbers = count(1)
        self._lock = threading.Lock()

    def ask(self, *words: str) -> list[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write("\t".join(words) + "\n")
            self._process.stdin.flush()
            answer, *found = self._process.stdout.readline().removesuffix("\n").split("\t")
        if answer == "refused":
            raise Refused(" ".join(found))
        assert answer == "ok", f"the program fell silent after {words}; run it by hand to see why"
        return found

    def client(self, kind: str, *words: str) -> str:
        name = f"{kind}-{next(self._numbers)}"
        self.ask(kind, name, *words)
        return name

    def writer(self, bootstrap: str, transactional_id: str, timeout_ms: int = TIMEOUT_MS) -> OutsideWriter:
        return OutsideWriter(self, self.client("writer", bootstrap, transactional_id, str(timeout_ms)))

    def reader(self, bootstrap: str, topic: str) -> OutsideReader:
        return OutsideReader(self, self.client("reader", bootstrap, topic))


class OutsideWriter:
    def __init__(self, outside: Outside, name: str) -> None:
        self._outside = outside
        self._name = name

    def begin(self) -> None:
        self._outside.ask("begin", self._name)

    def send(self, topic: str, value: str) -> None:
        self._outside.ask("send", self._name, topic, value)

    def queue(self, topic: str, partition: int, value: str) -> None:
        self._outside.ask("queue", self._name, topic, str(partition), value)

    def add_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        self._outside.ask("offset", self._name, group, topic, str(partition), str(offset))

    def copy(self, source: str, target: str, group: str, count: int) -> None:
        self._outside.ask("copy", self._name, source, target, group, str(count))

    def commit(self) -> None:
        self._outside.ask("commit", self._name)

    def abort(self) -> None:
        self._outside.ask("abort", self._name)

    def close(self) -> None:
        self._outside.ask("close", self._name)


class OutsideReader:
    def __init__(self, outside: Outside, name: str) -> None:
        self._outside = outside
        self._name = name

    def poll(self) -> list[str]:
        return self._outside.ask("poll", self._name, POLL_MS)

    def close(self) -> None:
        self._outside.ask("close", self._name)


@contextmanager
def running_java() -> Iterator[Outside]:
    with _running(java_command(str(JAVA_PROGRAM))) as outside:
        yield outside


@contextmanager
def running_franz_go() -> Iterator[Outside]:
    with _running([str(_franz_go())]) as outside:
        yield outside


@contextmanager
def _running(command: list[str]) -> Iterator[Outside]:
    """Its input ends with us, and it with its input."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
    ) as process:
        yield Outside(process)
        process.communicate(timeout=DEADLINE_S)


def _franz_go() -> Path:
    """Built once; Go looks itself whether anything has changed."""
    home = CACHE / "franz-go"
    home.mkdir(parents=True, exist_ok=True)
    built = home / "transactions"
    with one_process_at_a_time(home / "lock"):
        command = [program("go"), "build", "-o", str(built), "."]
        done = subprocess.run(
            command, cwd=GO_MODULE, capture_output=True, text=True, timeout=BUILD_SECONDS_MAX, check=False
        )
    assert done.returncode == 0, done.stderr
    return built
