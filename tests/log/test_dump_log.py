"""Kafka's own dump tool reads our files: data, both indexes, aborted transactions and producer snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.core.records.control import EndTransaction, build_end_transaction
from tests.kafka_peer.tools import Tool, java_tool
from tests.log.helpers import NOW_MS, Settings, append, batch_of, new_log
from tests.log.memory_files import MemoryFiles, drive

SETTINGS = Settings(segment_bytes=3000, index_interval_bytes=200, cleanup_policy=frozenset({"compact"}))


def dump(paths: list[Path], *options: str) -> str:
    done = java_tool(Tool.DUMP_LOG, "--files", ",".join(map(str, paths)), *options)
    assert done.returncode == 0, done.stderr
    # The tool reports what it does not like and goes on.
    complaints = [
        line for line in done.stdout.splitlines() if line.startswith(("Mismatches", "Found", "Index timestamp"))
    ]
    assert complaints == []
    assert "is not supported" not in done.stdout
    return done.stdout


@pytest.mark.java
@pytest.mark.slow
def test_kafkas_dump_tool_reads_what_we_write(tmp_path: Path) -> None:
    files = MemoryFiles()
    log = new_log(files, SETTINGS)
    for number in range(40):
        append(
            log,
            batch_of(
                b"value-%d" % number, b"more", key=b"key-%d" % (number % 7), timestamp=NOW_MS + number, codec=number % 5
            ),
        )
    append(log, batch_of(b"x", key=b"t", producer_id=9, producer_epoch=1, base_sequence=0, transactional=True))
    append(log, build_end_transaction(EndTransaction(False, 2), 9, 1, NOW_MS))
    log.roll(NOW_MS)
    drive(files, log.clean(NOW_MS, log.segments[2].base_offset))
    for number in range(10):
        append(log, batch_of(b"tail-%d" % number, key=b"tail", producer_id=4, producer_epoch=0, base_sequence=number))
    drive(files, log.close())
    folder = tmp_path / "orders-0"
    folder.mkdir()
    for path in files.paths():
        if path.startswith("/data/orders-0/") and not path.endswith(".deleted"):
            (folder / path.rpartition("/")[2]).write_bytes(files.content(path))
    logs = sorted(folder.glob("*.log"))
    text = dump(logs, "--deep-iteration", "--print-data-log")
    assert "isvalid: false" not in text
    assert "payload: tail-9" in text
    assert "endTxnMarker: ABORT" in text
    indexes = sorted([*folder.glob("*.index"), *folder.glob("*.timeindex")])
    assert len(indexes) == 2 * len(logs)
    assert dump(indexes, "--index-sanity-check").count("passed sanity check") == len(indexes)
    dump(indexes, "--verify-index-only")
    assert "producerId: 9 firstOffset: 80 lastOffset: 81" in dump(sorted(folder.glob("*.txnindex")))
    newest = sorted(folder.glob("*.snapshot"))[-1]
    assert "producerId: 4 producerEpoch: 0" in dump([newest])
