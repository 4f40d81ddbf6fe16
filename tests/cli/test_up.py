"""The life of a local cluster: `up`, `status`, `down`, `reset`, `node`, and everything that can be in their way."""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.running import TIMEOUT_S, Shell, command, run_process, running, seconds_of_nothing
from tests.ports import free_base_port
from tests.waiting import wait_until

pytestmark = pytest.mark.slow


@contextmanager
def started(*arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """A process that is stopped at the end, whatever happens."""
    process = subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=TIMEOUT_S)


def held_port() -> tuple[socket.socket, int]:
    port = free_base_port()
    return socket.create_server(("127.0.0.1", port)), port


def test_the_whole_story(tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "data"
    with running(folder) as up:
        monkeypatch.setenv("PENSTOCK_BOOTSTRAP", up.bootstrap)
        assert up.ready_line == f"ready {up.bootstrap}\n"
        assert shell("topic", "create", "orders", "--partitions", "2").code == 0
        assert shell("produce", "orders", "--key-separator", ":", stdin=b"a:1\nb:2\nc:3\n").code == 0
        assert sorted(shell("consume", "orders").out.split()) == ["1", "2", "3"]
        assert sorted(shell("consume", "orders", "--group", "billing").out.split()) == ["1", "2", "3"]
        assert json.loads(shell("group", "describe", "billing", "-o", "json").out)["lag"] == 0
        assert shell("status", "--data-dir", folder).code == 0
        assert shell("reset", "--data-dir", folder, "--yes").code == 1
        assert shell("down", "--data-dir", folder).code == 0
        assert up.wait() == 0
    port = up.port
    status = shell("status", "--data-dir", folder, "-o", "json")
    assert status.code == 1
    assert [row["state"] for row in json.loads(status.out)] == ["stopped"]
    with running(folder, port=port) as up:
        assert sorted(shell("consume", "orders").out.split()) == ["1", "2", "3"]
        assert shell("consume", "orders", "--group", "billing").out == ""
        assert up.stop(signal.SIGINT) == 0
    assert shell("reset", "--data-dir", folder).code == 1
    assert folder.exists()
    assert shell("reset", "--data-dir", folder, "--yes").code == 0
    assert not folder.exists()
    gone = shell("topic", "list")
    assert gone.code == 1
    assert f"no broker answers at {up.bootstrap}" in gone.err
    assert "penstock up" in gone.err


def test_files_and_talk(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with running(folder, "--set", "log.retention.hours=5") as up:
        settings = (up.node_folder / "server.properties").read_text()
        assert f"listeners=PLAINTEXT://127.0.0.1:{up.port},CONTROLLER://127.0.0.1:{up.port + 1001}\n" in settings
        assert "log.retention.hours=5\n" in settings
        assert int((folder / "pid").read_text()) == up.process.pid
        assert up.node_pid != up.process.pid
        os.kill(up.node_pid, 0)
        wait_until(lambda: "try: " in up.talk(), what="a command to try is shown")
        talk = up.talk()
        assert str(folder) in talk
        assert f"penstock produce greetings --bootstrap {up.bootstrap}" in talk
        with urllib.request.urlopen(f"http://127.0.0.1:{up.port + 2000}/metrics", timeout=5) as answer:
            assert answer.status == 200
        assert up.stop() == 0
    assert not (folder / "pid").exists()
    assert not (up.node_folder / "pid").exists()


def test_a_second_up_resumes_the_port_and_the_settings(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with running(folder, "--set", "log.retention.hours=5") as up:
        first_port = up.port
    with (folder / "node-1" / "server.properties").open("r+") as file:
        text = file.read()
        file.seek(0)
        file.write("# mine\nlog.segment.bytes=2000000\n" + text)
    with started("up", "--data-dir", folder) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"ready 127.0.0.1:{first_port}\n"
    kept = (folder / "node-1" / "server.properties").read_text()
    assert kept.startswith("# mine\nlog.segment.bytes=2000000\n")
    assert "log.retention.hours=5" in kept


def test_a_busy_port_is_named_within_a_second(tmp_path: Path) -> None:
    listener, port = held_port()
    with listener:
        begin = time.monotonic()
        refused = run_process("up", "--data-dir", tmp_path / "data", "--port", str(port))
        took = time.monotonic() - begin
    assert refused.returncode == 1
    assert f"port {port}" in refused.stderr
    assert f"process {os.getpid()} " in refused.stderr
    assert "--port" in refused.stderr
    assert refused.stdout == ""
    assert took < max(1.0, 3 * seconds_of_nothing())


def test_an_up_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    listener, port = held_port()
    with listener:
        assert run_process("up", "--data-dir", tmp_path / "deep" / "data", "--port", str(port)).returncode == 1
        assert os.listdir(tmp_path) == []
        (tmp_path / "mine").mkdir()
        assert run_process("up", "--data-dir", tmp_path / "mine", "--port", str(port)).returncode == 1
    assert run_process("up", "--data-dir", tmp_path / "new", "--nodes", "0").returncode == 2
    assert run_process("up", "--data-dir", tmp_path / "new", "--set", "log.segment.bytes=many").returncode == 2
    assert os.listdir(tmp_path) == ["mine"]
    assert os.listdir(tmp_path / "mine") == []


def test_the_ports_beside_it_are_checked_too(tmp_path: Path) -> None:
    port = free_base_port()
    with socket.create_server(("127.0.0.1", port + 2000)):
        refused = run_process("up", "--data-dir", tmp_path / "data", "--port", str(port))
    assert f"port {port + 2000}" in refused.stderr
    beyond = run_process("up", "--data-dir", tmp_path / "data", "--port", "65000")
    assert beyond.returncode == 2
    assert "66001" in beyond.stderr


def test_a_folder_has_one_up(tmp_path: Path) -> None:
    with running(tmp_path / "data") as up:
        second = run_process("up", "--data-dir", up.folder, "--port", str(free_base_port()))
        assert second.returncode == 1
        assert str(up.process.pid) in second.stderr
        assert "penstock down" in second.stderr


def test_another_number_of_nodes_is_refused(tmp_path: Path) -> None:
    fresh = run_process("up", "--data-dir", tmp_path / "data", "--nodes", "0")
    assert (fresh.returncode, fresh.stdout) == (2, "")
    assert "--nodes 0" in fresh.stderr
    (tmp_path / "data" / "node-1").mkdir(parents=True)
    existing = run_process("up", "--data-dir", tmp_path / "data", "--nodes", "3")
    assert existing.returncode == 1
    assert "1 node" in existing.stderr


def test_other_peoples_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("do not touch")
    for arguments in (("up",), ("reset", "--yes"), ("down",)):
        refused = run_process(*arguments, "--data-dir", tmp_path)
        assert refused.returncode == 1
        assert "--data-dir" in refused.stderr
    a_file = run_process("up", "--data-dir", tmp_path / "thesis.txt")
    assert a_file.returncode == 1
    assert "not a folder" in a_file.stderr
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_a_folder_with_a_cluster_and_something_else_is_not_reset(tmp_path: Path) -> None:
    (tmp_path / "node-1").mkdir()
    (tmp_path / "thesis.txt").write_text("do not touch")
    assert run_process("reset", "--yes", "--data-dir", tmp_path).returncode == 1
    assert sorted(os.listdir(tmp_path)) == ["node-1", "thesis.txt"]


def test_a_killed_node_is_reported_and_can_be_started_again(tmp_path: Path, shell: Shell) -> None:
    with running(tmp_path / "data") as up:
        assert shell("produce", "t", "--bootstrap", up.bootstrap, stdin=b"kept\n").code == 0
        os.kill(up.node_pid, signal.SIGKILL)
        assert up.process.wait(TIMEOUT_S) == 1
        talk = up.talk()
    assert "node 1 was killed by SIGKILL" in talk
    settings = up.node_folder / "server.properties"
    assert f"penstock node --config {settings}" in talk
    with started("node", "--config", settings) as node:
        wait_until(lambda: shell("status", "--data-dir", up.folder).code == 0, what="the node serves")
        assert up.node_pid == node.pid
        assert shell("consume", "t", "--bootstrap", up.bootstrap).out == "kept\n"
        busy = run_process("up", "--data-dir", up.folder)
        assert busy.returncode == 1
        assert str(node.pid) in busy.stderr
        assert shell("down", "--data-dir", up.folder).code == 0
        assert node.wait(TIMEOUT_S) == 0


def test_one_killed_of_three_has_stopped_and_can_be_started_by_itself(tmp_path: Path, shell: Shell) -> None:
    with running(tmp_path / "data", "--nodes", "3") as up:
        folder = up.folder / "node-2"
        os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
        wait_until(lambda: "node 2 was killed" in up.talk(), what="its end is told")
        status = shell("status", "--data-dir", up.folder, "-o", "json")
        assert [row["state"] for row in json.loads(status.out)] == ["serving", "stopped", "serving"]
        assert "2 of 3 nodes serving" in status.err
        assert f"start node 2 with: penstock node --config {folder / 'server.properties'}" in status.err
        health = ("cluster", "health", "--bootstrap", up.bootstrap)
        told = "3 voters; these do not keep up: voter 2"
        wait_until(lambda: told in shell(*health).out, what="the quorum's loss is told")
        with started("node", "--config", folder / "server.properties"):
            wait_until(lambda: shell("status", "--data-dir", up.folder).code == 0, what="all three serve")


def test_a_killed_node_comes_back_with_restart(tmp_path: Path, shell: Shell) -> None:
    with running(tmp_path / "data", "--restart") as up:
        first = up.node_pid
        assert shell("produce", "t", "--bootstrap", up.bootstrap, stdin=b"kept\n").code == 0
        os.kill(first, signal.SIGKILL)
        pid_file = up.node_folder / "pid"
        wait_until(lambda: pid_file.read_text().strip() not in ("", str(first)), what="another node serves")
        assert shell("consume", "t", "--bootstrap", up.bootstrap).out == "kept\n"
        assert up.stop() == 0


def test_a_setting_that_no_node_would_take_is_refused_and_forgotten(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    refused = run_process("up", "--data-dir", folder, "--set", "log.segment.bytes=many")
    assert refused.returncode == 2
    assert "log.segment.bytes" in refused.stderr
    with running(folder) as up:
        assert up.ready_line


@pytest.mark.parametrize(
    ("setting", "hint"),
    [("listeners=PLAINTEXT://:1", "--port"), ("log.dirs=/x", "--data-dir"), ("node.id=7", "--nodes")],
)
def test_what_up_decides_cannot_be_set_beside_it(tmp_path: Path, setting: str, hint: str) -> None:
    refused = run_process("up", "--data-dir", tmp_path / "data", "--set", setting)
    assert refused.returncode == 2
    assert hint in refused.stderr
    file = tmp_path / "base.properties"
    file.write_text(setting)
    assert hint in run_process("up", "--data-dir", tmp_path / "data", "--config", file).stderr


def test_a_settings_file_for_all_nodes(tmp_path: Path, shell: Shell) -> None:
    base = tmp_path / "base.properties"
    base.write_text("num.partitions=3\nlog.retention.hours=9\n")
    with running(tmp_path / "data", "--config", str(base), "--set", "log.retention.hours=5") as up:
        shell("produce", "t", "--bootstrap", up.bootstrap, stdin=b"x\n")
        described = json.loads(shell("topic", "describe", "t", "--bootstrap", up.bootstrap, "-o", "json").out)
        assert len(described["partitions"]) == 3
        found = json.loads(shell("config", "describe", "--broker", "1", "--bootstrap", up.bootstrap, "-o", "json").out)
        assert {"log.retention.hours": "5"}.items() <= {row["setting"]: row["value"] for row in found}.items()


def test_a_node_needs_a_file_it_can_use(tmp_path: Path) -> None:
    assert run_process("node").returncode == 2
    missing = run_process("node", "--config", tmp_path / "nope.properties")
    assert missing.returncode == 1
    assert "nope.properties" in missing.stderr
    odd = tmp_path / "odd.properties"
    odd.write_text(f"process.roles=broker,controller\nnode.id=1\nlog.dirs={tmp_path}/d\nlog.segment.bytes=many\n")
    refused = run_process("node", "--config", odd)
    assert refused.returncode == 1
    assert "log.segment.bytes" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert run_process("node", "--config", odd, "--set", "nonsense").returncode == 2


def test_a_node_warns_in_one_line_each_and_starts(tmp_path: Path) -> None:
    port = free_base_port()
    file = tmp_path / "server.properties"
    file.write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{port + 1001}\n"
        f"controller.quorum.voters=1@127.0.0.1:{port + 1001}\nlog.dirs={tmp_path}/d\nlog.retention.hourz=5\n"
    )
    with started("node", "--config", file) as node:
        wait_until((tmp_path / "d" / "pid").exists, what="the node serves")
        node.terminate()
        _, talk = node.communicate(timeout=TIMEOUT_S)
    assert node.returncode == 0
    (warning,) = [line for line in talk.splitlines() if "log.retention.hourz" in line]
    assert "log.retention.hours" in warning


def test_a_stale_pid_file_is_not_believed(tmp_path: Path, shell: Shell) -> None:
    folder = tmp_path / "data"
    with running(folder) as up:
        pass
    # A process that was killed leaves its number behind, which may belong to anybody by now.
    (folder / "pid").write_text(f"{os.getpid()}\n")
    (up.node_folder / "pid").write_text(f"{os.getpid()}\n")
    down = shell("down", "--data-dir", folder)
    assert (down.code, down.err) == (0, f"nothing runs in {folder}\n")
    with running(folder) as again:
        assert again.node_pid != os.getpid()


def test_starting_is_quick(tmp_path: Path) -> None:
    """The promise is half a second; a machine that does other things at the same time gets four times as long, or as
    long as it takes for nothing eight times."""
    begin = time.monotonic()
    with running(tmp_path / "data") as up:
        assert up.ready_line
        took = time.monotonic() - begin
    assert took < max(2.0, 8 * seconds_of_nothing())


def test_an_up_that_is_stopped_before_it_serves_stops_its_node(tmp_path: Path, shell: Shell) -> None:
    folder = tmp_path / "data"
    process = subprocess.Popen(command("up", "--data-dir", folder, "--port", str(free_base_port())))
    wait_until((folder / "node-1" / "meta.properties").exists, what="the node is about to start")
    process.terminate()
    assert process.wait(TIMEOUT_S) == 0
    assert shell("down", "--data-dir", folder).err == f"nothing runs in {folder}\n"


def test_an_up_that_is_gone_left_a_node_that_down_finds(tmp_path: Path, shell: Shell) -> None:
    with running(tmp_path / "data") as up:
        up.process.kill()
        up.process.wait(TIMEOUT_S)
    assert shell("down", "--data-dir", up.folder).err == "stopped\n"
    socket.create_server(("127.0.0.1", up.port)).close()
