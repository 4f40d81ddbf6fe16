"""Clients of other languages, two of npm and franz-go: small programs that fail where ours answers in another way."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kafka_peer.libs import CACHE, one_process_at_a_time, program
from tests.registry.world import Rest

# They need npm and Go, which `make test` does not ask for.
pytestmark = [pytest.mark.soak, pytest.mark.client]

HERE = Path(__file__).resolve().parent / "outside"
SECONDS_MAX = 300


def run(*words: str, folder: Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def node_modules() -> Path:
    """What npm installs for `package.json`, kept between runs."""
    home, wanted = CACHE / "registry-npm", (HERE / "package.json").read_bytes()
    home.mkdir(parents=True, exist_ok=True)
    stamp = home / "package.sha256"
    with one_process_at_a_time(home / "lock"):
        if not stamp.exists() or stamp.read_text() != hashlib.sha256(wanted).hexdigest():
            shutil.rmtree(home / "node_modules", ignore_errors=True)
            (home / "package.json").write_bytes(wanted)
            run(program("npm"), "install", "--no-audit", "--no-fund", "--no-package-lock", folder=home)
            stamp.write_text(hashlib.sha256(wanted).hexdigest())
    return home / "node_modules"


def test_clients_of_npm(rest: Rest) -> None:
    environment = os.environ | {"NODE_PATH": str(node_modules())}
    said = run(program("node"), "clients.js", rest.url, folder=HERE, environment=environment)
    assert said.split("\n")[:2] == ["kafkajs ok", "confluent ok"]


def test_franz_go(rest: Rest) -> None:
    built = CACHE / "franz-go" / "registry"
    built.parent.mkdir(parents=True, exist_ok=True)
    with one_process_at_a_time(built.parent / "registry.lock"):
        run(program("go"), "build", "-o", str(built), ".", folder=HERE / "franz")
    run(str(built), rest.url, folder=HERE)
