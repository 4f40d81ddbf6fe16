"""Writing a file anew under the newest key, or without any, while nobody has it open."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Final

from penstock.core.base.ports import Buffer
from penstock.core.sealing.sealed_file import Seals, new_file
from penstock.shell import sealed_paths
from penstock.shell.descriptors import APPEND_FLAGS, write_all
from penstock.shell.full_sync import sync_path, sync_whole
from penstock.shell.sealed_folder import head_of

_UNFINISHED: Final = ".tmp"


def reseal(path: str, seals: Seals, *, is_plain: bool) -> int | None:
    """Gives how many bytes of the plain file were written; None where it is as wanted already. A crash leaves the old
    file or the new one."""
    head = head_of(path)
    if is_plain and head is None:
        return None
    if not is_plain and (os.path.getsize(path) == 0 or (head and head.key_id == seals.ring.newest.id)):
        return None
    target = path + _UNFINISHED
    try:
        size = copy(path, target, seals, is_plain=is_plain)
        os.replace(target, path)
    except BaseException:
        if os.path.exists(target):
            os.unlink(target)
        raise
    sync_path(os.path.dirname(path))
    return size


def copy(path: str, target: str, seals: Seals, *, is_plain: bool = False) -> int:
    """Write a file under another name, sealed or not, whichever it is itself."""
    size = 0
    with (
        sealed_paths.opened(path, os.O_RDONLY) as source,
        sealed_paths.opened(target, APPEND_FLAGS | os.O_CREAT | os.O_TRUNC) as fd,
    ):
        write = _writer(target, fd, seals, is_plain)
        sealed = sealed_paths.look(path, source, sealed_paths.pread_of(source), seals)
        for data in sealed_paths.pieces_of(source, sealed):
            write(data)
            size += len(data)
        found = os.fstat(source)
        # Retention asks for it where records have no time.
        os.utime(fd, ns=(found.st_atime_ns, found.st_mtime_ns))
        sync_whole(fd)
    return size


def _writer(target: str, fd: int, seals: Seals, is_plain: bool) -> Callable[[Buffer], None]:
    if is_plain:
        return partial(write_all, fd)
    return partial(sealed_paths.write, target, fd, new_file(seals))
