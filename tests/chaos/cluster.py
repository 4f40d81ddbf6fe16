"""A cluster of real node processes that can be killed, paused, stopped and started one by one."""

from __future__ import annotations

import base64
import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from confluent_kafka.admin import AdminClient, NewTopic

from tests.chaos.asking import View, views
from tests.chaos.place import Loopback, Place
from tests.chaos.securing import secured
from tests.waiting import wait_until

START_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 40.0
HEAL_SECONDS_MAX = 60.0
REPLICAS = 3
_PENSTOCK: Sequence[str] = (sys.executable, "-m", "penstock.cli.main")

# How soon failures are noticed is as it comes.
SETTINGS = {
    "default.replication.factor": str(REPLICAS),
    "offsets.topic.replication.factor": str(REPLICAS),
    "offsets.topic.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
}


_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    """However the parent ends: a test that takes too long ends without cleaning up."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Node:
    """One node through all the lives of its process."""

    def __init__(self, number: int, place: Place, settings: Mapping[str, str]) -> None:
        self.number = number
        self.host, self.port, self.controller_port = place.address(number)
        self.folder = place.folder(number)
        # Another version of the program may stand here.
        self.program: Sequence[str] = _PENSTOCK
        self._command = place.command(number)
        self.config = place.root / f"node-{number}.properties"
        self._output = place.root / f"node-{number}.out"
        self._process: subprocess.Popen[bytes] | None = None
        self.folder.mkdir(parents=True, exist_ok=True)
        self.config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    def format(self, cluster_id: str) -> None:
        command = [*self.program, "storage", "format", "--config", str(self.config), "--cluster-id", cluster_id]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        """Start the process. It leads a process group of its own and dies with us, so that nothing is left behind."""
        assert self._process is None, f"node {self.number} runs already"
        command = [*self._command, *self.program, "node", "--config", str(self.config)]
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )

    @property
    def pid(self) -> int:
        """On loopback, that of the node itself."""
        assert self._process is not None, f"node {self.number} does not run"
        return self._process.pid

    @property
    def runs(self) -> bool:
        return self._process is not None

    @property
    def serves(self) -> bool:
        """Whether clients are let in; a node that died instead fails the test by its own words."""
        assert self._process is not None, f"node {self.number} was never started"
        code = self._process.poll()
        assert code is None, f"node {self.number} ended with {code}:\n{self.output()}"
        try:
            socket.create_connection((self.host, self.port), 1.0).close()
        except OSError:
            return False
        return True

    def views(self, topic: str) -> list[View]:
        return views(self.host, self.port, topic)

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None, f"node {self.number} does not run"
        os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """What a crash or the out-of-memory killer does."""
        self.signal(signal.SIGKILL)
        self._reap(STOP_SECONDS_MAX)

    def ask_to_stop(self) -> None:
        self.signal(signal.SIGTERM)

    def wait_stopped(self) -> None:
        code = self._reap(STOP_SECONDS_MAX)
        assert code == 0, f"node {self.number} stopped with {code}:\n{self.output()}"

    def discard(self) -> None:
        """Leave nothing behind, whatever state it is in."""
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def output(self) -> str:
        return self._output.read_text(errors="replace")

    def _reap(self, seconds_max: float) -> int:
        assert self._process is not None, f"node {self.number} does not run"
        code = self._process.wait(seconds_max)
        self._process = None
        return code


class ChaosCluster:
    """Nodes 1..n, all of them brokers and voters. Use as a context manager: all processes end with it."""

    def __init__(
        self, place: Place, nodes: int, settings: Mapping[str, str] | None = None, *, is_secure: bool = False
    ) -> None:
        self.place = place
        more = secured(place, nodes) if is_secure else {}
        everybody = range(1, nodes + 1)
        addresses = {number: place.address(number) for number in everybody}
        voters = ",".join(f"{number}@{host}:{port}" for number, (host, _, port) in addresses.items())
        self.nodes = {
            number: Node(
                number,
                place,
                SETTINGS | dict(settings or {}) | _own_settings(number, place, voters) | more.get(number, {}),
            )
            for number in everybody
        }
        self.bootstrap = ",".join(f"{host}:{port}" for host, port, _ in addresses.values())

    def __enter__(self) -> Self:
        try:
            cluster_id = base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=").replace("-", "A")
            for node in self.nodes.values():
                node.format(cluster_id)
            self.start(self.nodes)
        except BaseException:
            self._discard()
            raise
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "socket.timeout.ms": 5000, "log_level": 0})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._discard()

    def start(self, numbers: Iterable[int]) -> None:
        """Start nodes, in this order, and wait until all of them serve."""
        starting = [self.nodes[number] for number in numbers]
        for node in starting:
            node.start()
        for node in starting:
            wait_until(lambda: node.serves, timeout_s=START_SECONDS_MAX, what=f"node {node.number} serves")  # noqa: B023  # Called at once.

    def stop(self, numbers: Iterable[int]) -> None:
        """Stop nodes cleanly, all at once."""
        stopping = [self.nodes[number] for number in numbers]
        for node in stopping:
            node.ask_to_stop()
        for node in stopping:
            node.wait_stopped()

    def admin_of(self, number: int) -> AdminClient:
        """A client that knows of one node at first."""
        node = self.nodes[number]
        return AdminClient({"bootstrap.servers": f"{node.host}:{node.port}", "log_level": 0})

    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> None:
        topic = NewTopic(name, partitions, REPLICAS, config={"min.insync.replicas": "2"} | dict(configs or {}))
        # Nodes that have just been started may have no controller yet.
        self.admin.create_topics([topic], request_timeout=HEAL_SECONDS_MAX)[name].result(HEAL_SECONDS_MAX)
        self.wait_healed(name)

    def leader_of(self, topic: str, partition: int = 0) -> int:
        return int(self.admin.list_topics(topic, 30).topics[topic].partitions[partition].leader)

    def wait_healed(self, topic: str) -> None:
        """Every node says that every partition has a leader and all its replicas in sync."""
        try:
            wait_until(lambda: self._is_healed(topic), timeout_s=HEAL_SECONDS_MAX, what=f"all of {topic} in sync")
        except AssertionError as failure:
            failure.add_note("\n".join(f"node {node.number}: {node.views(topic)}" for node in self.nodes.values()))
            raise

    def _is_healed(self, topic: str) -> bool:
        told = [node.views(topic) for node in self.nodes.values()]
        whole = all(view.leader > 0 and len(view.in_sync) == REPLICAS for view in told[0])
        return bool(told[0]) and whole and all(each == told[0] for each in told)

    def partition_folders(self, topic: str, partition: int) -> list[Path]:
        """The folders of all replicas, wherever they are."""
        found = [node.folder / f"{topic}-{partition}" for node in self.nodes.values()]
        return [folder for folder in found if folder.is_dir()]

    def output(self) -> str:
        return "".join(f"--- node {node.number}\n{node.output()}" for node in self.nodes.values())

    def _discard(self) -> None:
        for node in self.nodes.values():
            node.discard()


def rack_of(number: int) -> str:
    return f"rack-{number}"


def _own_settings(number: int, place: Place, voters: str) -> dict[str, str]:
    host, client, controller = place.address(number)
    return {
        "process.roles": "broker,controller",
        "node.id": str(number),
        "broker.rack": rack_of(number),
        "listeners": f"PLAINTEXT://{host}:{client},CONTROLLER://{host}:{controller}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": voters,
        "log.dirs": str(place.folder(number)),
    }


@contextmanager
def on_loopback(nodes: int, settings: Mapping[str, str] | None = None) -> Iterator[ChaosCluster]:
    """A cluster in a folder of its own that goes with it."""
    with (
        tempfile.TemporaryDirectory(prefix="penstock-chaos-") as folder,
        ChaosCluster(Loopback(Path(folder), nodes), nodes, settings) as cluster,
    ):
        yield cluster
