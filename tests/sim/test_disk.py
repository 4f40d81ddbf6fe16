"""The disk keeps what its port promises, and loses everything else sooner or later."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TypeVar

import pytest

from penstock.core.base.ports import (
    Append,
    Entry,
    File,
    FileFailure,
    FileOp,
    FreeSpace,
    Job,
    JobFiles,
    ListDir,
    MakeDir,
    Read,
    RemoveDir,
    Rename,
    RenameDir,
    RunJob,
    Size,
    Slice,
    Sync,
    SyncDir,
    Truncate,
    Unlink,
)
from penstock.sim.disk import DiskProfile
from penstock.sim.scheduler import SECOND
from penstock.sim.volume import NAME_BYTES
from tests.sim.disk_helpers import ALWAYS_INLINE, ALWAYS_LATER, Bench

T = TypeVar("T")
SEEDS = range(60)
PROFILES = pytest.mark.parametrize("profile", [ALWAYS_INLINE, ALWAYS_LATER, DiskProfile()])


def noting(order: list[T], value: T) -> Callable[[object], None]:
    """A `done` that notes which operation it belongs to."""
    return lambda _: order.append(value)


def outcomes(scene: Callable[[Bench], object], profile: DiskProfile = ALWAYS_INLINE) -> set[object]:
    """Everything that a scene can end in, over many seeds."""
    return {scene(Bench(seed, profile)) for seed in SEEDS}


@PROFILES
def test_files_can_be_written_read_cut_moved_and_removed(profile: DiskProfile) -> None:
    bench = Bench(profile=profile)
    bench.do(MakeDir("/data/topic-0"))
    file = bench.write("/data/topic-0/a.log", b"hello")
    bench.do(Append(file, b" world"))
    assert bench.do(Size(file)) == 11
    assert bench.do(Read(file, 6, 100)) == b"world"
    bench.do(Truncate(file, 5))
    assert bench.do(Read(file, 0, 100)) == b"hello"
    bench.do(Rename(file, "/data/topic-0/b.log"))
    assert file.path == "/data/topic-0/b.log"
    assert bench.do(ListDir("/data/topic-0")) == [Entry("b.log", 5, False)]
    bench.do(RenameDir("/data/topic-0", "/data/topic-0.gone"))
    assert bench.do(ListDir("/data")) == [Entry("topic-0.gone", 0, True)]
    bench.do(Unlink(File("/data/topic-0.gone/b.log")))
    bench.do(RemoveDir("/data/topic-0.gone"))
    assert bench.do(ListDir("/data")) == []


@PROFILES
def test_missing_files_fail_or_are_fine_as_the_port_says(profile: DiskProfile) -> None:
    bench = Bench(profile=profile)
    missing = File("/nowhere")
    assert bench.do(Size(missing)) is None
    bench.do(Unlink(missing))
    bench.do(RemoveDir("/nowhere"))
    for op in (Read(missing, 0, 1), Truncate(missing, 0), Sync(missing), ListDir("/nowhere")):
        with pytest.raises(FileFailure) as caught:
            bench.do(op)
        assert caught.value.errno == errno.ENOENT


def test_a_directory_that_holds_something_is_not_removed() -> None:
    bench = Bench()
    bench.do(MakeDir("/d"))
    bench.write("/d/f", b"x")
    with pytest.raises(FileFailure) as caught:
        bench.do(RemoveDir("/d"))
    assert caught.value.errno == errno.ENOTEMPTY


def test_appends_of_one_file_stay_in_order_and_the_buffer_may_be_reused() -> None:
    for seed in SEEDS:
        bench, file, buffer = Bench(seed, DiskProfile(inline=0.3)), File("/f"), bytearray(1)
        order: list[int] = []
        for value in range(20):
            buffer[0] = value
            if bench.disk.append(file, [buffer], noting(order, value)):
                order.append(value)
        bench.scheduler.run_until(SECOND)
        assert order == list(range(20))
        assert bench.content("/f") == bytes(range(20))


def test_operations_of_different_files_overtake_each_other() -> None:
    def first_done(bench: Bench) -> object:
        order: list[str] = []
        for name in ("/a", "/b"):
            bench.disk.append(File(name), [b"x"], noting(order, name))
        bench.scheduler.run_until(SECOND)
        return order[0]

    assert outcomes(first_done, ALWAYS_LATER) == {"/a", "/b"}


def test_a_crash_loses_or_keeps_an_append_on_its_way_or_tears_it() -> None:
    def scene(bench: Bench) -> object:
        bench.write("/f", b"....")
        answers: list[object] = []
        bench.disk.append(File("/f"), [b"12345678"], answers.append)
        bench.disk.crash()
        bench.scheduler.run_until(SECOND)
        assert answers == []
        return bench.content("/f")

    seen = outcomes(scene, ALWAYS_LATER)
    assert {b"....", b"....12345678"} < seen
    assert all(b"....12345678".startswith(content) for content in seen if isinstance(content, bytes))


def test_after_a_crash_no_later_append_of_the_file_is_there_without_the_earlier() -> None:
    def scene(bench: Bench) -> object:
        for data in (b"aa", b"bb", b"cc"):
            bench.disk.append(File("/f"), [data], lambda _: None)
        bench.disk.crash()
        return bench.content("/f") if bench.exists("/f") else b""

    assert all(b"aabbcc".startswith(content) for content in outcomes(scene, ALWAYS_LATER))  # type: ignore[arg-type]


def test_what_was_synced_survives_power_loss_and_the_rest_may_vanish_stay_or_tear() -> None:
    safe, unsafe = b"s" * 700, b"u" * 2000

    def scene(bench: Bench) -> object:
        file = bench.write("/f", safe)
        bench.do(Sync(file))
        bench.do(SyncDir("/"))
        bench.do(Append(file, unsafe))
        bench.disk.power_loss()
        return bench.content("/f")

    seen = outcomes(scene)
    assert all(content.startswith(safe) for content in seen)  # type: ignore[attr-defined]
    assert {safe, safe + unsafe} < seen
    assert any(b"\0" in content for content in seen)  # type: ignore[operator]  # A later sector without an earlier one.


def test_a_sync_covers_only_what_was_written_when_it_was_asked_for() -> None:
    def scene(bench: Bench) -> object:
        file = bench.write("/f", b"early")
        bench.do(SyncDir("/"))
        answers = bench.ask(Sync(file))
        bench.do(Append(file, b"late"))
        bench.scheduler.run_while(lambda: not answers, SECOND)
        bench.disk.power_loss()
        return bench.content("/f")

    assert outcomes(scene) >= {b"early", b"earlylate"}


def test_an_older_sync_that_ends_later_does_not_undo_a_newer_one() -> None:
    for seed in SEEDS:
        bench = Bench(seed)
        file = bench.write("/f", b"one")
        older = bench.ask(Sync(file))
        bench.do(Append(file, b"two"))
        newer = bench.ask(Sync(file))
        bench.scheduler.run_until(SECOND)
        assert older == newer == [None]
        assert bench.disk.volume.platter.file("/f").synced == b"onetwo"


def test_a_synced_file_without_a_synced_name_may_vanish() -> None:
    def scene(bench: Bench) -> object:
        bench.do(Sync(bench.write("/f", b"x")))
        bench.disk.power_loss()
        return bench.exists("/f")

    assert outcomes(scene) == {True, False}


def test_a_rename_is_atomic_and_not_durable_before_its_directory_is_synced() -> None:
    def scene(bench: Bench) -> object:
        bench.do(Sync(bench.write("/f", b"old")))
        bench.do(Sync(bench.write("/f.tmp", b"new")))
        bench.do(SyncDir("/"))
        bench.do(Rename(File("/f.tmp"), "/f"))
        bench.disk.power_loss()
        return bench.content("/f"), bench.exists("/f.tmp")

    assert outcomes(scene) == {(b"old", True), (b"new", False)}


def test_a_rename_may_be_durable_before_the_bytes_it_publishes() -> None:
    def scene(bench: Bench) -> object:
        bench.do(Rename(bench.write("/f.tmp", b"new"), "/f"))
        bench.do(SyncDir("/"))
        bench.disk.power_loss()
        return bench.content("/f")

    assert outcomes(scene) >= {b"", b"new"}


def test_an_unlinked_file_may_come_back_until_its_directory_is_synced() -> None:
    def scene(bench: Bench, sync: bool) -> object:
        file = bench.write("/f", b"x")
        bench.do(Sync(file))
        bench.do(SyncDir("/"))
        bench.do(Unlink(file))
        if sync:
            bench.do(SyncDir("/"))
        bench.disk.power_loss()
        return bench.exists("/f")

    assert outcomes(lambda bench: scene(bench, sync=False)) == {True, False}
    assert outcomes(lambda bench: scene(bench, sync=True)) == {False}


def test_a_file_never_ends_up_under_two_names() -> None:
    for seed in SEEDS:
        bench = Bench(seed)
        file = bench.write("/a", b"x")
        bench.do(Sync(file))
        bench.do(SyncDir("/"))
        for path in ("/b", "/c", "/d"):
            bench.do(Rename(file, path))
        bench.disk.power_loss()
        assert len(bench.do(ListDir("/"))) == 1


def test_a_directory_without_a_durable_name_takes_its_files_with_it() -> None:
    def scene(bench: Bench) -> object:
        bench.do(MakeDir("/d"))
        bench.do(Sync(bench.write("/d/f", b"x")))
        bench.do(SyncDir("/d"))
        bench.disk.power_loss()
        return bench.exists("/d/f")

    assert outcomes(scene) == {True, False}


def test_a_full_disk_takes_a_part_and_serves_again_when_space_comes_back() -> None:
    def scene(bench: Bench) -> object:
        file = bench.write("/f", b"before")
        bench.disk.volume.free_bytes = 3
        with pytest.raises(FileFailure) as caught:
            bench.do(Append(file, b"12345"))
        assert caught.value.errno == errno.ENOSPC
        assert bench.do(FreeSpace("/"))[0] <= 3
        left = bench.content("/f")
        bench.disk.volume.free_bytes = None
        bench.do(Append(file, b"after"))
        assert bench.content("/f") == left + b"after"
        return left

    assert outcomes(scene) == {b"before", b"before1", b"before12", b"before123"}


def test_truncating_and_unlinking_give_space_back() -> None:
    bench = Bench()
    first, second = bench.write("/a", b"x" * 100), bench.write("/b", b"y" * 50)
    bench.disk.volume.free_bytes = 0
    bench.do(Truncate(first, 40))
    bench.do(Unlink(second))
    assert bench.do(FreeSpace("/"))[0] == 110


def test_a_failed_sync_makes_nothing_safe() -> None:
    bench = Bench()
    file = bench.write("/f", b"x")
    bench.disk.volume.syncs_to_fail = 1
    with pytest.raises(FileFailure) as caught:
        bench.do(Sync(file))
    assert caught.value.errno == errno.EIO
    assert bench.disk.volume.platter.file("/f").synced == b""


def test_a_slow_disk_is_counted() -> None:
    bench = Bench()
    file = bench.write("/f", b"x")
    bench.disk.slow = True
    for _ in range(20):
        bench.do(Sync(file))
    assert bench.trace.counts["slow-sync"] > 0


def test_a_pinned_slice_stays_readable_when_its_file_is_unlinked() -> None:
    bench = Bench()
    file = bench.write("/f", b"0123456789")
    piece = Slice(file, 2, 4)
    bench.disk.pin(piece)
    bench.do(Unlink(file))
    assert bench.disk.read_slice(piece) == b"2345"
    assert file.pins == 0


def test_a_flipped_bit_stays_flipped_after_power_loss() -> None:
    bench = Bench()
    bench.do(Sync(bench.write("/f", b"\0" * 64)))
    bench.do(SyncDir("/"))
    bench.disk.corrupt("/f")
    bench.disk.power_loss()
    assert sum(bench.content("/f")).bit_count() == 1


def copy_job(files: JobFiles, source: str, target: str) -> int:
    """A job as compaction is one: reads, writes another file, syncs, removes the first."""
    size = files.size(source)
    for at in range(0, size, 2):
        files.append(target, files.read(source, at, 2))
    files.sync(target)
    files.unlink(source)
    return size


def test_a_job_runs_against_the_disk_and_gives_its_result_later() -> None:
    bench = Bench()
    bench.write("/a", b"abcdef")
    answers = bench.ask(RunJob(Job(copy_job, ("/a", "/b"))))
    assert answers == []
    bench.scheduler.run_until(SECOND)
    assert answers == [6]
    assert bench.content("/b") == b"abcdef"
    assert not bench.exists("/a")


@pytest.mark.parametrize("make", [Append(File("/new"), b""), MakeDir("/new"), RunJob(Job(copy_job, ("/f", "/new")))])
def test_on_a_full_disk_nothing_new_is_made(make: FileOp) -> None:
    bench = Bench()
    bench.write("/f", b"before")
    bench.disk.volume.free_bytes = NAME_BYTES - 1
    with pytest.raises(FileFailure) as caught:
        bench.do(make)
    assert caught.value.errno == errno.ENOSPC
    assert not bench.exists("/new")
    bench.disk.volume.free_bytes = NAME_BYTES
    bench.do(make)
    assert bench.exists("/new")


def test_a_job_that_meets_a_full_disk_fails_with_it() -> None:
    bench = Bench()
    bench.write("/a", b"abcdef")
    bench.disk.volume.free_bytes = 3
    with pytest.raises(FileFailure):
        bench.do(RunJob(Job(copy_job, ("/a", "/b"))))


def test_a_crash_stops_a_job_anywhere() -> None:
    def scene(bench: Bench) -> object:
        bench.write("/a", b"x" * 200)
        bench.ask(RunJob(Job(copy_job, ("/a", "/b"))))
        bench.disk.crash()
        return len(bench.content("/b")) if bench.exists("/b") else None

    seen = outcomes(scene)
    assert {None, 200} & seen
    assert len(seen) > 5
