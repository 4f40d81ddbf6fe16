"""Jobs in the simulator: the function itself, run against the virtual disk at a seeded moment.

A worker process dies with its node, in the middle of whatever it wrote. `JobDisk` therefore counts operations and
stops the job when its allowance is spent; what the job had written until then stays.
"""

from __future__ import annotations

from penstock.core.base.ports import Buffer, FileFailure, Job
from penstock.sim.volume import Volume, guarded


class JobKilled(Exception):
    """The worker process is gone."""


class JobDisk:
    """`JobFiles` over the simulated disk."""

    def __init__(self, volume: Volume, operations_max: int | None = None) -> None:
        self._volume = volume
        self._left = operations_max

    def size(self, path: str) -> int:
        """Give a file's size."""
        self._spend()
        return self._volume.size_at(path)

    def read(self, path: str, position: int, length: int) -> bytes:
        """Read a range, shorter at the end of the file."""
        self._spend()
        return self._volume.read_at(path, position, length)

    def append(self, path: str, data: Buffer) -> None:
        """Append, creating the file when missing."""
        self._spend()
        self._volume.write(self._volume.create(path), bytes(data))

    def sync(self, path: str) -> None:
        """Make the file's bytes survive power loss."""
        self._spend()
        self._volume.sync_now(self._volume.platter.file(path))

    def unlink(self, path: str) -> None:
        """Remove a file; a missing one is fine."""
        self._spend()
        self._volume.remove(path)

    def _spend(self) -> None:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise JobKilled


def run_job(volume: Volume, job: Job) -> object:
    """Run a job to its end; a failure of the disk is its result."""
    return guarded(lambda: job.function(JobDisk(volume), *job.args))


def run_killed_job(volume: Volume, job: Job, operations_max: int) -> None:
    """Run a job that dies after so many operations: nobody hears of it, its writes remain."""
    try:
        job.function(JobDisk(volume, operations_max), *job.args)
    except (JobKilled, FileFailure):
        return
