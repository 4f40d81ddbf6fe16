"""What a node does by the clock: retention, compaction, packing, flushes, checkpoints, expiry, idle connections."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol, TypeVar

from penstock.core.base.ports import FileFailure, FreeSpace, Pause, Steps, found_no_room
from penstock.core.base.steps import expect_no_mistake
from penstock.core.log import packer
from penstock.core.node.coordination.coordinators import Coordinators
from penstock.core.node.host import Host
from penstock.core.node.serving.connection import Connection
from penstock.core.node.serving.limits import Limits
from penstock.core.node.storage.replicas import Replicas
from penstock.core.partition.partition import Partition
from penstock.core.records.errors import CorruptBatch

PURGE_INTERVAL_MS = 1_000
IDLE_SWEEP_INTERVAL_MS = 1_000
DISK_CHECK_INTERVAL_MS = 1_000
INTERNAL_ROLL_BYTES = 1 << 20
"""The active segment is never compacted. That of a coordinator is closed early: it holds little but repetitions, and
is read as a whole whenever the node starts."""
SWEEP_SLICE = 1_000
"""Connections looked at before others get their turn: less than a millisecond of work."""
FLUSH_CHECK_INTERVAL_MS = 100
OWNER_CHECK_INTERVAL_MS = 5_000
OFFSET_MAP_ENTRY_BYTES = 128
"""What one key costs in compaction's map, as far as `log.cleaner.dedupe.buffer.size` is concerned."""


Found = TypeVar("Found")


class HousekeepingHost(Host, Protocol):
    """What housekeeping needs of the node."""

    disk_full: bool

    @property
    def state(self) -> str: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def connections(self) -> Collection[Connection]: ...

    @property
    def replicas(self) -> Replicas: ...

    @property
    def coordinators(self) -> Coordinators: ...


class Housekeeping:
    """Recurring work. Each kind runs by itself, never twice at once, and starts again when it has ended."""

    def __init__(self, node: HousekeepingHost) -> None:
        self._node = node
        self._watches_flushes = False
        self.disk_room = (0, 0)
        """Free bytes, and all of them, at the last look."""

    def begin(self) -> None:
        self._every(self._setting("log.retention.check.interval.ms"), self._retain)
        self._every(self._setting("log.cleaner.backoff.ms"), self._clean)
        self._every(self._setting("log.cleaner.backoff.ms"), self._pack)
        self._every(self._setting("log.flush.offset.checkpoint.interval.ms"), self._checkpoint_ends)
        self._every(self._setting("log.flush.start.offset.checkpoint.interval.ms"), self._checkpoint_starts)
        self._every(lambda: OWNER_CHECK_INTERVAL_MS, self._settle_owners)
        self._every(lambda: PURGE_INTERVAL_MS, self._purge)
        self._every(self._setting("producer.id.expiration.check.interval.ms"), self._expire_producers)
        self._every(self._setting("offsets.retention.check.interval.ms"), self._expire_offsets)
        self._every(lambda: IDLE_SWEEP_INTERVAL_MS, self._close_idle)
        self._every(lambda: DISK_CHECK_INTERVAL_MS, self._watch_disk)
        self._node.replicas.on_flushed = self._watch_flushes
        self._watch_flushes()

    def _setting(self, name: str) -> Callable[[], int]:
        """A setting as it is when asked for: the node's settings are others after each change."""
        return lambda: int(self._node.settings[name])

    def _watch_flushes(self) -> None:
        """Look often, but not where nobody asks for it: a node at rest would wake for little else."""
        if not self._watches_flushes:
            self._every(lambda: FLUSH_CHECK_INTERVAL_MS, self._flush, self._has_flushes_to_watch)

    def _has_flushes_to_watch(self) -> bool:
        self._watches_flushes = bool(self._node.replicas.flushed)
        return self._watches_flushes

    def _every(
        self,
        interval_ms: Callable[[], int],
        work: Callable[[], Steps[None]],
        is_needed: Callable[[], bool] = lambda: True,
    ) -> None:
        node = self._node

        def again(outcome: object = None) -> None:
            expect_no_mistake(outcome)
            if node.state != "running":
                # Whatever it was, a node that stops gives it up.
                return
            if isinstance(outcome, FileFailure) and not (node.disk_full and found_no_room(outcome)):
                what = work.__name__.strip("_").replace("_", " ")
                node.log("warning", "housekeeping", f"{what} was stopped: {outcome.message}")
            if is_needed():
                node.deadlines.at(node.now_ms + max(interval_ms(), 1), lambda: node.tasks.run(work(), again))

        again()

    def _partitions(self) -> list[Partition]:
        return [partition for partition in self._node.replicas if not partition.removed]

    def _retain(self) -> Steps[None]:
        for partition in self._partitions():
            if not partition.removed:
                retaining = partition.log.retain(self._node.now_ms, partition.high_watermark)
                removed = yield from self._on_its_own(partition, "retention", retaining)
                if removed:
                    self._node.log(
                        "info", "housekeeping", f"retention removed {removed} segment(s) of {partition.log!r}"
                    )
                yield Pause()

    def _purge(self) -> Steps[None]:
        for partition in self._partitions():
            if partition.log.trash:
                yield from partition.log.purge(self._node.now_ms)

    def _clean(self) -> Steps[None]:
        """Compact the dirtiest log first, until none is dirty enough."""
        if not self._node.settings["log.cleaner.enable"]:
            return
        ranked = []
        for partition in self._partitions():
            if "compact" in partition.settings.cleanup_policy and not partition.removed:
                if partition.internal and partition.log.active.size_bytes >= INTERNAL_ROLL_BYTES:
                    partition.log.roll(self._node.now_ms)
                looking = partition.log.dirtiness(self._node.now_ms, partition.last_stable_offset)
                dirtiness = yield from self._on_its_own(partition, "compaction", looking)
                if dirtiness is not None and dirtiness.is_due:
                    ranked.append((dirtiness.ratio, partition))
        keys_max = self._node.settings["log.cleaner.dedupe.buffer.size"] // OFFSET_MAP_ENTRY_BYTES
        for _, partition in sorted(ranked, key=lambda each: -each[0]):
            if not partition.removed:
                cleaning = partition.log.clean(self._node.now_ms, partition.last_stable_offset, keys_max)
                yield from self._on_its_own(partition, "compaction", cleaning)

    def _on_its_own(self, partition: Partition, what: str, steps: Steps[Found]) -> Steps[Found | None]:
        """A log that the disk does not give, and that therefore stays the dirtiest, is no reason to leave the others.
        A node that stops gives everything up."""
        try:
            return (yield from steps)
        except (FileFailure, CorruptBatch) as failure:
            if self._node.state == "running" and not (self._node.disk_full and found_no_room(failure)):
                why = failure.message if isinstance(failure, FileFailure) else failure
                self._node.log("warning", "housekeeping", f"{what} of {partition.log!r} was stopped: {why}")
            return None

    def _pack(self) -> Steps[None]:
        """Compress sealed segments, one of each log in turn: no log waits for all of another's segments, and
        compaction, which shares the worker, for no more than one."""
        left = [partition for partition in self._partitions() if packer.is_wanted(partition.log)]
        while left:
            more = []
            for partition in left:
                if (yield from self._pack_one(partition)):
                    more.append(partition)
            left = more

    def _pack_one(self, partition: Partition) -> Steps[bool]:
        """Whether the next segment was packed."""
        if partition.removed:
            return False
        packing = partition.log.pack_next(self._node.now_ms, partition.high_watermark)
        return (yield from self._on_its_own(partition, "compression", packing)) is not None

    def _flush(self) -> Steps[None]:
        for partition in list(self._node.replicas.flushed):
            if partition.log.needs_flush(self._node.now_ms):
                partition.log.request_flush()
                yield Pause()

    def _settle_owners(self) -> Steps[None]:
        yield from self._node.replicas.settle_owners()

    def _checkpoint_ends(self) -> Steps[None]:
        yield from self._node.replicas.checkpoint_ends()

    def _checkpoint_starts(self) -> Steps[None]:
        yield from self._node.replicas.checkpoint_starts()

    def _expire_producers(self) -> Steps[None]:
        expiration_ms = self._node.settings["producer.id.expiration.ms"]
        for partition in self._partitions():
            partition.expire_producers(self._node.now_ms, expiration_ms)
            yield Pause()

    def _expire_offsets(self) -> Steps[None]:
        yield from self._node.coordinators.expire_offsets()

    def _watch_disk(self) -> Steps[None]:
        """Refuse writes before the disk is full; reads, deletions and retention go on, and so it recovers by itself."""
        node = self._node
        free, total = self.disk_room = yield FreeSpace(node.settings.log_dir)
        limit = node.settings["penstock.disk.full.ratio"]
        is_full = total > 0 and 1 - free / total >= limit
        if is_full != node.disk_full:
            node.disk_full = is_full
            state = "refused until there is room again" if is_full else "accepted again"
            node.log(
                "warning",
                "disk",
                f"the disk of {node.settings.log_dir} is {1 - free / total:.0%} full: writes are {state}",
            )

    def _close_idle(self) -> Steps[None]:
        """Quiet connections give their buffers back; after `connections.max.idle.ms` they are closed, as in Kafka."""
        now_ms, idle_ms_max = self._node.now_ms, self._node.limits.idle_ms_max
        for number, connection in enumerate(list(self._node.connections)):
            quiet_ms = now_ms - connection.last_active_ms
            if quiet_ms >= IDLE_SWEEP_INTERVAL_MS:
                connection.rest()
            if 0 <= idle_ms_max < quiet_ms and not connection.slots:
                # One that is still there after it was closed does not read what it asked for.
                connection.abandon() if connection.closing else connection.close()
            if number % SWEEP_SLICE == SWEEP_SLICE - 1:
                yield Pause()
