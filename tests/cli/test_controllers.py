"""Controllers and brokers as processes of their own, looked at and changed with Kafka's own tool."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.core.metadata.storage import decode_meta
from tests.cli.running import HOST, TIMEOUT_S, command, run_process
from tests.kafka_peer import Tool, free_ports, java_tool
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow]

FOUNDING = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"


class Machine:
    """A node that is a controller or a broker, in a folder of its own."""

    def __init__(self, folder: Path, number: int, role: str, port: int, servers: str) -> None:
        name = "CONTROLLER" if role == "controller" else "PLAINTEXT"
        self.number = number
        self.address = f"{HOST}:{port}"
        self.data = folder / f"data-{number}"
        self.settings = folder / f"{number}.properties"
        self.settings.write_text(
            f"process.roles={role}\nnode.id={number}\nlisteners={name}://{self.address}\nlog.dirs={self.data}\n"
            f"controller.listener.names=CONTROLLER\ncontroller.quorum.bootstrap.servers={servers}\n"
            "penstock.disk.full.ratio=1\n"
        )
        self._talk = (folder / f"{number}.talk").open("w+")
        self._process: subprocess.Popen[str] | None = None

    @property
    def directory_id(self) -> str:
        return decode_meta((self.data / "meta.properties").read_bytes()).directory_id

    def format(self, cluster_id: str, *options: str) -> None:
        done = run_process("storage", "format", "--config", self.settings, "--cluster-id", cluster_id, *options)
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        self._process = subprocess.Popen(command("node", "--config", self.settings), stderr=self._talk, text=True)
        wait_until((self.data / "pid").exists, timeout_s=TIMEOUT_S, what=f"node {self.number}")

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(TIMEOUT_S)
        self._talk.close()


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[list[Machine]]:
    """Two controllers, of which the first has founded the cluster, and a broker."""
    ports = free_ports(3)
    servers = ",".join(f"{HOST}:{port}" for port in ports[:2])
    roles = ("controller", "controller", "broker")
    made = [Machine(tmp_path, number, roles[number - 1], ports[number - 1], servers) for number in (1, 2, 3)]
    cluster_id = run_process("storage", "random-uuid").stdout.strip()
    try:
        for machine, options in zip(made, (("--standalone",), ("--no-initial-controllers",), ()), strict=True):
            machine.format(cluster_id, *options)
            machine.start()
        yield made
    finally:
        for machine in reversed(made):
            machine.close()


def quorum(*arguments: str | Path) -> str:
    done = java_tool(Tool.METADATA_QUORUM, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_controllers_come_and_go_by_kafkas_tool(machines: list[Machine]) -> None:
    first, second, broker = machines
    added = quorum("--command-config", second.settings, "--bootstrap-controller", first.address, "add-controller")
    assert f"Added controller 2 with directory id {second.directory_id}" in added
    rows = quorum("--bootstrap-controller", second.address, "describe", "--replication").splitlines()[1:]
    standing = {row.split()[0]: row.split()[-1] for row in rows}
    assert standing == {"1": "Leader", "2": "Follower", "3": "Observer"}
    removing = ("remove-controller", "--controller-id", "1", "--controller-directory-id", first.directory_id)
    assert "Removed" in quorum("--bootstrap-server", broker.address, *removing)
    status = quorum("--bootstrap-server", broker.address, "describe", "--status")
    facts = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    assert facts["LeaderId"].strip() == "2"
    assert second.directory_id in facts["CurrentVoters"]
    assert first.directory_id not in facts["CurrentVoters"]
    created = run_process("topic", "create", "t", "--bootstrap", broker.address)
    assert created.returncode == 0, created.stderr


def test_controllers_come_and_go(machines: list[Machine]) -> None:
    _, second, broker = machines
    told = run_cluster("add-voter", "2", second.address, "-o", "json", of=broker)
    assert json.loads(told.stdout) == {"voters": [1, 2]}
    again = run_cluster("add-voter", "2", second.address, of=broker)
    assert (again.returncode, again.stderr.splitlines()[0]) == (1, "penstock: node 2 votes already")
    shown = run_cluster("remove-voter", "1", "-o", "json", of=broker)
    assert json.loads(shown.stdout) == {"would_be_left": [2]}
    removed = run_cluster("remove-voter", "1", "--execute", "-o", "json", of=broker)
    assert json.loads(removed.stdout) == {"voters": [2]}, removed.stderr
    last = run_cluster("remove-voter", "2", "--execute", of=broker)
    assert (last.returncode, last.stderr.splitlines()[0]) == (1, "penstock: node 2 is the only voter")
    nobody = run_cluster("add-voter", "9", second.address, of=broker)
    assert nobody.stderr.splitlines()[0] == "penstock: node 9 does not follow the metadata"
    created = run_process("topic", "create", "t", "--bootstrap", broker.address)
    assert created.returncode == 0, created.stderr


def run_cluster(*words: str, of: Machine) -> subprocess.CompletedProcess[str]:
    return run_process("cluster", *words, "--bootstrap", of.address)


def test_kafka_reads_the_voters_that_a_folder_was_formatted_with(tmp_path: Path) -> None:
    machine = Machine(tmp_path, 7, "controller", 19093, f"{HOST}:19093")
    machine.format(run_process("storage", "random-uuid").stdout.strip())
    done = java_tool(Tool.DUMP_LOG, "--cluster-metadata-decoder", "--files", machine.data / FOUNDING)
    assert done.returncode == 0, done.stderr
    machine.close()
    assert machine.directory_id in done.stdout
    assert '"voterId":7' in done.stdout
    assert '"kRaftVersion":1' in done.stdout
