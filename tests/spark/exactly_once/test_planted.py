"""What the crash matrix is worth: each hole that the protocol closes, opened again, is seen under Spark as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.testing import Broker
from tests.spark.exactly_once.copying import Copy, copying
from tests.spark.exactly_once.planted import BUGS
from tests.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.soak]

ROWS = 2_000
ASLEEP_S_MAX = 120
BATCHES_MANY = 6


def driver_dies_behind_the_record(copy: Copy) -> None:
    copy.die([("record", "driver")])


def driver_dies_before_the_ends(copy: Copy) -> None:
    copy.die([("before end", "driver")])


def commit_dies_behind_the_record(copy: Copy) -> None:
    """Spark calls such a batch failed, and aborts it."""
    copy.die([("before end", "itself")])
    copy.check_what_is_recorded()


def there_are_many_batches(copy: Copy) -> None:
    copy.plan([], BATCHES_MANY)
    assert copy.run() == 1
    copy.check()


def executor_dies_with_all_written(copy: Copy) -> None:
    copy.die([("flushed", "executor")])


def older_driver_goes_on(copy: Copy) -> None:
    """Its tasks fall asleep, the query is started again and goes on to another batch, they wake up."""
    tasks = [("init", "asleep")] * 2
    copy.plan(tasks, 2)
    with copy.started() as older:
        wait_until(lambda: copy.done() == tasks, timeout_s=ASLEEP_S_MAX, what="two tasks that sleep")
        assert copy.run() == 1
        copy.wake()
        older.wait(ASLEEP_S_MAX)
    # What its tasks have written is there until somebody begins a batch.
    copy.plan([], 1)
    assert copy.run() == 1
    copy.check()


SCENES = {
    "record after EndTxn": driver_dies_behind_the_record,
    "recorded ids ignored": driver_dies_before_the_ends,
    "abort behind the commit point": commit_dies_behind_the_record,
    "ids per batch": there_are_many_batches,
    "orphan left open": executor_dies_with_all_written,
    "older driver not fenced": older_driver_goes_on,
}
SEEN = {
    "record after EndTxn": "0 rows are missing, [1-9]",
    "recorded ids ignored": "[1-9]\\d* rows are missing",
    "abort behind the commit point": "on record and not committed",
    "ids per batch": "too many transactional ids",
    "orphan left open": "left open",
    "older driver not fenced": "0 rows are missing, [1-9]",
}
"""What it is found by."""


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str, tmp_path: Path) -> None:
    with copying(Broker(beside=True), tmp_path, ROWS, bug=bug) as copy, pytest.raises(AssertionError, match=SEEN[bug]):
        SCENES[bug](copy)


def test_without_a_bug_nothing_is_found(tmp_path: Path) -> None:
    with copying(Broker(beside=True), tmp_path, ROWS) as copy:
        for scene in SCENES.values():
            scene(copy)
