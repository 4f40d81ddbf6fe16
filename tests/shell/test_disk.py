"""The real disk: inline where it cannot block, in a thread where it can, and every failure as a value."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.core.base import ports
from penstock.core.base.ports import LATER, File, FileFailure, FileOp
from penstock.shell import disk as disk_module
from penstock.shell import whole_sync
from penstock.shell.descriptors import PROCESS_FILES_MAX, files_allowed, raise_files_limit
from penstock.shell.disk import Disk, Reader, WouldBlock

Test = Callable[["Bench"], Awaitable[None]]


class Bench:
    """A disk on a loop, and how to wait for it."""

    def __init__(self, open_files_max: int = 100, reader: Reader | None = None) -> None:
        self.disk = Disk(lambda event: event(), open_files_max, reader or Reader())
        self.disk.starting = False

    async def perform(self, op: FileOp) -> Any:
        """The result, whether it comes at once or later."""
        later: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        result = self.disk.perform(op, later.set_result)
        return await later if result is LATER else result

    def append(self, file: File, data: bytes) -> None:
        assert self.disk.append(file, [data], lambda result: None) is True


def on_a_loop(test: Test, *args: Any) -> None:
    async def main() -> None:
        bench = Bench(*args)
        try:
            await test(bench)
        finally:
            bench.disk.close()

    asyncio.run(main(), debug=True)


def descriptors_open(files: list[File]) -> list[bool]:
    return [file.fd >= 0 for file in files]


# Descriptors


def test_no_more_files_are_open_than_allowed(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        files = [File(str(tmp_path / str(number))) for number in range(5)]
        for file in files:
            bench.append(file, b"x")
        assert descriptors_open(files) == [False, False, True, True, True]
        bench.append(files[0], b"y")
        assert descriptors_open(files) == [True, False, False, True, True]
        assert await bench.perform(ports.Read(files[0], 0, 10)) == b"xy"
        assert await bench.perform(ports.Read(files[1], 0, 10)) == b"x"
        assert sum(descriptors_open(files)) == 3

    on_a_loop(test, 3)


def test_a_pinned_file_stays_open(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        files = [File(str(tmp_path / str(number))) for number in range(4)]
        bench.append(files[0], b"pinned")
        bench.disk.pin(files[0])
        for file in files[1:]:
            bench.append(file, b"x")
        assert descriptors_open(files) == [True, False, False, True]
        bench.disk.unpin(files[0])
        bench.append(files[1], b"x")
        assert descriptors_open(files) == [False, True, False, True]

    on_a_loop(test, 2)


def test_an_unlinked_file_is_readable_while_it_is_pinned(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        file = File(str(tmp_path / "gone"))
        bench.append(file, b"still here")
        bench.disk.pin(file)
        await bench.perform(ports.Unlink(file))
        assert not (tmp_path / "gone").exists()
        assert bench.disk.read_pinned(file, 6, 4, lambda _: None) == b"here"
        descriptor = file.fd
        bench.disk.unpin(file)
        assert file.fd == -1
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
        result = await bench.perform(ports.Read(file, 0, 1))
        assert isinstance(result, FileFailure)
        assert result.errno == errno.ENOENT

    on_a_loop(test)


def test_a_failed_pin_leaves_nothing_pinned(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        file = File(str(tmp_path / "missing"))
        with pytest.raises(FileNotFoundError):
            bench.disk.pin(file)
        assert file.pins == 0

    on_a_loop(test)


# Reading


def written(path: Path, data: bytes) -> int:
    path.write_bytes(data)
    return os.open(path, os.O_RDONLY)


def test_without_the_flag_reads_are_plain(tmp_path: Path) -> None:
    fd = written(tmp_path / "f", b"0123456789")
    try:
        reader = Reader(nowait=0)
        assert reader.read(fd, 3, 4) == b"3456"
        assert reader.read(fd, 8, 10) == b"89"
        assert reader.read(fd, 20, 10) == b""
    finally:
        os.close(fd)


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS])
def test_a_file_system_that_does_not_know_the_flag_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    asked = []

    def preadv(*args: object) -> int:
        asked.append(args)
        raise OSError(code, "what is that flag?")

    monkeypatch.setattr(os, "preadv", preadv)
    fd = written(tmp_path / "f", b"0123456789")
    try:
        reader = Reader(nowait=8)
        assert reader.read(fd, 0, 4) == b"0123"
        assert reader.read(fd, 4, 4) == b"4567"
        assert len(asked) == 1
    finally:
        os.close(fd)


def test_any_other_error_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def preadv(*args: object) -> int:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "preadv", preadv)
    with pytest.raises(OSError, match="broken"):
        Reader(nowait=8).read(0, 0, 4)


def test_a_short_read_before_the_end_means_the_rest_is_cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "preadv", lambda fd, buffers, position, flags: 2)
    fd = written(tmp_path / "f", b"0123456789")
    try:
        with pytest.raises(WouldBlock):
            Reader(nowait=8).read(fd, 0, 5)
        assert len(Reader(nowait=8).read(fd, 8, 5)) == 2
    finally:
        os.close(fd)


class ColdReader(Reader):
    """Nothing is ever in memory."""

    def view(self, fd: int, position: int, length: int) -> bytes:
        raise WouldBlock

    def is_warm(self, fd: int, position: int, length: int) -> bool:
        return False


def test_a_cold_read_goes_to_a_thread_with_its_file_pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readers: list[tuple[threading.Thread, int]] = []
    file = File(str(tmp_path / "cold"))
    pread = os.pread

    def noted(fd: int, length: int, position: int) -> bytes:
        readers.append((threading.current_thread(), file.pins))
        return pread(fd, length, position)

    async def test(bench: Bench) -> None:
        bench.append(file, b"0123456789")
        monkeypatch.setattr(os, "pread", noted)
        assert await bench.perform(ports.Read(file, 2, 3)) == b"234"
        [(thread, pins)] = readers
        assert thread is not threading.main_thread()
        assert pins == 1
        assert file.pins == 0
        bench.disk.pin(file)
        later: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        assert bench.disk.read_pinned(file, 5, 2, later.set_result) is LATER
        assert await later == b"56"
        bench.disk.unpin(file)

    on_a_loop(test, 100, ColdReader())


def test_before_the_node_serves_a_cold_read_just_waits(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        file = File(str(tmp_path / "cold"))
        bench.append(file, b"0123456789")
        bench.disk.starting = True
        assert bench.disk.perform(ports.Read(file, 2, 3), lambda _: None) == b"234"

    on_a_loop(test, 100, ColdReader())


def test_a_node_that_others_wait_for_does_nothing_for_long_while_it_starts(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        file, other = File(str(tmp_path / "cold")), File(str(tmp_path / "other"))
        bench.append(file, b"0123456789")
        bench.disk.starting = True
        folder = ports.SyncDir(str(tmp_path))
        long: list[FileOp] = [ports.Read(file, 2, 3), ports.Sync(file), folder, ports.Unlink(other)]
        for op in long:
            assert bench.disk.perform(op, lambda _: None) is not LATER
        bench.disk.has_company = True
        for op in long:
            later: asyncio.Future[object] = asyncio.get_running_loop().create_future()
            assert bench.disk.perform(op, later.set_result) is LATER
            assert not isinstance(await later, FileFailure)
        assert bench.disk.perform(ports.ListDir(str(tmp_path)), lambda _: None) is not LATER

    on_a_loop(test, 100, ColdReader())


# Writing


def test_a_partial_write_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, bytes(data[:3])))

    async def test(bench: Bench) -> None:
        file = File(str(tmp_path / "f"))
        bench.append(file, b"0123456789")
        await bench.perform(ports.Append(file, b"abcd"))

    on_a_loop(test)
    assert (tmp_path / "f").read_bytes() == b"0123456789abcd"


@pytest.mark.parametrize("count", [2, disk_module.PARTS_MAX, 3 * disk_module.PARTS_MAX])
def test_any_number_of_parts_is_one_append(tmp_path: Path, count: int) -> None:
    """A follower that was away copies thousands of small batches at once."""
    parts = [b"%d " % number for number in range(count)]

    async def test(bench: Bench) -> None:
        assert bench.disk.append(File(str(tmp_path / "f")), parts, lambda result: None) is True

    on_a_loop(test)
    assert (tmp_path / "f").read_bytes() == b"".join(parts)


def test_a_full_disk_is_a_failure_that_comes_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    async def test(bench: Bench) -> None:
        file = File(str(tmp_path / "f"))
        later: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        monkeypatch.setattr(os, "write", full)
        assert bench.disk.append(file, [b"x"], later.set_result) is False
        assert not later.done()
        failure = await later
        monkeypatch.undo()
        assert isinstance(failure, FileFailure)
        assert failure.errno == errno.ENOSPC

    on_a_loop(test)


def test_a_failed_append_is_told_before_the_outcome_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Completions come in order per file, so whoever appends after a failure must not overtake it."""

    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    async def test(bench: Bench) -> None:
        file = File(str(tmp_path / "f"))
        told: list[object] = []
        monkeypatch.setattr(os, "write", full)
        assert bench.disk.append(file, [b"first"], told.append) is False
        assert bench.disk.append(file, [b"second"], told.append) is False
        monkeypatch.undo()
        await bench.perform(ports.Pause())
        assert [type(each) for each in told] == [FileFailure, FileFailure]

    on_a_loop(test)


def test_a_sync_runs_in_a_thread_with_its_file_pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[threading.Thread, int]] = []
    file = File(str(tmp_path / "f"))

    async def test(bench: Bench) -> None:
        bench.append(file, b"x")
        monkeypatch.setattr(os, "fdatasync", lambda fd: seen.append((threading.current_thread(), file.pins)))
        assert await bench.perform(ports.Sync(file)) is None
        [(thread, pins)] = seen
        assert thread is not threading.main_thread()
        assert pins == 1
        assert file.pins == 0

    on_a_loop(test)


def test_a_failed_sync_is_a_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    async def test(bench: Bench) -> None:
        file = File(str(tmp_path / "f"))
        bench.append(file, b"x")
        monkeypatch.setattr(os, "fdatasync", broken)
        result = await bench.perform(ports.Sync(file))
        assert isinstance(result, FileFailure)
        assert result.errno == errno.EIO
        missing = await bench.perform(ports.Sync(File(str(tmp_path / "missing"))))
        assert isinstance(missing, FileFailure)

    on_a_loop(test)


def test_a_system_without_fdatasync_syncs_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.delattr(os, "fdatasync")
    monkeypatch.setattr(os, "fsync", synced.append)

    async def test(bench: Bench) -> None:
        file = File(str(tmp_path / "f"))
        bench.append(file, b"x")
        await bench.perform(ports.Sync(file))
        assert synced == [file.fd]

    on_a_loop(test)


# Names


def test_operations_on_names(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        folder = str(tmp_path / "a" / "b")
        file = File(f"{folder}/f")
        await bench.perform(ports.MakeDir(folder))
        await bench.perform(ports.MakeDir(folder))
        assert await bench.perform(ports.Size(file)) is None
        bench.append(file, b"0123456789")
        assert await bench.perform(ports.Size(file)) == 10
        await bench.perform(ports.Truncate(file, 4))
        bench.append(file, b"x")
        assert await bench.perform(ports.Read(file, 0, 100)) == b"0123x"
        await bench.perform(ports.Rename(file, f"{folder}/g"))
        assert file.path == f"{folder}/g"
        bench.append(file, b"y")
        assert [(each.name, each.size) for each in await bench.perform(ports.ListDir(folder))] == [("g", 6)]
        await bench.perform(ports.SyncDir(folder))
        await bench.perform(ports.RenameDir(folder, str(tmp_path / "c")))
        moved = File(str(tmp_path / "c" / "g"))
        assert await bench.perform(ports.Read(moved, 0, 100)) == b"0123xy"
        await bench.perform(ports.Unlink(moved))
        await bench.perform(ports.Unlink(moved))
        await bench.perform(ports.RemoveDir(str(tmp_path / "c")))
        await bench.perform(ports.RemoveDir(str(tmp_path / "c")))
        free, total = await bench.perform(ports.FreeSpace(str(tmp_path)))
        assert 0 <= free <= total

    on_a_loop(test)


@pytest.mark.parametrize("op", [ports.ListDir("nowhere"), ports.Truncate(File("nowhere"), 0), ports.SyncDir("nowhere")])
def test_what_is_missing_is_a_failure_with_its_number(op: FileOp) -> None:
    async def test(bench: Bench) -> None:
        result = await bench.perform(op)
        assert isinstance(result, FileFailure)
        assert result.errno == errno.ENOENT

    on_a_loop(test)


def test_a_job_runs_in_another_process() -> None:
    async def test(bench: Bench) -> None:
        job = ports.Job(process_of_job, ())
        assert await bench.perform(ports.RunJob(job)) != os.getpid()

    on_a_loop(test)


def process_of_job(files: ports.JobFiles) -> int:
    return os.getpid()


def test_a_job_does_not_bring_back_what_it_wants_to_read(tmp_path: Path) -> None:
    """The file may have been removed between the plan and the job."""

    async def test(bench: Bench) -> None:
        result = await bench.perform(ports.RunJob(ports.Job(first_bytes, (f"{tmp_path}/gone",))))
        assert isinstance(result, FileFailure)
        assert result.errno == errno.ENOENT
        assert list(tmp_path.iterdir()) == []

    on_a_loop(test)


def first_bytes(files: ports.JobFiles, path: str) -> bytes:
    return files.read(path, 0, 10)


def test_the_threads_are_few() -> None:
    assert disk_module.THREADS_MAX <= 8


# Many at once


def test_operations_together_have_their_results_in_order(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        known, fresh, missing = (File(str(tmp_path / name)) for name in ("known", "fresh", "missing"))
        bench.append(known, b"a")
        ops = [
            ports.MakeDir(str(tmp_path / "folder")),
            ports.Append(known, b"b"),
            ports.Size(missing),
            ports.Append(fresh, b"new"),
            ports.Sync(missing),
            ports.Sync(known),
            ports.Unlink(missing),
            ports.Pause(),
            ports.SyncDir(str(tmp_path)),
        ]
        made, appended, size, created, failed, *rest = await bench.perform(ports.Together(ops))
        assert (made, appended, size, created) == (None, None, None, None)
        assert isinstance(failed, FileFailure)
        assert failed.errno == errno.ENOENT
        assert rest == [None] * 4
        assert (tmp_path / "folder").is_dir()
        assert (tmp_path / "known").read_bytes() == b"ab"
        assert (tmp_path / "fresh").read_bytes() == b"new"
        # What was open stays open and is pinned by nobody; what was not has been closed again.
        assert (known.fd >= 0, known.pins, fresh.fd) == (True, 0, -1)
        assert await bench.perform(ports.Together([])) == []

    on_a_loop(test)


def test_while_the_node_starts_operations_together_finish_at_once(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        bench.disk.starting = True
        file = File(str(tmp_path / "f"))
        assert bench.disk.perform(ports.Together([ports.Append(file, b"x"), ports.Size(file)]), print) == [None, 1]

    on_a_loop(test)


@pytest.mark.parametrize("by_one_call", [True, False])
def test_a_whole_folder_is_synced(tmp_path: Path, by_one_call: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not by_one_call:
        monkeypatch.setattr(whole_sync, "_syncfs", lambda: None)
    synced: list[str] = []
    one_by_one = whole_sync.sync_path
    monkeypatch.setattr(whole_sync, "sync_path", lambda path, *how: (synced.append(path), one_by_one(path, *how)))

    async def test(bench: Bench) -> None:
        await bench.perform(ports.MakeDir(str(tmp_path / "folder")))
        bench.append(File(str(tmp_path / "folder" / "f")), b"x")
        assert await bench.perform(ports.SyncTree(str(tmp_path))) is None
        if not by_one_call:
            assert sorted(synced[:-1]) == [str(tmp_path), str(tmp_path / "folder"), str(tmp_path / "folder" / "f")]
            assert synced[-1] == str(tmp_path)
        failed = await bench.perform(ports.SyncTree(str(tmp_path / "missing")))
        assert failed.errno == errno.ENOENT

    on_a_loop(test)


def test_a_sync_of_everything_that_fails_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(bench: Bench) -> None:
        monkeypatch.setattr(whole_sync, "_syncfs", lambda: lambda fd: errno.EIO)
        assert (await bench.perform(ports.SyncTree(str(tmp_path)))).errno == errno.EIO

    on_a_loop(test)


def test_half_of_the_files_a_process_may_open_are_for_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [(4096, 10_000)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, given: limits.append(given))
    assert (files_allowed(16_384), files_allowed(100)) == (2048, 100)
    raise_files_limit()
    assert limits[-1] == (10_000, 10_000)
    assert files_allowed(16_384) == 5000
    raise_files_limit()
    assert len(limits) == 2, "there is nothing more to have"
    limits.append((1024, resource.RLIM_INFINITY))
    raise_files_limit()
    assert limits[-1] == (PROCESS_FILES_MAX, resource.RLIM_INFINITY)


def test_a_limit_that_is_called_endless_and_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS refuses more than `kern.maxfilesperproc`."""
    limits = [(256, resource.RLIM_INFINITY)]

    def set_limit(_: int, wanted: tuple[int, int]) -> None:
        if wanted[0] > 61_440:
            raise ValueError("current limit exceeds maximum limit")
        limits.append(wanted)

    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", set_limit)
    raise_files_limit()
    assert limits[1:] == [(32_768, resource.RLIM_INFINITY)]
