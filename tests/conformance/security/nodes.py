"""Nodes as processes of their own, with whatever listeners a test wants, and users that exist from the start."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.kafka_peer import free_ports
from tests.waiting import wait_until

PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
PASSWORD: Final = "al,ice=s secret"
CLUSTER: Final = "pen-stock-of-the-tests"
START_S_MAX: Final = 60
STOP_S_MAX: Final = 30


def plain(user: str, password: str) -> str:
    return f'{PLAIN_MODULE} required username="{user}" password="{password}" user_{user}="{password}";'


def scram(user: str, password: str) -> str:
    return f'{SCRAM_MODULE} required username="{user}" password="{password}";'


class Nodes:
    """One or several, each a broker and a controller."""

    def __init__(self, folder: Path, settings: Mapping[str, str], count: int = 1) -> None:
        """In the settings `@` stands for the port of clients, `%` for that of brokers, `#` for that of controllers."""
        self.folder = folder
        self.count = count
        self._ports = free_ports(3 * count)
        self._settings = settings
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def bootstrap(self) -> str:
        return f"localhost:{self._ports[0]}"

    @property
    def inner_port(self) -> int:
        """That of brokers."""
        return self._ports[1]

    def __enter__(self) -> Self:
        try:
            for number in range(1, self.count + 1):
                self._format(number)
            for number in range(1, self.count + 1):
                self.start(number)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(STOP_S_MAX)
        self._processes.clear()

    def start(self, number: int) -> None:
        self._processes.append(self._launch(number))

    def _launch(self, number: int) -> subprocess.Popen[bytes]:
        with self.log(number).open("ab") as output:
            command = [sys.executable, "-m", "penstock.cli.main", "node", "--config", str(self._file(number))]
            return subprocess.Popen(command, stdout=output, stderr=output, env=environment())

    def log(self, number: int) -> Path:
        return self.folder / f"log-{number}"

    def wait(self, number: int = 1) -> None:
        """Until a node says that it is ready."""

        def is_ready() -> bool:
            assert self._processes[number - 1].poll() is None, self.log(number).read_text()
            return "ready: " in self.log(number).read_text()

        wait_until(is_ready, timeout_s=START_S_MAX, what="the start of a node")

    def _file(self, number: int) -> Path:
        return self.folder / f"server-{number}.properties"

    def change(self, settings: Mapping[str, str]) -> None:
        """Other settings from the next start of each node on."""
        self._settings = settings

    def restart(self, number: int) -> None:
        """Stop it cleanly, and start it with the settings of now."""
        process = self._processes[number - 1]
        process.terminate()
        assert process.wait(STOP_S_MAX) == 0, self.log(number).read_text()
        self.log(number).unlink()
        self._write(number)
        self._processes[number - 1] = self._launch(number)
        self.wait(number)

    def _write(self, number: int) -> None:
        clients, brokers, controllers = self._ports[3 * number - 3 : 3 * number]
        voters = ",".join(f"{each}@localhost:{self._ports[3 * each - 1]}" for each in range(1, self.count + 1))
        given = {
            "node.id": str(number),
            "process.roles": "broker,controller",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": voters,
            "log.dirs": str(self.folder / f"node-{number}"),
            "penstock.disk.full.ratio": "1",
            "group.initial.rebalance.delay.ms": "0",
            "offsets.topic.num.partitions": "2",
            **self._settings,
        }
        places = {"@": clients, "%": brokers, "#": controllers}
        for sign, port in places.items():
            given["listeners"] = given["listeners"].replace(sign, str(port))
        self._file(number).write_text("".join(f"{name}={value}\n" for name, value in given.items()))

    def _format(self, number: int) -> None:
        self._write(number)
        users = [
            f'{mechanism}=[name={user},password="{PASSWORD}"]'
            for user in ("alice", "node")
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
        ]
        options = [part for user in users for part in ("--add-scram", user)]
        command = ["storage", "format", "--config", str(self._file(number)), "--cluster-id", CLUSTER, *options]
        subprocess.run(
            [sys.executable, "-m", "penstock.cli.main", *command], check=True, capture_output=True, env=environment()
        )


def environment() -> dict[str, str]:
    return {**os.environ, "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": ""}
