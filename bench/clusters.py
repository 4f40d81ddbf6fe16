"""Three nodes of either kind under one face: start, who leads a partition, kill one, what all of them cost."""

import shutil
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from bench.brokers import COMMON_SETTINGS, end, penstock_command, scratch_folder, seconds_to_first_reply
from bench.processes import Usage, usage_of
from tests.kafka_peer import SERVER_FLAGS, KafkaPeer, answers_api_versions, cluster_id
from tests.ports import free_base_port

NODES = 3
START_TIMEOUT_S = 90.0
POLL_S = 0.01
# What a person sets who wants to lose nothing: the same on both sides.
REPLICATED = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "1",
}

# A cluster that balances itself would take partitions away from the node that leads them all for the bench's sake.
UNMOVED = {"auto.balance.enable": "false"}


class NodesOf(Protocol):
    """A cluster whose nodes are numbered from 1."""

    name: str

    def start(self) -> None:
        """Returns when every node answers."""

    def port_of(self, number: int) -> int: ...

    def kill(self, number: int) -> None:
        """As if the power were cut: no good-bye."""

    def revive(self, number: int) -> None: ...

    def usage(self) -> Usage: ...

    def close(self) -> None:
        """Stops it and removes its data."""


class PenstockNodes:
    name = "penstock"

    def __init__(self) -> None:
        self._folder = scratch_folder("penstock-cluster")
        self._port = free_base_port(NODES)
        self._process: subprocess.Popen[bytes] | None = None
        self._revived: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        command = [*penstock_command(), "up", "--nodes", str(NODES), "--port", str(self._port)]
        command += ["--data-dir", str(self._folder / "cluster")]
        for key, value in {**COMMON_SETTINGS, **REPLICATED, **UNMOVED}.items():
            command += ["--set", f"{key}={value}"]
        self._process, _ = seconds_to_first_reply(command, self._port, self._folder)
        for number in range(1, NODES + 1):
            wait_for(self.port_of(number))

    def port_of(self, number: int) -> int:
        return self._port + number - 1

    def pid_of(self, number: int) -> int:
        return int((self.data_dir(number) / "pid").read_text().split()[0])

    def kill(self, number: int) -> None:
        subprocess.run(["kill", "-9", str(self.pid_of(number))], check=True)

    def revive(self, number: int) -> None:
        command = [*penstock_command(), "node", "--config", str(self.data_dir(number) / "server.properties")]
        process, _ = seconds_to_first_reply(command, self.port_of(number), self._folder)
        self._revived.append(process)

    def usage(self) -> Usage:
        assert self._process is not None, "the cluster is not running"
        return total(process.pid for process in (self._process, *self._revived))

    def close(self) -> None:
        for process in (*self._revived, *([self._process] if self._process else [])):
            if process.poll() is None:
                end(process)
        shutil.rmtree(self._folder, ignore_errors=True)

    def data_dir(self, number: int) -> Path:
        return self._folder / "cluster" / f"node-{number}"


class KafkaNodes:
    name = "kafka"

    def __init__(self) -> None:
        self._folder = scratch_folder("kafka-cluster")
        self._peers = [KafkaPeer(self._folder / f"node-{number}", flags=SERVER_FLAGS) for number in range(1, NODES + 1)]
        voters = ",".join(f"{number}@127.0.0.1:{peer.controller_port}" for number, peer in enumerate(self._peers, 1))
        identity = cluster_id(self._folder)
        for number, peer in enumerate(self._peers, 1):
            peer.join(number, voters, identity, {**COMMON_SETTINGS, **REPLICATED})

    def start(self) -> None:
        for peer in self._peers:
            peer.format()
        for peer in self._peers:
            peer.launch()
        for peer in self._peers:
            wait_for(peer.port)

    def port_of(self, number: int) -> int:
        return self._peers[number - 1].port

    def kill(self, number: int) -> None:
        self._peers[number - 1].kill()

    def revive(self, number: int) -> None:
        self._peers[number - 1].start()

    def usage(self) -> Usage:
        return total(peer.pid for peer in self._peers)

    def close(self) -> None:
        for peer in self._peers:
            peer.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


def total(roots: Iterable[int]) -> Usage:
    parts = [usage_of(root) for root in roots]
    return Usage(sum(part.cpu_s for part in parts), sum(part.resident_mb for part in parts))


def wait_for(port: int) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not answers_api_versions(port):
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody answers at port {port}")
        time.sleep(POLL_S)
