"""Bugs planted on purpose: the model must find each of them, or it proves nothing about those that are not planted."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from hypothesis.stateful import run_state_machine_as_test

from penstock.core.base.ports import Steps
from penstock.core.log import flushing, recovery, replay, retention, truncation
from penstock.core.log.directory import LogDirectory
from penstock.core.log.log import Log
from penstock.core.log.offset_index import OffsetIndex
from penstock.core.log.producers import Producers
from penstock.core.log.segment import Segment
from penstock.core.records import checksum
from penstock.core.records.batch import BatchHeader
from penstock.core.records.errors import CorruptBatch
from tests.log import test_recovery
from tests.log.test_log_model import LogModel

Plant = Callable[[pytest.MonkeyPatch], None]

SEARCH_S_MAX = 120
"""A search takes a second or two. What a bug is planted in may hang, and would take the whole run with it."""


class Hangs(BaseException):
    """Nothing that Hypothesis holds for a failure of the example and tries again."""


@contextmanager
def time_limit() -> Iterator[None]:
    def end(*_: Any) -> None:
        raise Hangs

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(SEARCH_S_MAX)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def nothing(*_: Any) -> Steps[None]:
    yield from ()


def index_not_truncated(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OffsetIndex, "truncate", nothing)


def sequence_check_off(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Producers, "check", lambda *_: None)


def checksums_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(checksum, "is_valid", lambda data, at, header: at + header.size <= len(data))


def log_not_synced(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Segment, "sync", nothing)


def names_not_synced(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(flushing, "sync_folder", nothing)


def snapshot_ahead_of_the_log(patch: pytest.MonkeyPatch) -> None:
    newest = replay._newest_snapshot
    patch.setattr(replay, "_newest_snapshot", lambda folder, offsets, _: newest(folder, offsets, 1 << 62))
    patch.setattr(recovery, "_drop_snapshots", nothing)
    patch.setattr(truncation, "_drop_snapshots", nothing)


def written_before_it_is(patch: pytest.MonkeyPatch) -> None:
    waiting = Log._await_write

    def await_write(log: Log, segment: Segment, batch: Any, header: BatchHeader) -> None:
        waiting(log, segment, batch, header)
        log.written_offset = log.end_offset

    patch.setattr(Log, "_await_write", await_write)


def clean_mark_stays(patch: pytest.MonkeyPatch) -> None:
    def take(directory: LogDirectory) -> Steps[None]:
        directory.was_clean = True
        yield from ()

    patch.setattr(LogDirectory, "read_clean_mark", take)


def empty_log_forgets_its_place(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(retention, "anchor", nothing)


def lost_writes_not_cut_off(patch: pytest.MonkeyPatch) -> None:
    def repair(log: Log) -> Steps[None]:
        log.blocked = None
        yield from ()

    patch.setattr(truncation, "repair", repair)


@pytest.mark.slow
def test_power_loss_finds_checksums_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    checksums_ignored(monkeypatch)
    found = 0
    for seed in range(150):
        try:
            test_recovery.test_power_loss_keeps_what_was_synced(seed)
        except (AssertionError, CorruptBatch):
            found += 1
    assert found > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "plant",
    [
        index_not_truncated,
        sequence_check_off,
        log_not_synced,
        names_not_synced,
        snapshot_ahead_of_the_log,
        written_before_it_is,
        clean_mark_stays,
        empty_log_forgets_its_place,
        lost_writes_not_cut_off,
    ],
)
def test_the_model_finds(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with time_limit(), pytest.raises(BaseException) as found:  # noqa: PT011  # the shape of the harm is the bug's own
        run_state_machine_as_test(
            LogModel,
            settings=hypothesis_settings(
                derandomize=True,
                database=None,
                max_examples=1000,
                stateful_step_count=40,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            ),
        )
    if isinstance(found.value, Hangs):
        raise found.value  # With the place where it hangs.
