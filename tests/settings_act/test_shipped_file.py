"""Kafka's own server.properties starts a node as it is, with one line of warning; `config check` says why."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.core.base.settings import BROKER_KEYS, Standing, parse_properties
from penstock.core.wire.api.metadata import MetadataRequest
from tests.kafka_peer import free_ports
from tests.settings_act.socket_checks import ask
from tests.waiting import wait_until

SHIPPED = Path(__file__).resolve().parent.parent / "settings" / "shipped_server.properties"
FOLDER = Path("/tmp/kraft-combined-logs")
PORT = 9092
PENSTOCK = (sys.executable, "-m", "penstock.cli.main")
STOP_S_MAX = 30


def is_taken(port: int) -> bool:
    with socket.socket(socket.AF_INET6) as probe:
        probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("::", port))
        except OSError:
            return True
    return False


def elsewhere(folder: Path) -> tuple[int, list[str]]:
    """The same file on a machine where the port or the folder that it names is somebody else's."""
    port, controller = free_ports(2)
    changes = (
        f"controller.quorum.bootstrap.servers=localhost:{controller}",
        f"listeners=PLAINTEXT://:{port},CONTROLLER://:{controller}",
        f"advertised.listeners=PLAINTEXT://localhost:{port},CONTROLLER://localhost:{controller}",
        f"log.dirs={folder}",
    )
    return port, [word for change in changes for word in ("--set", change)]


def start_and_stop(port: int, arguments: list[str]) -> tuple[int, str]:
    """Run a node until it has answered; gives what it answered for its port, and what it said."""
    command = [*PENSTOCK, "node", "--config", str(SHIPPED), *arguments]
    node = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: node.poll() is not None or is_listening(port), timeout_s=30, what="the node's port")
        with socket.create_connection(("localhost", port), timeout=10) as client:
            told: int = ask(client, MetadataRequest(topics=[]), 12).brokers[0].port
        node.send_signal(signal.SIGTERM)
        _, talk = node.communicate(timeout=STOP_S_MAX)
        assert node.returncode == 0, talk
        return told, talk
    finally:
        node.kill()
        node.wait()


def is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.slow
def test_the_file_kafka_ships_starts_a_node(tmp_path: Path) -> None:
    as_it_is = not (FOLDER.exists() or is_taken(PORT))
    port, arguments = (PORT, []) if as_it_is else elsewhere(tmp_path)
    try:
        told, talk = start_and_stop(port, arguments)
    finally:
        if as_it_is:
            shutil.rmtree(FOLDER, ignore_errors=True)
    assert told == port
    levels = [line.split()[1] for line in talk.splitlines()]
    assert levels == ["WARN", "INFO", "INFO"], talk
    warning, _, ready = talk.splitlines()
    assert f"node: ready: PLAINTEXT at [::]:{port}" in ready
    meaningless = [
        name for name in parse_properties(SHIPPED.read_text()) if BROKER_KEYS[name].standing is Standing.NO_MEANING
    ]
    assert f"these settings have no meaning here and change nothing: {', '.join(meaningless)}" in warning


def check(file: Path) -> tuple[int, list[dict[str, str]], str]:
    command = [*PENSTOCK, "config", "check", str(file), "--output", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "NO_COLOR": "1"})
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.mark.slow
def test_config_check_prints_the_class_of_each_setting() -> None:
    code, rows, talk = check(SHIPPED)
    assert (code, talk) == (0, "")
    assert {row["setting"]: row["class"] for row in rows} == {
        name: BROKER_KEYS[name].standing.value for name in parse_properties(SHIPPED.read_text())
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "standing", "remark", "code"),
    [
        ("log.retention.hour=1", "unknown", "did you mean log.retention.hours?", 0),
        ("ssl.provider=BC", "refused", "OpenSSL's are used", 1),
        ("num.io.threads=3", "no meaning", "one event loop", 0),
    ],
)
def test_config_check_names_what_does_not_act(tmp_path: Path, line: str, standing: str, remark: str, code: int) -> None:
    file = tmp_path / "server.properties"
    file.write_text(f"{SHIPPED.read_text()}\n{line}\n")
    found_code, rows, _ = check(file)
    (row,) = [row for row in rows if row["setting"] == line.partition("=")[0]]
    assert (found_code, row["class"]) == (code, standing)
    assert remark in row["remark"]
