"""A pid file that cannot lie: its process holds a lock on it, so a stale number or a reused pid is never believed."""

import os

from penstock.shell.lock import outlast_glances, try_lock


class Held(Exception):
    """Another process has the file; `pid` is its number, or None if it has not written it yet."""

    def __init__(self, pid: int | None) -> None:
        super().__init__(f"held by process {pid}")
        self.pid = pid


class PidFile:
    """The right to be the process that a file names, from `hold` until `release` or the end of the process."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = -1

    def hold(self) -> None:
        """Write our pid and keep the file, or raise `Held`."""
        fd = outlast_glances(self._take)
        if fd is None:
            raise Held(self.holder())
        self._fd = fd
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)

    def _take(self) -> int | None:
        """The locked descriptor. A file that its last holder removed before we locked it is not the one we want."""
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        if try_lock(fd) and _is_still_at(fd, self.path):
            return fd
        os.close(fd)
        return None

    def release(self) -> None:
        """Remove the file and let go of it; fine if it was not held."""
        if self._fd >= 0:
            os.unlink(self.path)
            os.close(self._fd)
            self._fd = -1

    def holder(self) -> int | None:
        """The process that holds the file now, or None."""
        try:
            fd = os.open(self.path, os.O_RDWR)
        except FileNotFoundError:
            return None
        try:
            return None if try_lock(fd) else _read_pid(fd)
        finally:
            os.close(fd)


def _read_pid(fd: int) -> int | None:
    text = os.pread(fd, 32, 0).strip()
    return int(text) if text.isdigit() else None


def _is_still_at(fd: int, path: str) -> bool:
    try:
        return os.stat(path).st_ino == os.fstat(fd).st_ino
    except FileNotFoundError:
        return False
