"""Jobs: per-record work in a worker process, so that it never shares a core's interpreter with the loop."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from penstock.core.base.ports import Buffer, Job
from penstock.shell.descriptors import APPEND_FLAGS, FILE_MODE, write_all

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

WORKERS_MAX = 1


class RealJobFiles:
    """The files that a job touches, with plain blocking calls."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}

    def size(self, path: str) -> int:
        return os.fstat(self._fd(path)).st_size

    def read(self, path: str, position: int, length: int) -> bytes:
        return os.pread(self._fd(path), length, position)

    def append(self, path: str, data: Buffer) -> None:
        write_all(self._fd(path, os.O_CREAT), data)

    def sync(self, path: str) -> None:
        os.fsync(self._fd(path))

    def unlink(self, path: str) -> None:
        fd = self._open.pop(path, None)
        if fd is not None:
            os.close(fd)
        if os.path.exists(path):
            os.unlink(path)

    def close(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1])

    def _fd(self, path: str, create: int = 0) -> int:
        """Only what is written comes into being: a file that is to be read and is gone must not come back empty."""
        if path not in self._open:
            self._open[path] = os.open(path, APPEND_FLAGS | create, FILE_MODE)
        return self._open[path]


def run_job(job: Job) -> Any:
    """Runs in the worker process."""
    files = RealJobFiles()
    try:
        return job.function(files, *job.args)
    finally:
        files.close()


class Workers:
    """A pool that is started with the first job: most nodes of a test never need one."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def run(self, job: Job) -> Future[Any]:
        if self._pool is None:
            # Loaded with the first job too: a node serves sooner without.
            import multiprocessing
            from concurrent.futures import ProcessPoolExecutor

            self._pool = ProcessPoolExecutor(WORKERS_MAX, mp_context=multiprocessing.get_context("spawn"))
        return self._pool.submit(run_job, job)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
