"""Kafka's own classes, asked about settings: one JVM that answers questions until it is closed."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kafka_peer import java_command

PROGRAM = Path(__file__).resolve().parent / "SettingsOracle.java"
STOP_TIMEOUT_S = 30


class Oracle:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, questions: list[tuple[str, ...]]) -> list[list[str]]:
        """The answers in order, each split into its words; a question about keys or descriptions has many lines."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.writelines("\t".join(question) + "\n" for question in [*questions, ("done",)])
        self._process.stdin.flush()
        answers: list[list[str]] = []
        for line in self._process.stdout:
            if line == "done\n":
                return answers
            answers.append(line.removesuffix("\n").split("\t"))
        raise AssertionError("the oracle fell silent; run its program by hand to see why")


@contextmanager
def running_oracle() -> Iterator[Oracle]:
    command = java_command(str(PROGRAM))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as process:
        yield Oracle(process)
        process.communicate(timeout=STOP_TIMEOUT_S)
