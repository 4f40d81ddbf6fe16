"""Chunks become logs that begin and end where the partition did, or none at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.backups.logs import LogPlan, NodeLogs, Piece
from penstock.cli.talk import Refused
from penstock.core.base.settings import BrokerSettings
from penstock.core.log.checkpoints import read_offsets
from penstock.core.log.names import CLEAN_MARK_FILE, HIGH_WATERMARKS_FILE
from penstock.core.metadata.image import Image
from penstock.core.records.build import build_batch
from penstock.shell.blocking import run_blocking, run_with_disk
from tests.cli.running import HOST

NOW_MS = 1_700_000_000_000
TOPIC_ID = b"topic" + bytes(11)
SETTINGS = BrokerSettings(
    {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": f"PLAINTEXT://{HOST}:0,CONTROLLER://{HOST}:1",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@{HOST}:1",
    }
)


def batch(offset: int, count: int, epoch: int = 0) -> bytes:
    records = [(b"k", b"v%d" % number, (), NOW_MS) for number in range(count)]
    return bytes(build_batch(records, base_offset=offset, leader_epoch=epoch))


def piece(base_offset: int, end: int, *batches: bytes) -> Piece:
    return Piece(base_offset, end, lambda: b"".join(batches))


def write(root: Path, start: int, end: int, *pieces: Piece) -> None:
    root.mkdir(exist_ok=True)
    plan = LogPlan(TOPIC_ID, start, end, pieces)
    logs = NodeLogs(str(root), Image(), SETTINGS, {("t", 0): plan}, NOW_MS)
    run_with_disk(logs.write)


def segments(root: Path) -> list[str]:
    return [path.stem.lstrip("0") or "0" for path in sorted((root / "t-0").glob("*.log"))]


@pytest.mark.parametrize(
    ("start", "end", "pieces", "expected"),
    [
        (0, 6, [piece(0, 3, batch(0, 3)), piece(3, 6, batch(3, 3))], ["0", "3"]),
        # The start lies within a batch.
        (1, 3, [piece(0, 3, batch(0, 3))], ["0"]),
        # Compaction has left gaps: at the beginning, between two batches and before the cut.
        (0, 90, [piece(0, 42, batch(5, 3), batch(40, 2)), piece(42, 51, batch(50, 1))], ["0", "42", "90"]),
        # Everything was deleted.
        (70, 70, [], ["70"]),
    ],
)
def test_a_log_begins_and_ends_where_it_did(
    tmp_path: Path, start: int, end: int, pieces: list[Piece], expected: list[str]
) -> None:
    root = tmp_path / "node"
    write(root, start, end, *pieces)
    assert segments(root) == expected
    assert (root / CLEAN_MARK_FILE).exists()
    assert run_blocking(read_offsets(str(root / HIGH_WATERMARKS_FILE))) == {("t", 0): end}


def test_what_was_never_written_to_is_left_to_the_node(tmp_path: Path) -> None:
    write(tmp_path / "node", 0, 0)
    assert not (tmp_path / "node" / "t-0").exists()


@pytest.mark.parametrize(
    ("start", "end", "pieces", "said"),
    [
        (0, 2, [piece(0, 2, batch(0, 3))], "holds 0 to 3 and not 0 to 2"),
        (0, 9, [piece(0, 6, batch(0, 3))], "holds 0 to 3 and not 0 to 6"),
        (4, 6, [piece(5, 6, batch(5, 1))], "holds 5 to 6 and not 4 to 6"),
        (0, 6, [piece(0, 3, batch(0, 3)), piece(4, 6, batch(4, 2))], "is damaged at offset 3|holds 0 to 3"),
        (0, 6, [piece(0, 6, batch(0, 3), batch(3, 3)[:-1])], "holds 0 to 3 and not 0 to 6"),
        (0, 6, [piece(0, 6, batch(0, 3), batch(3, 3)[:-1] + b"x")], "is damaged at offset 3|holds 0 to 3"),
    ],
)
def test_a_log_that_is_another_one_is_refused(
    tmp_path: Path, start: int, end: int, pieces: list[Piece], said: str
) -> None:
    with pytest.raises(Refused, match=said):
        write(tmp_path / "node", start, end, *pieces)
