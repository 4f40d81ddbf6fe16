"""The disk that seals, on a real folder: what the port promises, with bytes that are others on the disk."""

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.core.base import ports
from penstock.core.base.ports import LATER, File, FileFailure, FileOp, Slice
from penstock.core.sealing.frames import HEAD_BYTES, OVERHEAD_BYTES, PAGE_BYTES
from penstock.shell import sealed_paths
from penstock.shell.disk import Reader, WouldBlock
from penstock.shell.sealed_disk import FRAMES_MAX, SealedDisk
from tests.sealing.kept import seals

Test = Callable[["Bench"], Awaitable[None]]


class Bench:
    """A disk on a loop, and how to wait for it."""

    def __init__(self, open_files_max: int = 100, reader: Reader | None = None) -> None:
        self.given = seals()
        self.disk = SealedDisk(lambda event: event(), open_files_max, reader or Reader(), lambda: self.given)
        self.disk.starting = False

    async def perform(self, op: FileOp) -> Any:
        later: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        result = self.disk.perform(op, later.set_result)
        return await later if result is LATER else result

    async def read(self, file: File, position: int = 0, length: int = 1 << 30) -> Any:
        return await self.perform(ports.Read(file, position, length))

    def append(self, file: File, *parts: bytes) -> None:
        assert self.disk.append(file, parts, lambda result: None) is True


def on_a_loop(test: Test, *args: Any) -> None:
    async def main() -> None:
        bench = Bench(*args)
        try:
            await test(bench)
        finally:
            bench.disk.close()

    asyncio.run(main(), debug=True)


class ColdReader(Reader):
    """Nothing is ever in memory."""

    def view(self, fd: int, position: int, length: int) -> bytes:
        raise WouldBlock


@pytest.mark.parametrize("reader", [None, ColdReader()])
def test_what_is_appended_is_read_and_not_on_the_disk(tmp_path: Path, reader: Reader | None) -> None:
    async def test(bench: Bench) -> None:
        path = tmp_path / "0.log"
        file = File(str(path))
        bench.append(file, b"one ", b"two ")
        assert await bench.perform(ports.Append(file, b"three")) is None
        assert await bench.read(file) == b"one two three"
        assert await bench.read(File(str(path)), 4, 3) == b"two"
        assert await bench.perform(ports.Size(file)) == 13
        assert await bench.perform(ports.Size(File(str(path)))) == 13
        assert await bench.perform(ports.ListDir(str(tmp_path))) == [ports.Entry("0.log", 13, is_dir=False)]
        assert path.stat().st_size == HEAD_BYTES + 2 * OVERHEAD_BYTES + 13
        assert b"two" not in path.read_bytes()

    on_a_loop(test, 100, reader)


def test_indexes_stay_plain(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        file = File(str(tmp_path / "0.index"))
        bench.append(file, b"entry")
        assert (tmp_path / "0.index").read_bytes() == b"entry"
        assert await bench.read(file) == b"entry"
        assert await bench.perform(ports.Size(file)) == 5

    on_a_loop(test)


def test_files_that_are_closed_between_uses_are_known_again(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        files = [File(str(tmp_path / f"{number}.log")) for number in range(5)]
        for each in range(3):
            for file in files:
                bench.append(file, b"%d" % each)
        assert sum(file.fd >= 0 for file in files) == 2
        for file in files:
            assert await bench.read(file) == b"012"
        # Somebody who does not have it open: many at once, in threads.
        together = ports.Together([ports.Append(file, b"3") for file in files])
        assert await bench.perform(together) == [None] * 5
        for file in files:
            bench.append(file, b"4")
            assert await bench.read(file) == b"01234"

    on_a_loop(test, 2)


def test_a_cut_is_a_cut(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        file = File(str(tmp_path / "0.log"))
        bench.append(file, bytes(range(200)))
        bench.append(file, b"second")
        for size in (203, 200, 150, 10, 0):
            assert await bench.perform(ports.Truncate(file, size)) is None
            assert await bench.perform(ports.Size(file)) == size
            bench.append(file, b"x")
            assert await bench.read(file) == (bytes(range(200)) + b"second")[:size] + b"x"
            assert await bench.read(File(file.path)) == (bytes(range(200)) + b"second")[:size] + b"x"
            assert await bench.perform(ports.Truncate(file, size)) is None
        assert (await bench.perform(ports.Truncate(File(str(tmp_path / "1.log")), 0))).errno == errno.ENOENT

    on_a_loop(test)


def test_what_a_torn_append_has_left_goes_with_the_next_one(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        path = tmp_path / "0.log"
        bench.append(File(str(path)), b"whole")
        bench.append(File(str(path)), b"torn")
        os.truncate(path, path.stat().st_size - 3)
        file = File(str(path))
        assert await bench.read(file) == b"whole"
        bench.append(file, b" again")
        assert await bench.read(file) == b"whole again"
        assert await bench.read(File(str(path))) == b"whole again"

    on_a_loop(test)


def test_a_failed_append_is_told_and_the_next_one_finds_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(bench: Bench) -> None:
        file = File(str(tmp_path / "0.log"))
        bench.append(file, b"before")
        failed: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        write = os.writev

        def half(fd: int, parts: list[bytes]) -> int:
            os.write(fd, b"".join(parts)[:20])
            raise OSError(errno.ENOSPC, "full")

        monkeypatch.setattr(sealed_paths.os, "writev", half)
        assert bench.disk.append(file, [b"lost"], failed.set_result) is False
        failure = await failed
        assert isinstance(failure, FileFailure)
        assert failure.lacks_room
        monkeypatch.setattr(sealed_paths.os, "writev", write)
        bench.append(file, b" and after")
        assert await bench.read(file) == b"before and after"

    on_a_loop(test)


@pytest.mark.parametrize("reader", [None, ColdReader()])
def test_what_a_reply_carries_is_opened_here(tmp_path: Path, reader: Reader | None) -> None:
    async def test(bench: Bench) -> None:
        file, plain = File(str(tmp_path / "0.log")), File(str(tmp_path / "1.index"))
        data = os.urandom(3 * PAGE_BYTES)
        bench.append(file, data)
        bench.append(plain, b"plain")
        assert not bench.disk.is_warm(file, 0, 10)
        warm = bench.disk.read_warm(Slice(file, 100, 70_000))
        assert warm == (data[100:70_100] if reader is None else None)
        bench.disk.pin(file)
        bench.disk.pin(plain)
        later: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        found = bench.disk.read_pinned(file, 65_000, 100_000, later.set_result)
        assert (await later if found is LATER else found) == data[65_000:165_000]
        assert bench.disk.is_warm(plain, 0, 5)
        bench.disk.unpin(file)
        await bench.perform(ports.Unlink(file))
        assert (await bench.read(file)).errno == errno.ENOENT

    on_a_loop(test, 100, reader)


def test_small_frames_are_read_a_few_at_a_time_and_count_for_more(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        small, large = File(str(tmp_path / "0.log")), File(str(tmp_path / "1.log"))
        for _ in range(3 * FRAMES_MAX):
            bench.append(small, bytes(100))
        bench.append(large, bytes(300 * FRAMES_MAX))
        bench.disk.pin(small)
        bench.disk.pin(large)
        assert len(bench.disk.read_pinned(small, 0, 1 << 20, print)) <= 100 * FRAMES_MAX  # type: ignore[arg-type]
        assert len(bench.disk.read_pinned(large, 0, 1 << 20, print)) == 300 * FRAMES_MAX  # type: ignore[arg-type]
        assert bench.disk.weight(small) > 20
        assert bench.disk.weight(large) == 1

    on_a_loop(test)


def test_a_file_under_a_key_that_is_missing_fails_alone(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        file = File(str(tmp_path / "0.log"))
        bench.append(file, b"sealed")
        bench.given = seals("k2")
        failure = await bench.read(File(file.path))
        assert isinstance(failure, FileFailure)
        assert "the key k1, which is not given" in failure.message
        assert not failure.is_disks_end
        assert await bench.read(file) == b"sealed"

    on_a_loop(test)


def test_a_damaged_head_takes_no_more_and_is_no_end_of_the_disk(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        path = tmp_path / "0.log"
        bench.append(File(str(path)), b"sealed")
        data = bytearray(path.read_bytes())
        data[20] ^= 1
        path.write_bytes(data)
        file = File(str(path))
        assert not (await bench.read(file)).strip(b"\0")
        told: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        assert bench.disk.append(file, [b"more"], told.set_result) is False
        failure = await told
        assert isinstance(failure, FileFailure)
        assert not failure.is_disks_end

    on_a_loop(test)


def copy_job(files: ports.JobFiles, source: str, target: str) -> int:
    size = files.size(source)
    files.append(target, files.read(source, 0, 5))
    files.append(target, files.read(source, 5, size))
    files.sync(target)
    files.unlink(source)
    return size


def test_jobs_read_and_write_sealed_files(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        file = File(str(tmp_path / "0.log"))
        bench.append(file, b"a person's record")
        target = str(tmp_path / "0.log.cleaned")
        assert await bench.perform(ports.RunJob(ports.Job(copy_job, (file.path, target)))) == 17
        assert b"person" not in Path(target).read_bytes()
        assert await bench.read(File(target)) == b"a person's record"
        assert not Path(file.path).exists()

    on_a_loop(test)
