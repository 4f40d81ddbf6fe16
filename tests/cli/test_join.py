"""`penstock up --join`: one more node for a cluster that runs, in its folder or elsewhere, and all that it may meet."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from penstock.cli.node_settings import parse_assignments
from tests.cli.running import TIMEOUT_S, Shell, Up, command, run_process, running
from tests.kafka_peer import free_ports
from tests.ports import free_base_port

pytestmark = pytest.mark.slow

ROOMY = ("--set", "penstock.disk.full.ratio=1", "--set", "auto.balance.enable=false")


class Joined:
    """A running `penstock up --join`."""

    def __init__(self, *arguments: str | Path) -> None:
        self.process = subprocess.Popen(
            command("up", "--join", *arguments), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        self.ready_line = self.process.stdout.readline()

    @property
    def address(self) -> str:
        return self.ready_line.split()[1]

    def wait(self) -> int:
        return self.process.wait(TIMEOUT_S)

    def __enter__(self) -> "Joined":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.communicate(timeout=TIMEOUT_S)


def states(shell: Shell, folder: Path) -> list[str]:
    return [row["state"] for row in json.loads(shell("status", "--data-dir", folder, "-o", "json").out)]


def produced(shell: Shell, up: Up, topic: str) -> None:
    assert shell("topic", "create", topic, "--replication-factor", "2", "--bootstrap", up.bootstrap).code == 0
    assert shell("produce", topic, "--bootstrap", up.bootstrap, stdin=b"1\n2\n").code == 0


def test_a_cluster_of_one_grows_and_comes_back_as_a_whole(tmp_path: Path, shell: Shell) -> None:
    here, there, port = tmp_path / "data", tmp_path / "elsewhere", free_base_port(2)
    (other_port,) = free_ports(1)
    with running(here, *ROOMY, "--set", "log.retention.hours=5", port=port) as up:
        with Joined("--data-dir", here) as second:
            assert second.address == f"127.0.0.1:{port + 1}"
            taken = parse_assignments((here / "node-2" / "server.properties").read_text().splitlines()[1:])
            assert taken["log.retention.hours"] == "5"
            assert states(shell, here) == ["serving", "serving"]
            produced(shell, up, "two")
            with Joined(up.bootstrap, "--data-dir", there, "--port", str(other_port), *ROOMY) as third:
                assert third.address == f"127.0.0.1:{other_port}"
                assert (there / "node-3" / "meta.properties").exists()
                # As `cluster decommission` stops it: its `up` has nothing left to look after.
                os.kill(int((there / "node-3" / "pid").read_text()), signal.SIGTERM)
                assert third.wait() == 0
            assert states(shell, there) == ["stopped"]
            assert shell("down", "--data-dir", here).code == 0
            assert second.wait() == 0
        assert up.wait() == 0
    with running(here, port=port) as up:
        assert up.ready_line == f"ready 127.0.0.1:{port},127.0.0.1:{port + 1}\n"
        assert states(shell, here) == ["serving", "serving"]
        assert shell("consume", "two", "--bootstrap", f"127.0.0.1:{port + 1}").out.split() == ["1", "2"]
        # The one elsewhere is known: it takes up its old place.
        with Joined(up.bootstrap, "--data-dir", there) as third:
            assert third.address == f"127.0.0.1:{other_port}"
            assert not (there / "node-4").exists()


def test_two_that_join_at_once_get_a_number_each(tmp_path: Path) -> None:
    folders = (tmp_path / "one", tmp_path / "two")
    with running(tmp_path / "data", *ROOMY) as up:
        joining = [
            subprocess.Popen(
                command("up", "--join", up.bootstrap, "--data-dir", folder, "--port", str(port), *ROOMY),
                stdout=subprocess.PIPE,
                text=True,
            )
            for folder, port in zip(folders, free_ports(2), strict=True)
        ]
        try:
            for process in joining:
                assert process.stdout is not None
                assert process.stdout.readline().startswith("ready ")
        finally:
            for process in joining:
                process.terminate()
                process.communicate(timeout=TIMEOUT_S)
    assert sorted(path.name for folder in folders for path in folder.iterdir()) == ["node-2", "node-3"]


def test_there_must_be_something_to_join(tmp_path: Path) -> None:
    empty = run_process("up", "--join", "--data-dir", tmp_path / "none")
    assert empty.returncode == 1
    assert "penstock up --join HOST:PORT" in empty.stderr
    assert not (tmp_path / "none").exists()
    (port,) = free_ports(1)
    nobody = run_process("up", "--join", f"127.0.0.1:{port}", "--data-dir", tmp_path / "none")
    assert nobody.returncode == 1
    assert f"127.0.0.1:{port}" in nobody.stderr
    both = run_process("up", "--join", "--nodes", "3", "--data-dir", tmp_path / "none")
    assert "give one of them" in both.stderr


def test_a_node_that_is_not_let_in_stops_when_it_is_told_to(tmp_path: Path) -> None:
    """Nobody listens where its controllers should be."""
    port, controller = free_ports(2)
    settings = tmp_path / "server.properties"
    settings.write_text(
        f"process.roles=broker\nnode.id=5\nlisteners=PLAINTEXT://127.0.0.1:{port}\n"
        "controller.listener.names=CONTROLLER\npenstock.disk.full.ratio=1\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:{controller}\nlog.dirs={tmp_path}/data\n"
    )
    assert run_process("storage", "format", "--config", settings).returncode == 0
    process = subprocess.Popen(command("node", "--config", settings), stderr=subprocess.DEVNULL)
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2.0)
    finally:
        process.terminate()
    assert process.wait(5.0) == 0
