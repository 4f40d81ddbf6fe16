"""A disk with its clock, and a way to run one operation to its end."""

from __future__ import annotations

from typing import Any

from penstock.core.base.ports import LATER, Append, File, FileFailure, FileOp, Steps
from penstock.core.base.steps import Tasks
from penstock.sim.chance import Chance
from penstock.sim.disk import Disk, DiskProfile
from penstock.sim.scheduler import SECOND, Scheduler
from penstock.sim.trace import Trace

ALWAYS_LATER = DiskProfile(inline=0.0)
ALWAYS_INLINE = DiskProfile(inline=1.0)


class Bench:
    """One disk in an otherwise empty world."""

    def __init__(self, seed: int = 1, profile: DiskProfile = ALWAYS_INLINE) -> None:
        self.scheduler = Scheduler()
        self.trace = Trace()
        self.disk = Disk(self.scheduler, Chance(seed), self.trace, profile)
        self.tasks = Tasks(self.disk)

    def ask(self, op: FileOp) -> list[Any]:
        """Ask for an operation; the list gets its result when it comes."""
        results: list[Any] = []
        result = self.disk.perform(op, results.append)
        if result is not LATER:
            results.append(result)
        return results

    def do(self, op: FileOp) -> Any:
        """Perform an operation; its failure is raised."""
        results = self.ask(op)
        assert self.scheduler.run_while(lambda: not results, self.scheduler.now_us + 10 * SECOND)
        if isinstance(results[0], FileFailure):
            raise results[0]
        return results[0]

    def run(self, steps: Steps[Any]) -> Any:
        """Drive steps to their end; an exception that ended them is raised."""
        results: list[Any] = []
        self.tasks.run(steps, results.append)
        assert self.scheduler.run_while(lambda: not results, self.scheduler.now_us + 1_000 * SECOND)
        if isinstance(results[0], Exception):
            raise results[0]
        return results[0]

    def write(self, path: str, data: bytes) -> File:
        """Append to a file by path."""
        file = File(path)
        self.do(Append(file, data))
        return file

    def content(self, path: str) -> bytes:
        """What a process would read now."""
        return bytes(self.disk.volume.platter.file(path).written)

    def exists(self, path: str) -> bool:
        """Whether the name is there now."""
        return self.disk.volume.platter.find(path) is not None
