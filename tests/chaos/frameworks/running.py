"""Programs in a JVM with Streams and Connect on its class path."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kafka_peer import KAFKA_VERSION, kafka_libs
from tests.kafka_peer.libs import fetched_jars, program

HERE = Path(__file__).resolve().parent
END_SECONDS_MAX = 60.0
FLAGS = ("-Xmx512M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")


class Framework:
    """One program through all the lives of its process. What it says is kept for whoever asks why it failed."""

    def __init__(self, talk: Path, *command: str | Path) -> None:
        self._talk = talk
        self._command = list(map(str, command))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.kill()
        jars = f"{kafka_libs()}/*:{fetched_jars(HERE / 'pom.xml', f'frameworks-{KAFKA_VERSION}')}/*"
        with self._talk.open("ab") as talk:
            self._process = subprocess.Popen(
                [program("java"), *FLAGS, "-cp", jars, *self._command], stdin=subprocess.PIPE, stdout=talk, stderr=talk
            )

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """What a crash or the out-of-memory killer does."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate(timeout=END_SECONDS_MAX)

    def talk(self) -> str:
        return self._talk.read_text(errors="replace")


@contextmanager
def running(talk: Path, *command: str | Path) -> Iterator[Framework]:
    framework = Framework(talk, *command)
    framework.start()
    try:
        yield framework
    finally:
        framework.kill()
