"""The scrub: sealed segments and their indexes are read in the background and compared with their checksums. An active
one is sealed as soon as a reader has met damage in it, because only what has an end can be looked through and cut off.

Nobody else reads old records for a long time, and a copy that is damaged without anybody knowing is none. It reads with
a pace, remembers in memory how far it came, and begins each pass somewhere else, so that a node that is started often
gets everywhere too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

from penstock.core.base.ports import Entropy, FileFailure, Pause, Read, Steps
from penstock.core.base.steps import expect_no_mistake
from penstock.core.log.damage import Damage, mark
from penstock.core.log.log import Log
from penstock.core.log.reader import rebuild_indexes, segment_holding
from penstock.core.log.segment import Segment
from penstock.core.log.verifying import Bad, SegmentCheck
from penstock.core.node.deadlines import Deadline
from penstock.core.node.host import Host
from penstock.core.node.observing.metrics import Metrics
from penstock.core.node.storage.losses import Losses
from penstock.core.partition.partition import Partition
from penstock.core.partition.replicated import ReplicatedLeader
from penstock.core.records.errors import CorruptBatch

RATE: Final = "penstock.scrub.bytes.per.second"
TURN_MS: Final = 1_000
PASS_INTERVAL_MS: Final = 24 * 3_600_000
"""A small node has read everything within seconds: it need not do so again before a day has gone by."""

SUSPECT_RATE: Final = 2 << 20

Work = Iterator[tuple[Partition, Segment]]


class Partitions(Protocol):
    """What this node holds."""

    def __iter__(self) -> Iterator[Partition]: ...

    def get(self, topic: str, index: int) -> Partition | None: ...


class ScrubHost(Host, Protocol):
    """What the scrub needs of the node."""

    @property
    def state(self) -> str: ...

    @property
    def entropy(self) -> Entropy: ...

    @property
    def metrics(self) -> Metrics: ...

    @property
    def replicas(self) -> Partitions: ...

    @property
    def losses(self) -> Losses: ...


class Scrub:
    """One pass after the other over what this node holds."""

    def __init__(self, node: ScrubHost) -> None:
        self._node = node
        self._found: dict[Log, dict[str, list[Bad]]] = {}
        self._met: dict[tuple[Log, str], None] = {}
        # Where readers found damage: looked at before anything else, as soon as they are sealed and synced.
        self._suspects: list[tuple[Partition, Segment]] = []
        self._timer: Deadline | None = None
        self._work: Work = iter(())
        self._begun_ms: int | None = None
        self._current: tuple[Partition, Segment, SegmentCheck] | None = None
        self._allowance = 0
        self._is_turning = False

    def begin(self) -> None:
        if self._node.settings[RATE]:
            self._later(TURN_MS)

    def found(self) -> Iterator[tuple[Log, Bad]]:
        """What is damaged, as far as it is still there."""
        for log, by_file in self._found.items():
            if not log.is_gone:
                present = {segment.log.path for segment in log.segments}
                yield from ((log, bad) for path, some in by_file.items() if path in present for bad in some)

    def met(self, log: Log, error: CorruptBatch, offset: int) -> None:
        """A reader came upon something that is no batch, from an offset on. The segment is looked through at once."""
        segment = None if offset < 0 else segment_holding(log, offset)
        path = log.dir if segment is None else segment.log.path
        if (log, path) in self._met:
            return
        self._met[log, path] = None
        partition = self._node.replicas.get(log.topic, log.partition)
        will_look = segment is not None and partition is not None and partition.log is log
        level = "warning" if will_look else "error"
        self._node.log(level, "scrub", f"{log.topic}-{log.partition} is damaged in {path}, where it was read: {error}")
        if segment is not None and partition is not None and will_look:
            self._suspects.append((partition, segment))
            self._hurry()

    def forget(self, log: Log) -> None:
        """What was damaged is cut off."""
        self._found.pop(log, None)
        self._met = {key: None for key in self._met if key[0] is not log}

    # Inside

    def _later(self, delay_ms: int) -> None:
        node = self._node
        self._timer = node.deadlines.at(node.now_ms + delay_ms, self._begin_turn)

    def _begin_turn(self) -> None:
        self._timer = None
        self._is_turning = True
        self._node.tasks.run(self._turn(), self._again)

    def _hurry(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not self._is_turning:
            self._later(0)

    def _again(self, outcome: object) -> None:
        self._is_turning = False
        expect_no_mistake(outcome)
        if self._node.state != "running":
            return
        is_over = self._current is None and self._begun_ms is None and not self._suspects
        if not is_over or self._node.settings[RATE]:
            self._later(PASS_INTERVAL_MS if is_over else TURN_MS)

    def _turn(self) -> Steps[None]:
        """As many bytes as a second allows."""
        rate = self._node.settings[RATE]
        if self._begun_ms is None and rate:
            self._begun_ms = self._node.now_ms
            self._work = self._pass()
        # Where nothing is read by itself, what readers have met is.
        rate = rate or SUSPECT_RATE
        # A batch may be larger than that: it is paid for later.
        self._allowance = min(self._allowance, 0) + rate
        while self._allowance > 0 and self._node.state == "running":
            if self._current is None and not (yield from self._take_next()):
                self._begun_ms = None
                return
            yield from self._go_on()
            yield Pause()

    def _pass(self) -> Work:
        partitions = list(self._node.replicas)
        if partitions:
            first = int.from_bytes(self._node.entropy.bytes(4), "big") % len(partitions)
            for partition in partitions[first:] + partitions[:first]:
                yield from ((partition, segment) for segment in list(partition.log.segments))

    def _following(self) -> tuple[Partition, Segment] | None:
        for number, (partition, segment) in enumerate(self._suspects):
            if not self._awaits_disk(partition.log, segment):
                return self._suspects.pop(number)
        return next(self._work, None)

    def _awaits_disk(self, log: Log, segment: Segment) -> bool:
        """Whether a suspect segment will be sealed and synced, but is not yet."""
        if segment.removed or log.is_gone or log.failure is not None or segment.is_durable:
            return False
        if segment is log.active and segment.size_bytes and log.blocked is None:
            log.roll(self._node.now_ms)
        return segment.sealed or log.blocked is not None

    def _take_next(self) -> Steps[bool]:
        while (following := self._following()) is not None:
            partition, segment = following
            if segment.is_durable and segment.size_bytes and not segment.removed and not partition.log.is_gone:
                check = SegmentCheck(segment.log, segment.base_offset, segment.end_offset, segment.size_bytes)
                self._current = partition, segment, check
                try:
                    offsets: bytes = yield Read(segment.offsets.file, 0, segment.offsets.stored_bytes)
                    times: bytes = yield Read(segment.times.file, 0, segment.times.stored_bytes)
                    check.expect(offsets, times)
                except FileFailure as failure:
                    self._give_up(segment, failure)
                    continue
                return True
        return False

    def _go_on(self) -> Steps[None]:
        assert self._current is not None
        partition, segment, check = self._current
        log = partition.log
        try:
            size_bytes = yield from check.step()
        except FileFailure as failure:
            self._give_up(segment, failure)
            return
        self._allowance -= size_bytes
        self._node.metrics.scrubbed_bytes += size_bytes
        if segment.removed or log.is_gone or not segment.sealed or segment.size_bytes != check.size_bytes:
            # It was rewritten, cut or taken away meanwhile.
            self._current = None
        elif check.is_done:
            self._current = None
            yield from self._judge(partition, segment, check)

    def _give_up(self, segment: Segment, failure: FileFailure) -> None:
        self._current = None
        if not segment.removed and self._node.state == "running":
            self._node.log("error", "scrub", f"{segment.log.path} cannot be read: {failure.message}")

    def _judge(self, partition: Partition, segment: Segment, check: SegmentCheck) -> Steps[None]:
        log, path = partition.log, segment.log.path
        known = self._found.get(log, {}).pop(path, None)
        if check.bad:
            self._found.setdefault(log, {})[path] = check.bad
            yield from self._name(partition, segment, check.bad if known is None else [])
        elif check.is_index_bad:
            yield from rebuild_indexes(log, segment)

    def _name(self, partition: Partition, segment: Segment, news: list[Bad]) -> Steps[None]:
        """Say it once. Where others have the records, this replica gives up its part and takes theirs; the mark is for
        the case that it is stopped before it could."""
        log, name = partition.log, f"{partition.topic}-{partition.index}"
        shared = not partition.leads or (isinstance(partition, ReplicatedLeader) and len(partition.in_sync.isr) > 1)
        advice = "it leaves the in-sync set, and takes that from another replica"
        if not shared:
            advice = "no other replica is in sync: stop this node and run `penstock storage repair`"
        for bad in news:
            self._node.log("error", "scrub", f"{name} is damaged in {bad.what}; {advice}")
        if shared:
            first, path = segment.base_offset, segment.log.path
            end = log.end_offset
            yield from mark(log.dir, Damage(log.topic, log.partition, path, 0, first, end, 0, False, False))
            self._node.losses.found(log, first)
