"""One process per data folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.shell import lock
from penstock.shell.lock import FolderLock, FolderLocked, is_locked, try_lock

HOLDER = """
import sys
from penstock.shell.lock import FolderLock
lock = FolderLock(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""

JAVA = """
import fcntl, sys
file = open(sys.argv[1] + "/.lock", "w")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_folder_has_one_owner_at_a_time(tmp_path: Path) -> None:
    folder = str(tmp_path / "data")
    assert not is_locked(folder)
    owner = FolderLock(folder)
    assert is_locked(folder)
    with pytest.raises(FolderLocked, match="in use by another process; stop that one"):
        FolderLock(folder)
    owner.release()
    owner.release()
    assert not is_locked(folder)
    FolderLock(folder).release()


@pytest.mark.parametrize("program", [HOLDER, JAVA], ids=["ours", "Java's kind of lock"])
def test_a_killed_owner_leaves_no_lock_behind(tmp_path: Path, program: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(FolderLocked):
            FolderLock(str(tmp_path))
        holder.kill()
        holder.wait()
    FolderLock(str(tmp_path)).release()


def test_a_glance_at_the_lock_keeps_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FolderLock(str(tmp_path)).release()
    glance = os.open(tmp_path / ".lock", os.O_RDWR)
    assert try_lock(glance)
    monkeypatch.setattr(lock.time, "sleep", lambda seconds: os.close(glance))
    FolderLock(str(tmp_path)).release()


def test_where_one_kind_of_lock_keeps_the_other_out_one_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """macOS: a process that had the first kind would be kept out by itself."""

    def refuse(*_: object) -> None:
        raise BlockingIOError

    monkeypatch.setattr(lock, "KINDS_ARE_APART", False)
    monkeypatch.setattr(lock.fcntl, "lockf", refuse)
    owner = FolderLock(str(tmp_path))
    assert is_locked(str(tmp_path))
    owner.release()
