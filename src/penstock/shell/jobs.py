"""Jobs: per-record work in a worker process, so that it never shares a core's interpreter with the loop."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from queue import LifoQueue
from typing import TYPE_CHECKING, Any

from penstock.core.base.ports import Buffer, Job
from penstock.shell.descriptors import APPEND_FLAGS, FILE_MODE, write_all
from penstock.shell.full_sync import sync_whole

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Outcome = tuple[Any, OSError | None]
"""What a job gives, or why it gives nothing."""


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
        sync_whole(self._fd(path))

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


def perform(job: Job) -> Any:
    """Runs in the worker process."""
    files = RealJobFiles()
    try:
        return job.function(files, *job.args)
    finally:
        files.close()


class Workers:
    """Processes, each of which is started with the first job that finds the others busy, because most nodes of a test
    never need one, and anew after it was killed; modules that only they need are loaded then, too. Not those of
    `multiprocessing`: these would run the script again in which somebody tests with a node."""

    def __init__(self, processes_max: int = 1) -> None:
        self._processes_max = processes_max
        self._asking: ThreadPoolExecutor | None = None
        # Those that nobody asks at the moment, the last one that came back first, so that fewer are started; and all.
        self._idle: LifoQueue[Worker] = LifoQueue()
        self._workers: list[Worker] = []

    def run(self, job: Job) -> Future[Any]:
        if self._asking is None:
            from concurrent.futures import ThreadPoolExecutor

            self._asking = ThreadPoolExecutor(self._processes_max, thread_name_prefix="jobs")
            self._workers = [Worker() for _ in range(self._processes_max)]
            for worker in self._workers:
                self._idle.put(worker)
        return self._asking.submit(self._ask, job)

    def close(self) -> None:
        """What is under way is given up: the next start finds what is left of it."""
        if self._asking is not None:
            self._asking.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def _ask(self, job: Job) -> Any:
        """There is a worker for every thread."""
        worker = self._idle.get()
        try:
            return worker.ask(job)
        finally:
            self._idle.put(worker)


class Worker:
    """One process, which does one job at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    def close(self) -> None:
        self._is_closed = True
        if self._process is not None:
            _end(self._process)

    def ask(self, job: Job) -> Any:
        """In a thread that waits for the process."""
        process = self._process
        if process is not None and process.poll() is not None:
            _end(process)
            process = None
        if process is None:
            process = self._process = _start()
        if self._is_closed:
            process.kill()
        try:
            result, error = _give(process, job)
        except (EOFError, BrokenPipeError, ValueError):
            # It is gone, or what leads to it was closed.
            self._process = None
            code = _end(process)
            raise OSError(f"the process for it ended with {code}, and is started anew when it is needed") from None
        if error is not None:
            raise error
        return result


def _start() -> subprocess.Popen[bytes]:
    from penstock.shell.children import environment

    command = [sys.executable, "-m", "penstock.shell.worker"]
    # In a session of its own, because ctrl-c is for the node, which then ends it.
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), start_new_session=True
    )


def _give(process: subprocess.Popen[bytes], job: Job) -> Outcome:
    import pickle

    assert process.stdin is not None
    assert process.stdout is not None
    pickle.dump(job, process.stdin)
    process.stdin.flush()
    outcome: Outcome = pickle.load(process.stdout)
    return outcome


def _end(process: subprocess.Popen[bytes]) -> int:
    process.kill()
    # What was to be sent to it cannot be sent any more, and need not.
    with suppress(OSError), process:
        pass
    return process.wait()
