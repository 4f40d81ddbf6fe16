"""The log alone in the simulated world: one partition, driven directly, with the same disk and the same judges.

There is no network and no node here, so a failure is the log's. Writers play the leader (check, append, wait for
Written or Synced), readers read anywhere, a caretaker flushes, checkpoints and closes, and the machine dies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.core.base.errors import ApiError
from penstock.core.base.ports import Steps
from penstock.core.base.steps import Tasks
from penstock.core.log.directory import LogDirectory
from penstock.core.log.index_file import IndexCache
from penstock.core.log.log import Log
from penstock.core.log.settings import LogContext
from penstock.core.records.batch import read_header
from penstock.sim.chance import Chance
from penstock.sim.court import Court
from penstock.sim.disk import Disk, DiskProfile
from penstock.sim.events import Acknowledged, Batch, ClockSet, Down, LogState, Partition, Sent, Up
from penstock.sim.faults import FaultPlan, draw_faults
from penstock.sim.network import Network, NetworkProfile
from penstock.sim.rules import TopicRules
from penstock.sim.scheduler import EPOCH_MS, MS, SECOND, Scheduler
from penstock.sim.script import Future
from penstock.sim.trace import Trace

PARTITION = Partition("topic", 0)
TOPIC_ID = b"\1" * 16
LEADER_EPOCH = 1
RESTART_US = 500 * MS
ROOT = "/data"
KEY = (PARTITION.topic, PARTITION.number)
KEY_WITH_ID = (PARTITION.topic, TOPIC_ID, PARTITION.number)
INT64_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class SmallLogSettings:
    """Topic settings that make a log roll and index all the time."""

    segment_bytes: int = 20_000
    segment_index_bytes: int = 10_000
    index_interval_bytes: int = 200
    flush_messages: int = INT64_MAX
    flush_ms: int = INT64_MAX
    segment_ms: int = 600_000
    segment_jitter_ms: int = 0
    cleanup_policy: frozenset[str] = frozenset({"delete"})
    retention_ms: int = -1
    retention_bytes: int = -1
    delete_retention_ms: int = 0
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = INT64_MAX
    min_cleanable_dirty_ratio: float = 0.5
    sealed_compression_type: str = "none"
    sealed_compression_level: int | None = None
    file_delete_delay_ms: int = 1_000


@dataclass(frozen=True, slots=True)
class LogSpec:
    """All that decides a run besides its seed."""

    settings: SmallLogSettings
    faults: FaultPlan
    disk: DiskProfile
    writers: int = 3
    trouble_us: int = 5 * SECOND


def draw_log_spec(seed: int) -> LogSpec:
    """A spec from a seed; the faults of connections mean nothing here."""
    chance = Chance(seed).fork("spec")
    settings = SmallLogSettings(
        segment_bytes=chance.pick((3_000, 20_000, 1_000_000)),
        index_interval_bytes=chance.pick((0, 200, 4_096)),
        flush_messages=chance.pick((1, 1, 20, INT64_MAX)),
        sealed_compression_type=Chance(seed).fork("packing").pick(("none", "none", "lz4", "zstd")),
    )
    profile = DiskProfile(inline=chance.pick((0.0, 0.5, 0.9, 1.0)))
    return LogSpec(settings, draw_faults(chance), profile, writers=chance.between(1, 3))


class LogWorld:
    """A machine with nothing but a log on it."""

    def __init__(self, seed: int, spec: LogSpec) -> None:
        self.chance = Chance(seed)
        self.scheduler = Scheduler()
        self.trace = Trace()
        self.spec = spec
        rules = TopicRules(synced=spec.settings.flush_messages == 1)
        self.court = Court(self.scheduler, self.trace, {PARTITION.topic: rules})
        self.disk = Disk(self.scheduler, self.chance.fork("disk"), self.trace, spec.disk)
        self.disk.mount(ROOT)
        self.network = Network(self.scheduler, self.chance.fork("network"), self.trace, NetworkProfile())
        self.log: Log | None = None
        self.winding_down = False
        self._skew_ms = 0
        self._directory: LogDirectory | None = None
        self._tasks = Tasks(self.disk)
        self._waiting: list[tuple[Batch, int, Future]] = []
        self._running: list[Future] = []

    @property
    def now_ms(self) -> int:
        """The wall clock."""
        return EPOCH_MS + self._skew_ms + self.scheduler.now_us // MS

    @property
    def visible_offset(self) -> int:
        """How far readers may see: what is acknowledged counts, and nothing else."""
        assert self.log is not None
        return self.log.synced_offset if self.spec.settings.flush_messages == 1 else self.log.written_offset

    # ---- life

    def boot(self) -> None:
        """Open what is on the disk, unless that is open or being opened."""
        if self._directory is None:
            self._tasks = Tasks(self.disk)
            context = LogContext(self.disk, self._tasks, IndexCache())
            self._directory = LogDirectory(ROOT, context)
            self._tasks.run(self._open(self._directory), partial(self._opened, self._directory))

    def crash(self, down_us: int) -> None:
        """Kill the process."""
        if self._directory is not None:
            self._go_down(lost_power=False)
            self.trace.note(self.scheduler.now_us, "crash")
            self.disk.crash()
            self.scheduler.after(down_us, self.boot)

    def power_loss(self, down_us: int) -> None:
        """Cut the power."""
        self._go_down(lost_power=True)
        self.trace.note(self.scheduler.now_us, "power-loss")
        self.disk.power_loss()
        self.scheduler.after(down_us, self.boot)

    def shut_down(self) -> None:
        """Close the log in good order, and open it again."""
        if self.log is not None and self._directory is not None:
            directory, self.log = self._directory, None
            self._tasks.run(directory.close(), partial(self._closed, directory))

    def set_clock(self, skew_ms: int) -> None:
        """Set the machine's clock wrong, or right again."""
        if skew_ms != self._skew_ms:
            self._skew_ms = skew_ms
            self.court.see(ClockSet(skew_ms))

    def _open(self, directory: LogDirectory) -> Steps[Log]:
        logs = yield from directory.load(lambda _: self.spec.settings, self.now_ms)
        if KEY in logs:
            return logs[KEY]
        return (yield from directory.create(*KEY_WITH_ID, self.spec.settings, self.now_ms))

    def _opened(self, directory: LogDirectory, result: Log | Exception) -> None:
        assert directory is self._directory, "a dead process goes on"
        if isinstance(result, Exception):
            self._ended(result)
            return
        self.log = result
        self.log.on_progress = self._progress
        self.court.see(Up({PARTITION: self._state(self.log)}))

    def _closed(self, directory: LogDirectory, result: object) -> None:
        assert directory is self._directory, "a dead process goes on"
        self._ended(result)

    def _ended(self, result: object) -> None:
        """A process that could not open its log, or has closed it, ends; the next one is started."""
        self.trace.note(self.scheduler.now_us, "ended", repr(result))
        self._go_down(lost_power=False)
        self.disk.crash()
        self.scheduler.after(RESTART_US, self.boot)

    def _go_down(self, lost_power: bool) -> None:
        self.court.see(Down(lost_power, {PARTITION: self._state(self.log)} if self.log is not None else {}))
        self.log = self._directory = None
        orphans = [future for _, _, future in self._waiting] + self._running
        self._waiting, self._running = [], []
        for future in orphans:
            self._resume(future, None)

    def _state(self, log: Log) -> LogState:
        snapshot_offset = max(log.snapshot_offsets, default=0)
        return LogState(log.start_offset, log.synced_offset, log.end_offset, snapshot_offset)

    # ---- what actors ask for

    def append(self, batch: Batch, data: bytearray) -> Future:
        """Append as a leader does; the future brings None (lost), True (acknowledged) or an error code."""
        self.court.see(Sent(batch, read_header(data).producer_id))
        future, log = Future(), self.log
        if log is None or log.failure is not None:
            self._resume(future, None)
            return future
        header = read_header(data)
        try:
            duplicate = log.producers.check(header) if header.producer_id >= 0 else None
            base_offset = duplicate.base_offset if duplicate else log.append(data, header, LEADER_EPOCH, self.now_ms)
        except ApiError as error:
            self._resume(future, error.code)
            return future
        self._waiting.append((batch, base_offset, future))
        self._progress()
        return future

    def do_or_die(self, steps: Steps[Any]) -> Future:
        """Drive steps; the future brings their result, their exception, or None when the process dies before."""
        future = Future()
        self._running.append(future)
        self._tasks.run(steps, lambda result: self._resume(future, result))
        return future

    def checkpoint(self) -> Steps[None]:
        """Write the directory's checkpoints."""
        assert self._directory is not None
        return self._directory.checkpoint()

    def _progress(self) -> None:
        """Acknowledge what may be acknowledged, give up what is lost, flush where the settings say so."""
        log = self.log
        if log is None:
            return
        kept = []
        for batch, base_offset, future in self._waiting:
            end_offset = base_offset + len(batch.values)
            if end_offset <= self.visible_offset:
                self.court.see(Acknowledged(batch, base_offset))
                self._resume(future, True)
            elif log.failure is not None or end_offset > log.end_offset:
                self._resume(future, None)
            else:
                kept.append((batch, base_offset, future))
        self._waiting = kept
        if log.needs_flush(self.now_ms):
            log.request_flush()

    def _resume(self, future: Future, value: object) -> None:
        self.scheduler.after(0, lambda: future.resolve(value))
