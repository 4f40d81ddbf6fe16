"""Operations asked for together, and the sync of a whole folder: no more is promised than one by one."""

from __future__ import annotations

import errno

import pytest

from penstock.core.base.ports import Append, File, FileFailure, MakeDir, Size, Sync, SyncDir, SyncTree, Together
from penstock.sim.disk import DiskProfile
from tests.sim.disk_helpers import ALWAYS_INLINE, ALWAYS_LATER, Bench

SEEDS = range(60)
PROFILES = pytest.mark.parametrize("profile", [ALWAYS_INLINE, ALWAYS_LATER, DiskProfile()])


def prepared(seed: int, profile: DiskProfile = ALWAYS_INLINE) -> Bench:
    bench = Bench(seed, profile)
    bench.do(MakeDir("/data/inner"))
    return bench


@PROFILES
def test_results_come_in_order(profile: DiskProfile) -> None:
    bench = prepared(1, profile)
    known = bench.write("/data/known", b"abc")
    ops = [Size(known), Append(File("/data/new"), b"x"), Sync(File("/data/missing")), Sync(known), Size(File("/no"))]
    size, appended, failed, synced, nothing = bench.do(Together(ops))
    assert (size, appended, synced, nothing) == (3, None, None, None)
    assert isinstance(failed, FileFailure)
    assert failed.errno == errno.ENOENT
    assert bench.do(Together([])) == []


def test_a_crash_may_fall_between_any_two() -> None:
    left = set()
    for seed in SEEDS:
        bench = prepared(seed, ALWAYS_LATER)
        bench.ask(Together([Append(File(f"/data/{number}"), b"x") for number in range(2)]))
        bench.disk.crash()
        left.add((bench.exists("/data/0"), bench.exists("/data/1")))
    assert left == {(False, False), (False, True), (True, False), (True, True)}


@PROFILES
def test_what_is_below_a_synced_folder_survives_power_loss(profile: DiskProfile) -> None:
    for seed in SEEDS:
        bench = prepared(seed, profile)
        bench.do(SyncDir("/"))
        bench.write("/data/outer", b"one")
        bench.write("/data/inner/deep", b"two")
        bench.do(SyncTree("/data"))
        bench.disk.power_loss()
        assert bench.content("/data/outer") == b"one"
        assert bench.content("/data/inner/deep") == b"two"


def test_what_comes_after_the_question_or_lies_elsewhere_may_be_lost() -> None:
    lost = set()
    for seed in SEEDS:
        bench = prepared(seed, ALWAYS_INLINE)
        bench.do(MakeDir("/other"))
        bench.do(SyncDir("/"))
        early, elsewhere = bench.write("/data/early", b"early"), bench.write("/other/file", b"file")
        answers = bench.ask(SyncTree("/data"))
        bench.write("/data/early", b" and late")
        bench.write("/data/inner/new", b"new")
        bench.scheduler.run_while(lambda answers=answers: not answers, 1 << 40)
        bench.disk.power_loss()
        content = bench.content(early.path)
        assert content.startswith(b"early")
        lost |= {"tail"} if content == b"early" else set()
        lost |= {"new"} if not bench.exists("/data/inner/new") else set()
        lost |= {"elsewhere"} if not bench.exists(elsewhere.path) else set()
    assert lost == {"tail", "new", "elsewhere"}


def test_it_fails_as_any_sync_does() -> None:
    bench = prepared(1)
    bench.write("/data/f", b"x")
    bench.disk.volume.syncs_to_fail = 1
    with pytest.raises(FileFailure, match="input/output"):
        bench.do(SyncTree("/data"))
    with pytest.raises(FileFailure, match="no such directory"):
        bench.do(SyncTree("/missing"))
