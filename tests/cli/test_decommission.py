"""A node that was decommissioned stays away, and is counted from its first partition to its last."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

import pytest

from penstock.cli import cluster_progress
from penstock.cli.cluster_progress import Progress, copied_text
from penstock.cli.folder import ClusterFolder
from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.moving import Mover, Moving
from tests.cli.running import Shell, run_process, running
from tests.cli.test_join import ROOMY, Joined
from tests.ports import free_base_port

PLACES = [TopicPartition("t", number) for number in range(4)]


@pytest.mark.slow
def test_a_node_that_was_decommissioned_does_not_come_back(tmp_path: Path, shell: Shell) -> None:
    folder, port = tmp_path / "data", free_base_port(3)
    at = ("--bootstrap", f"127.0.0.1:{port}")
    with running(folder, *ROOMY, port=port) as up, Joined("--data-dir", folder) as second:
        gone = shell("cluster", "decommission", "2", "--data-dir", folder, *at)
        assert gone.code == 0, gone.err
        assert "its folder can be deleted" in gone.err
        assert second.wait() == 0
        rows = json.loads(shell("status", "--data-dir", folder, "-o", "json").out)
        assert [row["state"] for row in rows] == ["serving", "decommissioned"]
        with Joined("--data-dir", folder) as third:
            assert third.address == f"127.0.0.1:{port + 2}"
        assert up.stop() == 0
    with running(folder, port=port) as up:
        assert up.ready_line == f"ready 127.0.0.1:{port},127.0.0.1:{port + 2}\n"
        assert "node 2 was decommissioned, and is not started" in up.talk()
        alone = run_process("node", "--config", folder / "node-2" / "server.properties")
        assert alone.returncode == 1
        assert "node 2 was decommissioned" in alone.stderr


def test_a_cluster_whose_nodes_are_all_gone_is_not_started(tmp_path: Path) -> None:
    node = ClusterFolder(str(tmp_path / "data")).node(1)
    node.write_settings("")
    node.make_former()
    refused = run_process("up", "--data-dir", tmp_path / "data")
    assert refused.returncode == 1
    assert "every node of" in refused.stderr
    assert "reset" in refused.stderr


class Arriving(Mover):
    """Moves of which one ends with each look."""

    def __init__(self) -> None:
        self._looks = 0

    def under_way(self, places: Collection[TopicPartition] | None = None) -> dict[TopicPartition, Moving]:
        self._looks += 1
        left = list(places or ())[self._looks :]
        if not left:
            self._looks = 0
        return {where: Moving((1, 2), (2,), (1,)) for where in left}


def test_progress_counts_all_that_is_to_move(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REPORT_SECONDS", "POLL_SECONDS"):
        monkeypatch.setattr(cluster_progress, name, 0.0)
    monkeypatch.setattr(Progress, "_copied", lambda *_: "")
    monkeypatch.setattr(Progress, "_warn", lambda *_: None)
    progress = Progress(Client("127.0.0.1:1"), dict.fromkeys(PLACES, (2,)))
    for bunch in (PLACES[:2], PLACES[2:]):
        progress.wait(Arriving(), bunch)
    lines = capfd.readouterr().err.splitlines()
    assert lines == [f"{count} of 4 partitions have moved" for count in (1, 3)]


def test_what_has_arrived_stays_counted() -> None:
    coming = dict.fromkeys(PLACES[:3], (2,))
    held = {(1, where): 1024 for where in PLACES[:3]} | {(2, PLACES[0]): 1024, (2, PLACES[1]): 512}
    told = copied_text(held, coming, {PLACES[0]}, {PLACES[1]: (2,)})
    assert told == ": 1.5 KiB of 3.0 KiB are copied"
