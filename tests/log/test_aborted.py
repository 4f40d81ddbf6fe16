"""Whether transactions were aborted ahead of a reader: a log that has none says so without a look at its segments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.core.log.log import Log
from penstock.core.log.segment import Segment
from penstock.core.records.control import EndTransaction, build_end_transaction
from tests.log.helpers import NOW_MS, SMALL, append, batch_of, fill, new_log, reopen
from tests.log.memory_files import MemoryFiles, drive

MANY = 200


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Segment]:
    """The segments that were looked at."""
    looks: list[Segment] = []
    honest = Segment.has_aborted.fget  # type: ignore[attr-defined]  # it is a property

    def has_aborted(self: Segment) -> bool:
        looks.append(self)
        found: bool = honest(self)
        return found

    monkeypatch.setattr(Segment, "has_aborted", property(has_aborted))
    return looks


def transact(log: Log, producer: int, committed: bool) -> int:
    """Gives the offset of the marker."""
    append(log, batch_of(b"v", producer_id=producer, producer_epoch=0, base_sequence=0, transactional=True))
    return append(log, build_end_transaction(EndTransaction(committed, 0), producer, 0, NOW_MS))


def twin(log: Log, offset: int) -> bool:
    """What is there to be found, the slow way."""
    return bool(drive(log.context.files, log.aborted_transactions(offset, log.end_offset)))  # type: ignore[arg-type]  # in memory


def check(log: Log) -> None:
    for offset in range(log.start_offset, log.end_offset):
        assert log.has_aborted(offset) or not twin(log, offset), offset


def test_a_log_without_any_is_not_searched(looks: list[Segment]) -> None:
    log = new_log(MemoryFiles())
    fill(log, MANY)
    transact(log, 1, committed=True)
    fill(log, MANY)
    assert len(log.segments) > MANY // 10
    assert not any(log.has_aborted(offset) for offset in range(log.end_offset))
    assert looks == []


def test_nor_is_what_lies_behind_the_last_one(looks: list[Segment]) -> None:
    log = new_log(MemoryFiles())
    fill(log, MANY)
    marker = transact(log, 1, committed=False)
    fill(log, MANY)
    assert not any(log.has_aborted(offset) for offset in range(marker + 1, log.end_offset))
    assert looks == []
    assert log.has_aborted(marker)
    assert len(looks) == 1
    assert log.has_aborted(0)


@pytest.mark.parametrize("clean", [True, False])
def test_the_next_process_knows_the_same_by_segments(looks: list[Segment], clean: bool) -> None:
    files = MemoryFiles()
    log = new_log(files)
    fill(log, MANY)
    marker = transact(log, 1, committed=False)
    fill(log, MANY)
    if clean:
        drive(files, log.close())
    again = reopen(files)
    check(again)
    looks.clear()
    holder = next(segment for segment in reversed(again.segments) if segment.base_offset <= marker)
    assert not any(again.has_aborted(offset) for offset in range(holder.end_offset, again.end_offset))
    assert looks == []
    assert again.has_aborted(marker)


def test_what_is_cut_off_is_not_searched_for(looks: list[Segment]) -> None:
    files = MemoryFiles()
    log = new_log(files)
    fill(log, 20)
    marker = transact(log, 1, committed=False)
    drive(files, log.truncate_to(marker))
    assert not log.has_aborted(marker - 1)
    fill(log, MANY)
    looks.clear()
    assert not any(log.has_aborted(offset) for offset in range(marker, log.end_offset))
    assert looks == []
    drive(files, log.restart_at(5, NOW_MS))
    fill(log, MANY)
    assert not log.has_aborted(6)
    assert looks == []


def test_compaction_may_leave_less_than_is_known_and_never_more() -> None:
    files = MemoryFiles()
    log = new_log(files, replace(SMALL, cleanup_policy=frozenset({"compact"}), delete_retention_ms=0))
    for number in range(MANY):
        append(log, batch_of(b"v" * 100, key=b"%d" % (number % 7)))
        if number % 40 == 0:
            transact(log, number, committed=False)
    check(log)
    assert drive(files, log.clean(NOW_MS, log.written_offset)) is not None
    check(log)
