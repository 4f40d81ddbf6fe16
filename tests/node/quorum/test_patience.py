"""Steps on a full disk stop where they are and go on from there; every other failure is theirs to deal with."""

from __future__ import annotations

import errno
from collections.abc import Sequence

import pytest

from penstock.core.base.ports import File, FileFailure, FileOp, Rename, Size, Steps, Sync, Unlink
from penstock.core.log.durable import SyncFailed, sync_file
from penstock.core.node.quorum.patience import Patient

FULL = FileFailure(errno.ENOSPC, "no space left")
FILE = File("/data/a")


def moving() -> Steps[str]:
    yield Size(FILE)
    yield Rename(FILE, "/data/b")
    yield Unlink(FILE)
    return "moved"


def perform(steps: Steps[str], results: Sequence[object]) -> tuple[list[str], object]:
    """The operations that were asked for, answered in this order, and how it ended."""
    asked: list[str] = []
    left = list(results)
    try:
        op: FileOp = next(steps)
        while True:
            asked.append(type(op).__name__)
            result = left.pop(0) if left else None
            op = steps.throw(result) if isinstance(result, FileFailure) else steps.send(result)
    except StopIteration as stop:
        return asked, stop.value
    except FileFailure as failure:
        return asked, failure


def test_what_found_no_room_is_asked_for_again_and_nothing_before_it() -> None:
    patient = Patient(moving())
    assert perform(patient.go_on(), [7, FULL]) == (["Size", "Rename"], FULL)
    assert perform(patient.go_on(), [FULL]) == (["Rename"], FULL)
    assert perform(patient.go_on(), []) == (["Rename", "Unlink"], "moved")


def test_a_sync_is_never_asked_for_again() -> None:
    asked, outcome = perform(Patient(sync_file(FILE)).go_on(), [FULL])  # type: ignore[arg-type]  # it gives nothing
    assert asked == [Sync.__name__]
    assert isinstance(outcome, SyncFailed)


def looking() -> Steps[str]:
    try:
        yield Rename(FILE, "/data/b")
    except FileFailure:
        return "was not there"
    return "moved"


@pytest.mark.parametrize(("result", "outcome"), [(FileFailure(errno.ENOENT, "/data/a"), "was not there"), (FULL, FULL)])
def test_steps_expect_what_they_expect(result: FileFailure, outcome: object) -> None:
    assert perform(Patient(looking()).go_on(), [result])[1] == outcome
