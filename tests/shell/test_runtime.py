"""What a node notes in its machine's memory."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from penstock.core.base.ports import NoNote
from penstock.shell import mount, runtime
from penstock.shell.mount import is_in_memory, mount_name
from penstock.shell.runtime import NoteInMemory, runtime_note


def test_it_is_replaced_as_a_whole_and_taken_back(tmp_path: Path) -> None:
    note = NoteInMemory(str(tmp_path / "note"))
    assert note.read() is None
    note.write(b"one")
    note.write(b"two")
    assert note.read() == b"two"
    assert os.stat(note.path).st_mode & 0o777 == 0o600
    note.remove()
    note.remove()
    assert note.read() is None
    assert os.listdir(tmp_path) == []


def test_what_cannot_be_written_is_not_there(tmp_path: Path) -> None:
    note = NoteInMemory(str(tmp_path / "note"))
    note.write(b"one")
    (tmp_path / "note.tmp").mkdir()
    note.write(b"two")
    assert note.read() is None


def test_a_link_or_another_users_file_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").write_bytes(b"x")
    (tmp_path / "note").symlink_to(tmp_path / "other")
    assert NoteInMemory(str(tmp_path / "note")).read() is None
    note = NoteInMemory(str(tmp_path / "other"))
    assert note.read() == b"x"
    monkeypatch.setattr(runtime.os, "geteuid", lambda: os.getuid() + 1)
    assert note.read() is None


def test_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(runtime_note(str(tmp_path / "missing")), NoNote)
    monkeypatch.setattr(runtime, "is_in_memory", lambda folder: False)
    assert isinstance(runtime_note(str(tmp_path), str(tmp_path)), NoNote)
    monkeypatch.setattr(runtime, "is_in_memory", lambda folder: True)
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two, again = (runtime_note(str(tmp_path / name), str(tmp_path)) for name in ("one", "two", "one"))
    assert isinstance(one, NoteInMemory)
    assert isinstance(two, NoteInMemory)
    assert isinstance(again, NoteInMemory)
    assert one.path == again.path != two.path


def test_only_memory_is_memory(tmp_path: Path) -> None:
    assert not is_in_memory("/proc")
    assert not is_in_memory(str(tmp_path / "missing"))


def test_a_mount_has_a_name_that_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "below").mkdir()
    assert mount_name(str(tmp_path)) == mount_name(str(tmp_path / "below")) != mount_name("/proc")
    assert mount_name("/proc").startswith("mount ")
    other = subprocess.run(["cat", "/proc/self/mountinfo"], capture_output=True, check=True).stdout
    (tmp_path / "mounts").write_bytes(other)
    monkeypatch.setattr(mount, "_MOUNTS", str(tmp_path / "mounts"))
    assert mount_name(str(tmp_path)) == mount_name(str(tmp_path / "below"))
