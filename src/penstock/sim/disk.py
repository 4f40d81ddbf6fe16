"""The simulated disk: the `Files` port with seeded delays, crashes and power cuts.

An operation either finishes inline or takes its seeded time, and has its effect at the moment it finishes. Changes
of one file happen in the order in which they were asked for; everything else overtakes freely.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from penstock.core.base import ports
from penstock.core.base.ports import LATER, Buffer, Done, File, FileFailure, FileOp, Job, Slice
from penstock.core.base.steps import perform_each
from penstock.sim.chance import Chance
from penstock.sim.jobs import run_job, run_killed_job
from penstock.sim.scheduler import MS, SECOND, Event, Scheduler
from penstock.sim.trace import Trace
from penstock.sim.volume import Effect, Volume, guarded

JOB_OPERATIONS_MAX = 200
SLOW_SYNC_US = 200 * MS
SYNCS = (ports.Sync, ports.SyncDir, ports.SyncTree)
NEVER_INLINE = (*SYNCS, ports.Pause)  # Syncs block, and a pause that takes no time is none.


@dataclass(frozen=True, slots=True)
class DiskProfile:
    """How a disk behaves when nothing is broken: how often it answers inline, and how long it takes otherwise;
    and what the machine's workers need for a job, and how often they die of one."""

    inline: float = 0.5
    delay_us_max: int = 2 * MS
    sync_us_max: int = 20 * MS
    slow_us_max: int = 2 * SECOND
    closes_files: float = 0.02
    job_us_max: int = 20 * MS
    worker_deaths: float = 0.0


@dataclass(slots=True)
class _Pending:
    """An operation on its way. `path` is set for a change, because changes of one file keep their order."""

    effect: Effect
    done: Done
    path: str | None = None
    data: bytes = b""
    job: Job | None = None
    is_job: bool = False
    event: Event | None = None


class Disk:
    """One machine's disk. It outlives the node's processes; `crash` and `power_loss` say what they lose."""

    def __init__(self, scheduler: Scheduler, chance: Chance, trace: Trace, profile: DiskProfile) -> None:
        self.volume = Volume(chance.fork("volume"), self._note)
        self.deliver: Callable[[Done, object], None] = lambda done, result: done(result)
        self.slow = False
        self._scheduler = scheduler
        self._chance = chance
        self._trace = trace
        self._profile = profile
        self._tickets = 0
        self._pending: dict[int, _Pending] = {}
        self._busy: dict[str, tuple[int, int]] = {}  # Per path: when its last change ends, and how many are waiting.

    # ---- the Files port

    def append(self, file: File, parts: Sequence[Buffer], done: Done) -> bool:
        """See `Files.append`; a failure is never given inline."""
        copied = b"".join(parts)
        if self._may_finish_inline(file.path) and self.volume.takes(file, len(copied)):
            self.volume.write(self.volume.node(file, create=True), copied)
            return True
        effect = self.volume.effect(ports.Append(file, copied))
        self._later(_Pending(effect, done, path=file.path, data=copied), self._delay())
        return False

    def perform(self, op: FileOp, done: Done) -> object:
        """See `Files.perform`."""
        if isinstance(op, ports.Append):
            return None if self.append(op.file, [op.data], done) else LATER
        if isinstance(op, ports.RunJob):
            return self._start_job(op.job, done)
        if isinstance(op, ports.Together):
            # Each takes its own time; a crash may fall between any two of them.
            return perform_each(self.perform, op.ops, done)
        if isinstance(op, ports.Read) and self._chance.happens(self._profile.closes_files):
            self.volume.close(op.file)
        path = _changed_path(op)
        effect = self.volume.effect(op)
        if not isinstance(op, NEVER_INLINE) and self._may_finish_inline(path):
            result = effect()
            self.volume.tells(result)
            return result
        self._later(_Pending(effect, done, path=path), self._delay_of(op))
        return LATER

    def pin(self, piece: Slice) -> None:
        """Open a slice's file before it is sent, so that it stays readable even when the file is unlinked."""
        self.volume.node(piece.file)
        piece.file.pins += 1

    def read_slice(self, piece: Slice) -> bytes:
        """Read what a reply carries, at the moment it is sent, and unpin its file."""
        piece.file.pins -= 1
        return self.volume.read(piece.file, piece.position, piece.length)

    def mount(self, path: str) -> None:
        """Make a directory that was there before the node was, and stays."""
        platter = self.volume.platter
        platter.make_directory(path)
        platter.sync_directory(platter.root, platter.change_order)

    def place(self, path: str, data: bytes) -> None:
        """Put a file where it was before the node was, and stays."""
        platter = self.volume.platter
        file = platter.create(path)
        file.written[:], file.synced = data, data
        platter.sync_directory(platter.directory(path.rpartition("/")[0]), platter.change_order)

    # ---- faults

    def crash(self) -> None:
        """The process died: operations on their way are done or lost; an append may be done in part."""
        lost: set[str | None] = set()
        for pending in self._pending.values():
            assert pending.event is not None
            pending.event.cancel()
            if pending.path not in lost:
                self._abandon(pending, lost)
        self._pending.clear()
        self._busy.clear()
        self.volume.close_all()

    def power_loss(self) -> None:
        """The machine died: of what was not synced, anything may be left."""
        self.crash()
        for _ in range(self.volume.platter.power_loss(self._chance)):
            self._note("torn-write", "sectors")

    def corrupt(self, path: str, position: int = 0) -> str:
        """Flip one bit of a file, from a position on, as an old disk does."""
        node = self.volume.platter.file(path)
        at = self._chance.between(position, len(node.written) - 1)
        node.written[at] ^= 1 << self._chance.between(0, 7)
        node.synced = bytes(node.written)
        self._note("bit-rot", f"{path} {at}")
        return path

    def _abandon(self, pending: _Pending, lost: set[str | None]) -> None:
        if self._chance.happens(0.5):
            pending.effect()
        elif pending.job is not None:
            run_killed_job(self.volume, pending.job, self._chance.between(0, JOB_OPERATIONS_MAX))
        elif pending.path is not None:
            lost.add(pending.path)
            self._tear(pending.path, pending.data)

    def _tear(self, path: str, data: bytes) -> None:
        part = data[: self._chance.between(0, max(len(data) - 1, 0))]
        if part:
            self._note("torn-write", f"{path} {len(part)}/{len(data)}")
            guarded(lambda: self.volume.tear(path, part))

    # ---- time

    def _start_job(self, job: Job, done: Done) -> object:
        """A job reads and writes somewhere between its start and its end: at once, or as it ends."""
        self._trace.counts[f"job-{job.function.__name__}"] += 1
        if self._profile.worker_deaths and self._chance.happens(self._profile.worker_deaths):
            result: object = FileFailure(0, "the worker died")
            pending = _Pending(lambda: result, done, is_job=True)
        elif self._chance.happens(0.5):
            result = run_job(self.volume, job)
            pending = _Pending(lambda: result, done, is_job=True)
        else:
            pending = _Pending(lambda: run_job(self.volume, job), done, job=job, is_job=True)
        self._later(pending, self._chance.skewed(1, self._profile.job_us_max))
        return LATER

    def _later(self, pending: _Pending, delay_us: int) -> None:
        at_us = self._scheduler.now_us + delay_us
        if pending.path is not None:
            last_us, waiting = self._busy.get(pending.path, (0, 0))
            at_us = max(at_us, last_us)
            self._busy[pending.path] = (at_us, waiting + 1)
        self._tickets += 1
        ticket = self._tickets
        self._pending[ticket] = pending
        pending.event = self._scheduler.at(at_us, lambda: self._complete(ticket))

    def _complete(self, ticket: int) -> None:
        pending = self._pending.pop(ticket)
        if pending.path is not None:
            last_us, waiting = self._busy.pop(pending.path)
            if waiting > 1:
                self._busy[pending.path] = (last_us, waiting - 1)
        self.deliver(partial(self._tell, pending), pending.effect())

    def _tell(self, pending: _Pending, result: object) -> None:
        if not pending.is_job:
            self.volume.tells(result)
        pending.done(result)

    def _may_finish_inline(self, path: str | None) -> bool:
        return path not in self._busy and not self.slow and self._chance.happens(self._profile.inline)

    def _delay_of(self, op: FileOp) -> int:
        if not isinstance(op, SYNCS):
            return self._delay()
        delay_us = self._delay(self._profile.sync_us_max)
        if delay_us >= SLOW_SYNC_US:
            self._note("slow-sync", str(delay_us))
        return delay_us

    def _delay(self, usual_us_max: int | None = None) -> int:
        if self.slow and self._chance.happens(0.5):
            return self._chance.between(0, self._profile.slow_us_max)
        return self._chance.skewed(1, usual_us_max or self._profile.delay_us_max)

    def _note(self, what: str, detail: str) -> None:
        self._trace.note(self._scheduler.now_us, what, detail)


def _changed_path(op: FileOp) -> str | None:
    match op:
        case ports.Truncate(file, _) | ports.Rename(file, _) | ports.Unlink(file):
            return file.path
    return None
