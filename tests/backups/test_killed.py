"""`kill -9` of the tool at any place: a backup, or a restored folder, is whole or is not there, and the next run makes
it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from penstock.cli.backups.manifest import load
from penstock.cli.backups.store import FolderStore
from penstock.cli.backups.verifying import verify
from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.groups import Groups
from penstock.client.metadata import TopicPartition
from tests.backups.contents import commits, raw
from tests.cli.running import Shell, Up, running

pytestmark = [pytest.mark.slow, pytest.mark.client]

SECONDS_MAX = 300
PLACES = [TopicPartition("orders", index) for index in range(2)]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running(tmp_path_factory.mktemp("killed") / "data") as up:
        with Client(up.bootstrap) as client:
            Admin(client).create_topic("orders", 2, 1)
            Groups(client).commit("billing", {PLACES[0]: 3})
        producer = Producer({"bootstrap.servers": up.bootstrap, "log_level": 0})
        for number in range(200):
            producer.produce("orders", b"order %d" % number, partition=number % 2)
        assert producer.flush(60) == 0
        yield up


def killed(step: int, look: Path, *words: str | Path) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "tests.backups.killing", str(step), str(look), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout.splitlines()[-1]), "said": done.stderr}


def test_a_backup_that_was_killed_is_none_and_is_made_again(up: Up, shell: Shell, tmp_path: Path) -> None:
    place = tmp_path / "backups"
    manifest_path = place / "one" / "manifest.json"
    words = ("backup", "create", place, "-b", up.bootstrap, "--name", "one", "-o", "json")
    found = killed(4, manifest_path, *words)
    assert found["kills"] > 5
    # The folder is synced after the manifest has its name: killed between the two, the backup is whole, too.
    assert "there" not in found["seen"][:-1]
    assert found["code"] == 0 or "there is a backup one already" in found["said"], found
    store = FolderStore(str(place))
    verify(store, load(store, "one"))


def test_a_restored_folder_is_whole_or_not_there(up: Up, shell: Shell, tmp_path: Path) -> None:
    place, target = tmp_path / "backups", tmp_path / "restored"
    made = shell("backup", "create", place, "-b", up.bootstrap, "--name", "one")
    assert made.code == 0, made.err
    found = killed(29, target, "backup", "restore", place, "one", "--data-dir", target)
    assert found["kills"] > 5
    assert "there" not in found["seen"][:-1]
    assert found["code"] == 0 or "is not empty" in found["said"], found
    with Client(up.bootstrap) as client:
        before, held = [raw(client, where) for where in PLACES], commits(client)
    with running(target) as restored, Client(restored.bootstrap) as client:
        assert [raw(client, where) for where in PLACES] == before
        assert commits(client) == held
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backups", "restored", "restored.talk"]
