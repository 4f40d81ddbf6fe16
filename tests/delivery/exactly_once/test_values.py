"""The record as it is kept, the ids, and what keeps a task from writing."""

from __future__ import annotations

import json

import pytest

from penstock.core.delivery.exactly_once.driver import Begun, check_repair
from penstock.core.delivery.exactly_once.failures import (
    CheckpointGone,
    CheckpointOld,
    NameTaken,
    OtherRows,
    OtherTasks,
    SinkFailure,
)
from penstock.core.delivery.exactly_once.ids import driver_id, is_task_of, task_id
from penstock.core.delivery.exactly_once.tasks import must_write
from penstock.core.delivery.exactly_once.values import (
    CommitRecord,
    Part,
    Place,
    Producer,
    UnreadableRecord,
    decoded,
    encoded,
)

ONE = Part("0", "q-0-1", Producer(7, 2), 10, 99, Place("t", 3, 41))
TWO = Part("d0.1", "q-d0.1-0", Producer(8, 0), 1, 5, Place("t.dlq", 0, 0), Producer(8, 1))
RECORD = CommitRecord("q", "owner", "/checkpoints/q", 17, 2, (ONE, TWO), (), '{"rows":11}')


def test_a_record_is_read_as_it_was_written() -> None:
    assert decoded(encoded(RECORD)) == RECORD
    assert decoded(encoded(RECORD.replacing(settled=(ONE,), parts=()))).all_parts == (ONE,)


@pytest.mark.parametrize("change", [{"version": 2}, {"parts": [[1]]}, {"parts": None}])
def test_a_record_that_cannot_be_read_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(UnreadableRecord):
        decoded(json.dumps({**json.loads(encoded(RECORD)), **change}).encode())
    with pytest.raises(UnreadableRecord):
        decoded(b"not JSON")


def test_no_two_queries_share_an_id() -> None:
    ids = {task_id(query, task, 0) for query in ("a", "a-1", "a-1-2", "a-d0.1") for task in ("1", "2", "d0.1")}
    assert len(ids) == 12
    assert [query for query in ("a", "a-1") if is_task_of(query, "a-1-2-0")] == ["a-1"]
    assert is_task_of("a", task_id("a", "d0.1", 3))
    assert not is_task_of("a", driver_id("a"))


def test_which_tasks_write() -> None:
    begun = Begun("q", Producer(1, 1), RECORD, frozenset({"0"}))
    assert must_write(Begun("q", Producer(1, 1)), "owner", "", 0, "0")
    assert must_write(begun, "owner", "/checkpoints/q", 18, "5")
    assert must_write(begun, "owner", "/checkpoints/q", 17, "0")
    assert not must_write(begun, "owner", "/checkpoints/q", 17, "d0.1")


@pytest.mark.parametrize(
    ("owner", "checkpoint", "batch", "failure", "words"),
    [
        ("other", "/checkpoints/q", 0, CheckpointGone, "its checkpoint was deleted"),
        ("other", "/checkpoints/r", 0, NameTaken, "choose another queryName"),
        ("owner", "/checkpoints/q", 16, CheckpointOld, "older than what it wrote"),
    ],
)
def test_what_keeps_a_query_from_writing(
    owner: str, checkpoint: str, batch: int, failure: type[SinkFailure], words: str
) -> None:
    with pytest.raises(failure, match=words) as found:
        must_write(Begun("q", Producer(1, 1), RECORD), owner, checkpoint, batch, "0")
    assert "\n" not in str(found.value)


def test_what_is_written_again_must_be_the_same() -> None:
    begun = Begun("q", Producer(1, 1), RECORD, frozenset({"0"}))
    check_repair(begun, RECORD.replacing(parts=(ONE,)))
    with pytest.raises(OtherTasks, match="was written by 2 tasks"):
        check_repair(begun, RECORD.replacing(parts=(ONE,), tasks=3))
    for parts in ((), (TWO,), (Part("0", "q-0-0", Producer(7, 3), 10, 98, ONE.place),)):
        with pytest.raises(OtherRows, match="they are others now"):
            check_repair(begun, RECORD.replacing(parts=parts))
