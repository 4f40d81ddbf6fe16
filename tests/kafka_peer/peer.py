"""One Apache Kafka node (KRaft, broker and controller in one process) on loopback."""

import base64
import hashlib
import os
import random
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.kafka_peer.tools import Tool, java_command, java_tool

LOOPBACK = "127.0.0.1"
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 20.0
POLL_INTERVAL_S = 0.05

# Below what the system gives to outgoing connections: none of those may sit on a port while its node is down.
_PORTS = range(10_000, 30_000)
_CHANCE = random.Random(os.urandom(8))
_GIVEN: set[int] = set()

SERVER_HEAP = ("-Xms1G", "-Xmx1G")
# For tests: up as soon as possible, speed afterwards does not matter.
QUICK_START_FLAGS = (*SERVER_HEAP, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
# For benchmarks: what Kafka's own start script gives the JVM, with the same heap.
SERVER_FLAGS = (
    *SERVER_HEAP,
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
)


class KafkaPeer:
    """A broker to compare with. Use as a context manager, or `start` and `stop` it by hand.

    Without a folder it lives in a temporary one (in memory where the system has such a place), removed at the end.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        properties: Mapping[str, str] | None = None,
        flags: tuple[str, ...] = QUICK_START_FLAGS,
    ) -> None:
        self._owns_folder = folder is None
        self.folder = folder if folder is not None else temporary_folder()
        self.port, self.controller_port = free_ports(2)
        self._properties = {**self._defaults(), **(properties or {})}
        self._flags = flags
        self._cluster_id = cluster_id(self.folder)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.format()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def bootstrap(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    @property
    def log_dir(self) -> Path:
        """Where the partitions are, each in a folder `topic-N`."""
        return Path(self._properties["log.dirs"])

    @property
    def pid(self) -> int:
        assert self._process is not None, "the peer is not running"
        return self._process.pid

    def join(self, number: int, voters: str, cluster: str, properties: Mapping[str, str]) -> None:
        """Make it one node of a larger cluster, before it is formatted."""
        own = {"node.id": str(number), "controller.quorum.voters": voters}
        self._properties = {**self._properties, **properties, **own}
        self._cluster_id = cluster

    def format(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = (f"{key}={value}\n" for key, value in self._properties.items())
        self._properties_file.write_text("".join(lines))
        done = java_tool(
            Tool.STORAGE, "format", "--ignore-formatted", "-t", self._cluster_id, "-c", self._properties_file
        )
        assert done.returncode == 0, f"Kafka's storage could not be formatted:\n{done.stdout}{done.stderr}"

    def start(self) -> None:
        """Returns when the broker answers; the node must be formatted."""
        self.launch()
        assert self._process is not None
        deadline = time.monotonic() + START_TIMEOUT_S
        while not answers_api_versions(self.port):
            code = self._process.poll()
            assert code is None, f"Kafka ended with {code}:\n{self.output()}"
            assert time.monotonic() < deadline, f"Kafka did not answer in time:\n{self.output()}"
            time.sleep(POLL_INTERVAL_S)

    def launch(self) -> None:
        """Start the process; in a cluster it answers once a majority of its nodes runs."""
        assert self._process is None, "the peer is running"
        command = java_command(Tool.SERVER, self._properties_file, flags=self._flags)
        with self._output_file.open("ab") as output:
            self._process = subprocess.Popen(
                command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def stop(self) -> None:
        """A clean shutdown; one that hangs is cut short."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def close(self) -> None:
        self.stop()
        if self._owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def output(self) -> str:
        """What the broker has printed so far."""
        return self._output_file.read_text(errors="replace") if self._output_file.exists() else ""

    def tool(
        self, tool: Tool, *args: str | Path, input: str | None = None, timeout: float = 60.0
    ) -> subprocess.CompletedProcess[str]:
        """Run one of Kafka's tools against this broker."""
        return java_tool(tool, "--bootstrap-server", self.bootstrap, *args, input=input, timeout=timeout)

    @property
    def _properties_file(self) -> Path:
        return self.folder / "server.properties"

    @property
    def _output_file(self) -> Path:
        return self.folder / "server.out"

    def _defaults(self) -> dict[str, str]:
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{LOOPBACK}:{self.controller_port}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listeners": f"PLAINTEXT://{LOOPBACK}:{self.port},CONTROLLER://{LOOPBACK}:{self.controller_port}",
            "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{self.port}",
            "log.dirs": str(self.folder / "data"),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
        }


def answers_api_versions(port: int, *, timeout_s: float = 1.0) -> bool:
    """The first thing that every client asks; a broker that answers it can serve."""
    api_versions, version, correlation_id, no_client_id = 18, 0, 1, -1
    request = struct.pack(">hhih", api_versions, version, correlation_id, no_client_id)
    try:
        with socket.create_connection((LOOPBACK, port), timeout_s) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            header = connection.recv(10, socket.MSG_WAITALL)
    except OSError:
        return False
    if len(header) < 10:
        return False
    _, answered_id, error_code = struct.unpack(">iih", header)
    return bool(answered_id == correlation_id and error_code == 0)


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now. One process gets each only once, so that two who choose before either binds do
    not meet; each process has its own chance, so that tests beside each other do not either."""
    found: list[int] = []
    while len(found) < count:
        port = _CHANCE.choice(_PORTS)
        if port not in _GIVEN and is_free(port):
            _GIVEN.add(port)
            found.append(port)
    return found


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def temporary_folder() -> Path:
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="penstock-kafka-", dir=memory if memory.is_dir() else None))


def cluster_id(folder: Path) -> str:
    """Kafka wants a UUID in URL-safe base64; one that follows from the folder keeps reruns equal."""
    text = base64.urlsafe_b64encode(hashlib.sha256(str(folder).encode()).digest()[:16]).decode().rstrip("=")
    # An id that began with a dash would be taken for an option.
    return "A" + text[1:]
