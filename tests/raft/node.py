"""A node of the test world: a `Raft`, its disk, and a state that is everything committed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from penstock.core.base.endpoints import Endpoint
from penstock.core.raft.checkpoint import snapshot_foot, snapshot_head
from penstock.core.raft.decisions import (
    Answer,
    Committed,
    Install,
    LogRange,
    News,
    Ready,
    Rebuilt,
    SnapshotRange,
    Truncate,
    WriteChunk,
)
from penstock.core.raft.election import ElectionState
from penstock.core.raft.history import VoterHistory
from penstock.core.raft.ids import ReplicaKey, Snapshot, SnapshotId
from penstock.core.raft.leader import LeaderState
from penstock.core.raft.raft import Raft
from penstock.core.raft.rebuilding import Rebuilding
from penstock.core.raft.settings import Local
from penstock.core.raft.voters import Voter, VoterSet
from penstock.core.records.batch import iterate_headers
from penstock.core.records.build import build_batch
from penstock.core.records.record import iterate
from penstock.core.wire.api.fetch import FetchResponse
from penstock.core.wire.api.fetch_snapshot import FetchSnapshotResponse
from tests.raft.memory import Entry, MemoryLog, Stored

if TYPE_CHECKING:
    from tests.raft.world import World

LISTENER = "CONTROLLER"


def key_of(node_id: int) -> ReplicaKey:
    return ReplicaKey(node_id, node_id.to_bytes(16))


def voter_of(node_id: int) -> Voter:
    return Voter(key_of(node_id), (Endpoint(LISTENER, f"host-{node_id}", 9000 + node_id),), (0, 1))


class Node:
    """One machine. The fields under "the disk" survive its process."""

    def __init__(self, world: World, node_id: int, static: VoterSet, bootstrap: bytes) -> None:
        self.world = world
        self.id = node_id
        self.static = static
        self.bootstrap = bootstrap
        self.raft: Raft | None = None
        self.life = 0
        self.timer_ms: int | None = None
        self.paused_until_ms = 0
        self.saving: ElectionState | None = None
        self.led_epoch = -1
        self.seen_voters: frozenset[int] = frozenset()
        self.applied: dict[int, Entry] = {}
        self.applied_upto = 0
        # The disk.
        self.log = MemoryLog()
        self.saved: ElectionState | None = None
        self.snapshots: dict[SnapshotId, bytes] = {SnapshotId(0, 0): bootstrap} if bootstrap else {}
        self.arriving = b""
        self.rebuilding: bool | None = None
        """Whether the log was lost, and if so (True) the election state as well."""

    # Living and dying

    def start(self) -> None:
        history = VoterHistory(self.static)
        self.applied, self.applied_upto = {}, 0
        if self.snapshots:
            latest = max(self.snapshots)
            self.log.fit(latest)
            self.applied_upto = latest.end_offset
            history.load_snapshot(latest.end_offset, self.snapshots[latest])
            self.applied = _state_of(self.snapshots[latest])
        for batch in self.log.batches:
            if batch.is_control and batch.base_offset >= (max(self.snapshots).end_offset if self.snapshots else 0):
                history.fold(batch.data)
        local = Local("cluster", key_of(self.id), LISTENER, voter_of(self.id).endpoints, self.world.bootstrap)
        have = [Snapshot(snapshot_id, len(data)) for snapshot_id, data in self.snapshots.items()]
        dice = self.world.chance.fork(f"raft-{self.id}-{self.life}")
        self.raft = Raft(
            local,
            self.world.settings,
            self.log,
            history,
            lambda bound: dice.between(0, bound - 1),
            self.world.now_ms,
            snapshots=have,
            saved=self.saved,
            rebuilding=None if self.rebuilding is None else Rebuilding(is_election_lost=self.rebuilding),
        )
        self.perform()

    def stop(self, *, power_lost: bool, survivors: int, save_survives: bool) -> None:
        self.raft = None
        self.life += 1
        self.timer_ms = None
        if self.saving is not None and save_survives:
            self.saved = self.saving
        self.saving = None
        if power_lost:
            self.log.lose_power(survivors)
        else:
            self.log.crash()

    def lose_log(self, *, election_lost: bool) -> None:
        """What a dead machine's disk held cannot be read any more. That it was so, it does not forget."""
        assert self.raft is None, "somebody writes to that log"
        self.log = MemoryLog()
        self.snapshots = {SnapshotId(0, 0): self.bootstrap} if self.bootstrap else {}
        self.arriving = b""
        self.rebuilding = bool(self.rebuilding) or election_lost
        if election_lost:
            self.saved = None

    @property
    def leads(self) -> bool:
        return self.raft is not None and isinstance(self.raft.role, LeaderState)

    # Performing

    def perform(self) -> None:
        """Do what the machine decided, in the order of `Ready`."""
        assert self.raft is not None, "a dead node does nothing"
        while True:
            ready = self.raft.ready()
            self._store(ready)
            self._speak(ready)
            for news in ready.news:
                self._tell(news)
            if ready.drop_before is not None:
                self._drop_before(ready.drop_before)
            if not (ready.news or ready.storage):
                break
        self._watch_leadership()
        self.world.set_timer(self)

    def _store(self, ready: Ready) -> None:
        world = self.world
        if ready.save is not None:
            self.saving = ready.save
            delay_ms = world.disk_delay()
            world.later(self, delay_ms, self._saved)
            world.on_save(self, delay_ms)
        for operation in ready.storage:
            match operation:
                case WriteChunk(_, position, data):
                    self.arriving = self.arriving[:position] + bytes(data)
                case Truncate(offset):
                    world.counts["truncations"] += 1
                    world.later(self, world.disk_delay(), partial(self._truncated, offset))
                case Install(snapshot_id, size_bytes):
                    assert len(self.arriving) == size_bytes, "the chunks make the whole"
                    world.later(self, world.disk_delay(), partial(self._installed, snapshot_id))
        if ready.flush:
            batches = list(self.log.batches)
            world.later(self, world.disk_delay(), lambda: self._synced(batches))

    def _saved(self) -> None:
        assert self.raft is not None, "a dead node does nothing"
        self.saved, self.saving = self.saving, None
        self.raft.on_saved(self.world.now_ms)

    def _synced(self, batches: list[Stored]) -> None:
        assert self.raft is not None, "a dead node does nothing"
        self.log.sync(batches)
        self.raft.on_synced(self.world.now_ms)

    def _truncated(self, offset: int) -> None:
        assert self.raft is not None, "a dead node does nothing"
        self.log.truncate(offset)
        self.raft.on_truncated(self.world.now_ms)

    def _installed(self, snapshot_id: SnapshotId) -> None:
        assert self.raft is not None, "a dead node does nothing"
        self.world.counts["snapshots installed"] += 1
        self.snapshots[snapshot_id] = self.arriving
        self.applied, self.applied_upto = _state_of(self.arriving), snapshot_id.end_offset
        self.log.replace(snapshot_id.end_offset)
        self.raft.on_installed(self.arriving, self.world.now_ms)

    def _speak(self, ready: Ready) -> None:
        for send in ready.sends:
            self.world.send(self, send)
        for answer in ready.answers:
            self.world.answer(self, self._with_body(answer))

    def _with_body(self, answer: Answer) -> Answer:
        match answer.body, answer.response:
            case LogRange(offset, bytes_max), FetchResponse() as response:
                response.responses[0].partitions[0].records = self.log.read(offset, bytes_max)
            case SnapshotRange(snapshot_id, position, bytes_max), FetchSnapshotResponse() as chunk:
                data = self.snapshots[snapshot_id][position : position + bytes_max]
                chunk.topics[0].partitions[0].unaligned_records = data
        return answer

    def _tell(self, news: News) -> None:
        if isinstance(news, Rebuilt):
            self.rebuilding = None
            self.world.counts["logs rebuilt"] += 1
        if isinstance(news, Committed):
            assert self.raft is not None, "a dead node does nothing"
            court, epoch = self.world.court, self.raft.election.epoch
            self.applied |= court.commits(self.id, epoch, self.applied_upto, news.offset, self.log)
            self.applied_upto = max(self.applied_upto, news.offset)
            self.world.committed(self, news.offset)

    def _watch_leadership(self) -> None:
        assert self.raft is not None, "a dead node does nothing"
        if self.leads and self.raft.voters.last.ids != self.seen_voters:
            self.world.counts["voters added" if self.raft.voters.last.ids > self.seen_voters else "voters removed"] += 1
        self.seen_voters = self.raft.voters.last.ids
        if self.leads and self.raft.election.epoch != self.led_epoch:
            self.led_epoch = self.raft.election.epoch
            self.world.counts["elections"] += 1
            self.world.court.leads(self.led_epoch, self.id, self.life, self.log, self.applied)
            self.world.on_lead(self)

    def _drop_before(self, snapshot_id: SnapshotId) -> None:
        self.snapshots = {each: data for each, data in self.snapshots.items() if each >= snapshot_id}
        self.log.drop_before(snapshot_id)

    # What the world asks for

    def make_snapshot(self) -> None:
        raft = self.raft
        newest = max(self.snapshots).end_offset if self.snapshots else 0
        if raft is None or raft.high_watermark <= max(newest, self.log.start_offset):
            return
        snapshot_id = raft.snapshot_id(raft.high_watermark)
        head = snapshot_head(raft.voters, snapshot_id, self.world.now_ms, self.world.now_ms)
        values = [b"%d %d %b" % (offset, epoch, value) for offset, (epoch, value) in self.applied.items()]
        body = build_batch([(None, value, (), 0) for value in values], base_offset=3) if values else b""
        foot = snapshot_foot(snapshot_id, 3 + len(values), self.world.now_ms)
        self.snapshots[snapshot_id] = data = bytes(head) + bytes(body) + bytes(foot)
        self.world.counts["snapshots made"] += 1
        raft.on_snapshot(Snapshot(snapshot_id, len(data)), self.world.now_ms)
        self.perform()


def _state_of(snapshot: bytes) -> dict[int, Entry]:
    state: dict[int, Entry] = {}
    for position, header in iterate_headers(snapshot):
        if not header.is_control:
            for record in iterate(snapshot, position):
                offset, epoch, value = (record.value or b"").split(b" ", 2)
                state[int(offset)] = (int(epoch), value)
    return state
