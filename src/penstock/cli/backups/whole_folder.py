"""A folder that is there with all it should hold, or not at all, wherever whoever makes it is killed."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.cli.talk import Refused, advice
from penstock.shell.full_sync import sync_path
from penstock.shell.whole_sync import sync_tree

UNFINISHED = ".restoring"


@contextmanager
def whole_folder(path: str) -> Iterator[str]:
    """A folder beside it to write into, which gets its name at the end. What an earlier attempt has left is removed."""
    path = os.path.abspath(path)
    _refuse_taken(path)
    work = path + UNFINISHED
    try:
        os.makedirs(work, exist_ok=True)
    except OSError as failure:
        raise Refused(f"cannot make the folder {work}: {failure.strerror}", advice(failure)) from None
    held = os.open(work, os.O_RDONLY)
    try:
        _hold(held, work)
        _empty(work)
        try:
            yield work
            sync_tree(work)
            os.rename(work, path)
        except BaseException:
            _empty(work)
            os.rmdir(work)
            raise
        sync_path(os.path.dirname(path))
    finally:
        os.close(held)


def _refuse_taken(path: str) -> None:
    if os.path.ismount(path):
        raise Refused(f"{path} is a mount point, and cannot get its name at the end", "name a folder in it")
    if os.path.exists(path) and (not os.path.isdir(path) or os.listdir(path)):
        raise Refused(f"{path} is not empty", "restore into a new folder; what is in this one stays as it is")


def _hold(fd: int, work: str) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Refused(f"somebody restores into {work} already", "wait for the other one, or end it") from None


def _empty(folder: str) -> None:
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
