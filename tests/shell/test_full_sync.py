"""What reaches the disk itself, where fsync alone does not."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.cli.formatting import format_folder, new_id
from penstock.shell import full_sync, jobs, whole_sync

F_FULLFSYNC = 51
"""Its number on macOS."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What a system that has F_FULLFSYNC is asked for, by the name of the file."""
    heard: list[tuple[str, str]] = []

    def name_of(fd: int) -> str:
        return os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))

    def control(fd: int, request: int, *_: object) -> int:
        assert request == F_FULLFSYNC
        heard.append(("full", name_of(fd)))
        return 0

    monkeypatch.setattr(full_sync, "FULL_SYNC", F_FULLFSYNC)
    monkeypatch.setattr(fcntl, "fcntl", control)
    monkeypatch.setattr(os, "fsync", lambda fd: heard.append(("fsync", name_of(fd))))
    monkeypatch.setattr(os, "fdatasync", lambda fd: heard.append(("fdatasync", name_of(fd))))
    return heard


@pytest.mark.parametrize("sync", [full_sync.sync_data, full_sync.sync_whole])
def test_every_sync_reaches_the_disk(tmp_path: Path, asked: list[tuple[str, str]], sync: Callable[[int], None]) -> None:
    with (tmp_path / "f").open("w") as file:
        sync(file.fileno())
    full_sync.sync_path(str(tmp_path / "f"))
    assert asked == [("full", "f"), ("full", "f")]


def test_jobs_and_formatting_reach_the_disk_too(tmp_path: Path, asked: list[tuple[str, str]]) -> None:
    files = jobs.RealJobFiles()
    files.append(str(tmp_path / "f"), b"x")
    files.sync(str(tmp_path / "f"))
    format_folder(str(tmp_path / "data"), new_id(), 1)
    assert {kind for kind, _ in asked} == {"full"}
    assert len(asked) >= 2


def test_many_files_are_handed_over_and_the_disk_is_asked_once(
    tmp_path: Path, asked: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_sync, "_syncfs", lambda: None)
    for name in ("a", "b"):
        (tmp_path / name).touch()
    whole_sync.sync_tree(str(tmp_path))
    assert asked[-1] == ("full", tmp_path.name)
    assert sorted(asked[:-1]) == sorted([("fsync", "a"), ("fsync", "b"), ("fsync", tmp_path.name)])


@pytest.mark.parametrize("number", [errno.ENOTSUP, errno.ENOTTY])
def test_a_file_system_that_does_not_know_it_gets_what_it_knows(
    tmp_path: Path, asked: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(fcntl, "fcntl", failing(number))
    full_sync.sync_path(str(tmp_path))
    assert asked == [("fsync", tmp_path.name)]


def test_a_disk_that_fails_is_not_asked_again(
    tmp_path: Path, asked: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "fcntl", failing(errno.EIO))
    with pytest.raises(OSError, match="Input/output error"):
        full_sync.sync_path(str(tmp_path))
    assert asked == []


def test_nobody_syncs_past_it() -> None:
    """No other module of the shell or of the commands calls the system's own."""
    house = Path(full_sync.__file__).parent.parent
    assert [each.name for each in house.rglob("*.py") if "os.fsync" in each.read_text()] == ["full_sync.py"]


def failing(number: int) -> Callable[..., int]:
    def control(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    return control
