"""`penstock up` for scripts: in the background, on ports that are free, in a folder that goes, for other hosts."""

import json
import os
import socket
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from penstock.cli import detaching
from penstock.cli.folder import ClusterFolder
from penstock.cli.plain import DATA_DIR
from tests.cli.running import Shell, run_process, running
from tests.ports import free_base_port

pytestmark = pytest.mark.slow


def facts_of(*options: str | Path) -> dict[str, Any]:
    started = run_process("up", "--detach", "--output", "json", *options)
    assert started.returncode == 0, started.stderr
    found: dict[str, Any] = json.loads(started.stdout)
    return found


def test_a_detached_cluster_serves_until_it_is_taken_down(
    tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / Path(DATA_DIR).name
    started = run_process("up", "--detach", "--port", "0", "--nodes", "2", "--data-dir", folder)
    try:
        assert started.returncode == 0, started.stderr
        ready, bootstrap = started.stdout.split()
        assert (ready, len(bootstrap.split(","))) == ("ready", 2)
        assert "ctrl-c" not in started.stderr
        assert shell("status", "--data-dir", folder).code == 0
        assert shell("topic", "create", "orders", "--bootstrap", bootstrap).code == 0
        assert os.getsid(int((folder / "pid").read_text())) != os.getsid(0)
        elsewhere = shell("topic", "list", "--bootstrap", "127.0.0.1:1")
        assert elsewhere.err.splitlines()[1] == (
            f"  the cluster of {DATA_DIR} listens at {bootstrap}: name it with --bootstrap (or PENSTOCK_BOOTSTRAP)"
        )
        again = run_process("up", "--detach", "--data-dir", folder)
        assert (again.returncode, again.stdout) == (1, "")
        assert "in use" in again.stderr
    finally:
        down = shell("down", "--data-dir", folder)
    assert (down.code, down.err) == (0, "stopped\n")
    assert "stopped" in (folder / "log").read_text()
    assert shell("status", "--data-dir", folder).code == 1
    assert shell("reset", "--data-dir", folder, "--yes").code == 0
    assert not folder.exists()


def test_a_detached_cluster_tells_programs_where_it_is(tmp_path: Path, shell: Shell) -> None:
    folder = tmp_path / "data"
    facts = facts_of("--port", "0", "--data-dir", folder)
    try:
        (node,) = facts["nodes"]
        assert facts["state"] == "ready"
        assert facts["bootstrap"] == node["address"] == f"127.0.0.1:{node['port']}"
        assert node["controller_port"] == node["port"] + 1001
        assert facts["data_dir"] == str(folder)
        assert (facts["pid"], node["pid"]) == (
            int((folder / "pid").read_text()),
            int((folder / "node-1" / "pid").read_text()),
        )
        with urllib.request.urlopen(node["metrics"], timeout=5) as answer:
            assert answer.status == 200
    finally:
        assert shell("down", "--data-dir", folder).code == 0


def test_why_a_detached_cluster_did_not_start_is_said(tmp_path: Path, shell: Shell) -> None:
    folder = tmp_path / "data"
    facts_of("--port", "0", "--data-dir", folder)
    assert shell("down", "--data-dir", folder).code == 0
    (folder / "node-1" / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=7\n")
    failed = run_process("up", "--detach", "--data-dir", folder)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "node 1 did not start" in failed.stderr
    assert "node 7" in failed.stderr


def test_what_is_ephemeral_is_gone_at_the_end(shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    facts = facts_of("--port", "0", "--ephemeral")
    assert os.listdir(tmp_path) == [os.path.basename(facts["data_dir"])]
    assert shell("topic", "create", "orders", "--bootstrap", facts["bootstrap"]).code == 0
    assert shell("down", "--data-dir", facts["data_dir"]).code == 0
    assert os.listdir(tmp_path) == []


def test_a_cluster_that_is_there_is_not_ephemeral(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with running(folder) as up:
        assert up.stop() == 0
    refused = run_process("up", "--ephemeral", "--data-dir", folder)
    assert refused.returncode == 1
    assert (folder / "node-1" / "meta.properties").exists()


def test_an_ephemeral_cluster_in_the_foreground_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with running(folder, "--ephemeral") as up:
        assert folder.exists()
        assert up.stop() == 0
    assert not folder.exists()


def test_nodes_are_reached_where_they_were_told_to_be(tmp_path: Path, shell: Shell) -> None:
    """Clients are told a name, and a later start without a word about it keeps it."""
    folder, name = tmp_path / "data", "localhost"
    facts = facts_of("--port", "0", "--data-dir", folder, "--host", "0.0.0.0", "--advertised-host", name)
    port = facts["nodes"][0]["port"]
    try:
        assert facts["bootstrap"] == f"{name}:{port}"
        info = json.loads(shell("cluster", "info", "-o", "json", "--bootstrap", f"127.0.0.1:{port}").out)
        assert [broker["address"] for broker in info["brokers"]] == [f"{name}:{port}"]
    finally:
        assert shell("down", "--data-dir", folder).code == 0
    with running(folder, port=port) as up:
        assert up.ready_line == f"ready {name}:{port}\n"
        assert shell("status", "--data-dir", folder).code == 0


def test_an_address_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    refused = run_process("up", "--data-dir", tmp_path / "data", "--host", "192.0.2.1", "--port", str(free_base_port()))
    assert refused.returncode == 1
    assert "--host" in refused.stderr
    assert os.listdir(tmp_path) == []


def test_free_ports_are_given_to_one_only() -> None:
    from penstock.cli.choosing_ports import HeldPorts
    from penstock.cli.up import require_free

    port = free_base_port()
    with HeldPorts() as first, HeldPorts() as second:
        assert first.take([port], "127.0.0.1")
        assert not second.take([port], "127.0.0.1")
        # The node itself may have it.
        require_free(port)
        with socket.socket() as node:
            node.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            node.bind(("127.0.0.1", port))
            node.listen()


def test_the_log_of_a_detached_cluster_begins_anew_while_it_runs(tmp_path: Path) -> None:
    folder = ClusterFolder(str(tmp_path))
    daemon = detaching._Daemon(-1)
    log = daemon.log(folder)
    with open(folder.log_path, "ab") as node:
        node.write(b"x" * detaching.LOG_BYTES_MAX)
        node.flush()
        daemon.limit_log()
        assert not (tmp_path / "log.1").exists()
        node.write(b"and more\n")
        node.flush()
        daemon.limit_log()
        assert (tmp_path / "log.1").stat().st_size == detaching.LOG_BYTES_MAX + 9
        node.write(b"a new one\n")
        node.flush()
    assert (tmp_path / "log").read_text() == "a new one\n"
    os.close(log)
