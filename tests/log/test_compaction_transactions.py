"""Compaction goes on where it has been: what was aborted there decides nothing about what came later."""

from __future__ import annotations

from penstock.core.log.compaction import KEYS_MAX
from penstock.core.log.log import Log
from penstock.core.records.control import EndTransaction, build_end_transaction
from tests.log.helpers import NOW_MS, Settings, append, batch_of, new_log, records_of
from tests.log.memory_files import MemoryFiles, drive

COMPACT = Settings(cleanup_policy=frozenset({"compact"}), delete_retention_ms=1000)


def transact(log: Log, sequence: int, value: bytes, committed: bool) -> None:
    batch = batch_of(value, key=b"k", producer_id=1, producer_epoch=0, base_sequence=sequence, transactional=True)
    append(log, batch)
    append(log, build_end_transaction(EndTransaction(committed, 0), 1, 0, NOW_MS))


def compact(files: MemoryFiles, log: Log) -> None:
    log.roll(NOW_MS)
    assert drive(files, log.clean(NOW_MS, log.end_offset, KEYS_MAX)) is not None


def test_what_a_producer_commits_later_is_not_taken_for_what_it_aborted() -> None:
    files = MemoryFiles()
    log = new_log(files, COMPACT)
    transact(log, 0, b"first", committed=True)
    transact(log, 1, b"aborted", committed=False)
    compact(files, log)
    transact(log, 2, b"second", committed=True)
    compact(files, log)
    assert [each.value for each in records_of(files, log) if each.key == b"k"] == [b"second"]
