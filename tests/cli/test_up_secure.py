"""`penstock up --secure`: nobody gets in without a name, and the admin does with what was printed."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.cli.running import Shell, run_process

pytestmark = pytest.mark.slow


def start(folder: Path, *options: str | Path) -> dict[str, Any]:
    started = run_process("up", "--detach", "--output", "json", "--data-dir", folder, *options)
    assert started.returncode == 0, started.stderr
    found: dict[str, Any] = json.loads(started.stdout)
    return found


def properties(path: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in Path(path).read_text().splitlines())


def commands(path: str, *words: str, input: str = "") -> subprocess.CompletedProcess[str]:
    return run_process(*words, "--command-config", path, input=input)


def test_a_secure_cluster_lets_its_admin_in_and_nobody_else(tmp_path: Path, shell: Shell) -> None:
    folder = tmp_path / "data"
    facts = start(folder, "--secure", "--nodes", "3", "--port", "0")
    way_in: str = facts["client_config"]
    try:
        assert shell("status", "--data-dir", folder).code == 0
        assert commands(way_in, "topic", "create", "orders").returncode == 0
        assert commands(way_in, "produce", "orders", input="one\n").returncode == 0
        stranger = run_process("topic", "list", "--bootstrap", facts["bootstrap"], "--timeout", "2")
        assert stranger.returncode == 1
        added = commands(way_in, "user", "add", "alice", "--generate")
        assert added.returncode == 0, added.stderr
        # Alice is let in, and may do nothing: there are no rules for her.
        hers = tmp_path / "alice.properties"
        mine = properties(way_in)
        changed = {**mine, "sasl.username": "alice", "sasl.password": added.stdout.strip()}
        del changed["sasl.jaas.config"]
        hers.write_text("".join(f"{name}={value}\n" for name, value in changed.items()))
        assert "ask whoever runs the cluster" in commands(str(hers), "topic", "create", "hers").stderr
        librdkafka = {
            **{name: mine[name] for name in ("bootstrap.servers", "security.protocol", "sasl.mechanism")},
            **{name: mine[name] for name in ("sasl.username", "sasl.password")},
            "ssl.ca.location": mine["ssl.truststore.location"],
        }
        assert "orders" in AdminClient(librdkafka).list_topics(timeout=10).topics
        secrets = [mine["sasl.password"], (folder / "security" / "node-password").read_text()]
        assert not any(secret in (folder / "log").read_text() for secret in secrets)
        for path in (folder / "security").iterdir():
            assert path.stat().st_mode & 0o077 == 0, path
        assert (folder / "node-1" / "server.properties").stat().st_mode & 0o077 == 0
    finally:
        assert shell("down", "--data-dir", folder).code == 0
    before = (folder / "security" / "node.pem").read_text()
    start(folder)
    try:
        assert (folder / "security" / "node.pem").read_text() != before, "the certificate is made anew"
        assert commands(way_in, "consume", "orders", "--from", "earliest").stdout == "one\n"
        context = ssl.create_default_context(cafile=str(folder / "security" / "ca.pem"))
        assert context.cert_store_stats()["x509_ca"] == 1
    finally:
        assert shell("down", "--data-dir", folder).code == 0


def test_a_folder_stays_what_it_is(tmp_path: Path, shell: Shell) -> None:
    folder = tmp_path / "data"
    start(folder, "--port", "0")
    assert shell("down", "--data-dir", folder).code == 0
    refused = run_process("up", "--secure", "--data-dir", folder)
    assert refused.returncode == 1
    assert "not secure" in refused.stderr
    assert not (folder / "security").exists()
    joining = run_process("up", "--secure", "--join", "--data-dir", tmp_path / "other")
    assert joining.returncode == 1
    assert "--join is for" in joining.stderr


def test_without_cryptography_one_line_says_what_to_install(tmp_path: Path) -> None:
    script = tmp_path / "without.py"
    script.write_text(
        "import sys\n"
        "sys.modules['cryptography'] = None\n"
        "from penstock.cli.main import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    folder = tmp_path / "data"
    words = [sys.executable, str(script), "up", "--secure", "--port", "0", "--data-dir", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr == "penstock: making certificates needs cryptography: pip install 'penstock[security]'\n"
    assert not folder.exists()
