"""The metadata log under its quorum: submit, commit, fold, publish.

Two images exist: `latest` has every record that this leader submitted, so that decisions see each other at once; the
committed one has what a majority keeps, and is published to whoever acts on it. When another leader comes, `latest`
falls back to what is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Pause, Steps
from penstock.core.log.log import Log
from penstock.core.metadata.difference import difference
from penstock.core.metadata.fold import Delta, fold
from penstock.core.metadata.framing import decode_record
from penstock.core.metadata.image import Image
from penstock.core.node.folding import Batches, read_slice
from penstock.core.node.links.link import Address
from penstock.core.node.quorum import setting_aside
from penstock.core.node.quorum.driver import RaftDriver
from penstock.core.node.quorum.ports import QuorumHost
from penstock.core.node.quorum.setting_aside import Loss
from penstock.core.node.quorum.snapshot_files import Loaded, SnapshotFiles
from penstock.core.node.quorum.snapshotting import Snapshotting
from penstock.core.node.quorum.submissions import OnCommitted, Submissions
from penstock.core.node.serving.slots import Answerable
from penstock.core.raft.history import VoterHistory
from penstock.core.raft.ids import ReplicaKey, Snapshot, SnapshotId
from penstock.core.raft.ports import RaftLog
from penstock.core.raft.raft import Raft
from penstock.core.records.record import iterate
from penstock.core.wire.schema import Request, StoredRecord

Publish = Callable[[Image, Delta, OnCommitted], None]
Leadership = Callable[[int | None, int], None]
"""(who leads, in which epoch)"""


class Found(NamedTuple):
    """What was found when the quorum was opened: who this replica is, the newest snapshot, its image, who votes, and
    the Raft that goes on from there, over a log and from a time on; how far the log is known to be synced, and what was
    lost of it."""

    key: ReplicaKey
    newest: SnapshotId
    image: Image
    voters: VoterHistory
    make_raft: Callable[[RaftLog, int], Raft]
    noted_offset: int = 0
    loss: Loss | None = None


class Quorum:
    """This node's replica of the metadata, and what it knows of the others'."""

    def __init__(self, node: QuorumHost, log: Log, files: SnapshotFiles, found: Found) -> None:
        image = found.image
        self._node = node
        self._key = found.key
        self._voters = found.voters
        self._make_raft = found.make_raft
        self.log = log
        self._files = files
        self.loss = found.loss
        """What was found damaged, until all of it is here again."""
        self.bootstrap: list[StoredRecord] = []  # What a new cluster begins with.
        self._driver = RaftDriver(node, log, files, self, found.noted_offset)
        self._submissions = Submissions(image, self, node.tasks)
        self._snapshotting = Snapshotting(node, log, files, self._driver, found.newest, lambda: self._committed)
        self._committed = image
        # Everything below is folded into the committed image; everything below `_target` is committed.
        self._applied = self._target = image.offset + 1
        self._is_replaying = False
        self._is_installing = False
        # What was committed before the node was ready to act on it.
        self._held: list[tuple[Image, Delta]] | None = []
        # Which topics records have removed before the node acted on any image.
        self._removed: set[bytes] = set()
        self._publish: Publish
        self._leader_id: int | None = None
        self._led_epoch: int | None = None
        self._coming: int | None = None
        self._listeners: list[Leadership] = []
        self._awaiting: list[Callable[[], None]] = []

    # What there is to see

    @property
    def uncommitted_image(self) -> Image:
        return self._submissions.uncommitted_image

    @property
    def committed_image(self) -> Image:
        return self._committed

    @property
    def raft(self) -> Raft:
        return self._driver.raft

    @property
    def has_begun(self) -> bool:
        """Whether Raft is at work, so that others can ask it."""
        return self._driver.has_begun

    @property
    def end_offset(self) -> int:
        return self.log.end_offset

    @property
    def epoch(self) -> int:
        return self.raft.election.epoch

    @property
    def leader_id(self) -> int | None:
        return self._leader_id

    @property
    def leads(self) -> bool:
        """Whether this node decides: it leads, and its image has everything that was decided before."""
        return self._led_epoch is not None and self._led_epoch == self.raft.led_epoch

    @property
    def is_alone(self) -> bool:
        """Whether this is the only voter, so that nobody need be waited for. Who has lost what said so asks others."""
        voters = self._voters.last
        return self.loss is None and len(voters) == 1 and voters.is_voter(self._key)

    @property
    def voter_ids(self) -> frozenset[int]:
        return self._voters.last.ids

    @property
    def kraft_version(self) -> int:
        """Whether the voters are kept in the log (1) or in everybody's settings (0)."""
        return self._voters.kraft_version

    @property
    def led_ms(self) -> int | None:
        """When a majority was last known to follow this leader; None where there is nobody else."""
        if self.is_alone:
            return None
        raft_now_ms = self._driver.now_ms
        return self._node.now_ms - (raft_now_ms - self.raft.majority_ms(raft_now_ms))

    @property
    def heard_leader(self) -> int | None:
        """Who leads, if this node hears of it."""
        return self.raft.heard_leader(self._driver.now_ms) if self.has_begun else None

    @property
    def is_left_out(self) -> bool:
        """Whether the cluster has a leader that this node does not hear of."""
        return self.raft.is_left_out(self._driver.now_ms)

    @property
    def predecessor(self) -> int | None:
        """Who decided last before this leader, if that is sure."""
        return self.raft.predecessor

    @property
    def leader_address(self) -> Address | None:
        """Where the leader's controller listener is."""
        leader = self.raft.leader
        return None if leader is None else Address(leader.host, leader.port)

    def on_leadership(self, call: Leadership) -> None:
        """Call whenever another leads, or nobody; the new leader itself hears of it when it may decide."""
        self._listeners.append(call)

    # What the node asks for

    def load(self) -> Steps[None]:
        """Fold all that the log holds: for the only voter, which commits by itself."""
        while self._applied < self.log.end_offset:
            batches = yield from read_slice(self.log, self._applied, self.log.end_offset)
            if not batches:
                break
            self._note_removed(self._fold(batches))
            if self._applied < self.log.end_offset:
                yield Pause()
        self._target = self._applied
        self._submissions.rebase(self._committed)

    def begin(self) -> None:
        """Let Raft take over. The only voter need not hear that what its log holds is committed: it decides at once,
        and what it decides first is synced together with the record that opens its epoch."""
        self._driver.begin(self._make_raft)
        if self.is_alone and self.raft.led_epoch is not None:
            self.leader_is(self._node.node_id, self.raft.led_epoch)
        self._driver.pump()

    def start_image(self) -> Image:
        """The committed image, for a node to start from; what follows is published."""
        self._held = []
        return self._committed

    def take_removed(self) -> set[bytes]:
        """The ids of topics that records have removed in all that was folded before the start image: what a snapshot
        has left out is not among them."""
        removed, self._removed = self._removed, set()
        return removed

    def _note_removed(self, delta: Delta) -> None:
        if delta.is_recorded:
            self._removed.update(topic.id for topic in delta.removed.values())

    def open(self, publish: Publish) -> None:
        """From now on publish what is committed, beginning with what has been since `start_image`."""
        self._publish = publish
        held, self._held = self._held, None
        for image, delta in held or ():
            publish(image, delta, _nobody_waits)

    def when_caught_up(self, call: Callable[[], None]) -> None:
        """Call once the committed image has everything that was committed when this node came."""
        self._awaiting.append(call)
        self._look_whether_caught_up()

    def close(self) -> Steps[None]:
        self._driver.end()
        yield from self.log.close()
        yield from self._driver.note.close()

    def handle(self, ticket: Answerable, request: Request, version: int) -> None:
        """One of Raft's own requests; the answer goes to the ticket."""
        self._driver.handle(ticket, request, version)

    def refused(self, address: Address) -> None:
        """Nobody listens at an address, which may be the leader's."""
        self._driver.refused(address)

    def upgrade_voters(self) -> ErrorCode:
        """Keep the voters in the log from now on."""
        return self._driver.upgrade_voters()

    def resign(self) -> None:
        """Let another voter lead."""
        self._driver.resign()

    def submit(self, records: Sequence[StoredRecord], now_ms: int, done: OnCommitted) -> None:
        """Append records as one atomic batch; `done` is called once they are committed and acted upon."""
        if self.log.failure is not None:
            done(ErrorCode.KAFKA_STORAGE_ERROR)
        elif not self.leads:
            done(ErrorCode.NOT_CONTROLLER)
        else:
            self._submissions.submit(records, now_ms, done)

    @property
    def is_settled(self) -> bool:
        """Whether all that `latest` has is committed, so that it can be told."""
        return self._submissions.is_settled

    def when_settled(self, done: OnCommitted) -> None:
        """Call once all that `latest` has now is committed, or with the error that leaves it open."""
        if self.log.failure is not None:
            done(ErrorCode.KAFKA_STORAGE_ERROR)
        else:
            self._submissions.when_settled(done)

    def append(self, values: Sequence[bytes], timestamp_ms: int) -> ErrorCode:
        """Records of submissions, in their turn."""
        self._snapshotting.count(sum(map(len, values)), timestamp_ms)
        return self._driver.append(values, timestamp_ms)

    # What Raft tells

    def committed(self, offset: int) -> None:
        self._target = max(self._target, offset)
        self._advance()

    def leader_is(self, leader_id: int | None, epoch: int) -> None:
        if self.leads and epoch == self._led_epoch:
            return
        if leader_id == self._node.node_id:
            # It decides when its image has all that is committed, which may take some reading.
            self._coming = epoch
            self._lead_when_ready()
            return
        self._coming = None
        self._leader_id = leader_id
        if self._led_epoch is not None:
            self._led_epoch = None
            self._submissions.lose_all(ErrorCode.NOT_CONTROLLER)
        self._tell_leadership(epoch)

    def rebuilt(self, offset: int) -> None:
        """All that was lost is here again."""
        assert self.loss is not None, "nothing was lost"
        self._node.log(
            "info", "quorum", f"the metadata is here again, up to offset {offset - 1}; {self.loss.folder} can go"
        )
        self.loss = None
        self._node.metrics.metadata_rebuilds += 1
        self._node.tasks.run(setting_aside.end(self.log.dir), self._dropped)
        self._look_whether_caught_up()

    def turned(self) -> None:
        self._look_whether_caught_up()

    def written(self) -> None:
        self._advance()

    def lost_from(self, end_offset: int) -> None:
        self._submissions.lose_from(end_offset, ErrorCode.KAFKA_STORAGE_ERROR)

    def flush_failed(self) -> None:
        self._submissions.refuse_waiting(ErrorCode.KAFKA_STORAGE_ERROR)

    def install(self, snapshot: Snapshot) -> Steps[Loaded]:
        """A snapshot takes the place of the log and of the image."""
        loaded = yield from self._files.complete(snapshot)
        self._is_installing = True
        while self._is_replaying or self.log.is_writing:
            yield Pause()
        yield from self._driver.note.lower(snapshot.id.end_offset)
        yield from self.log.restart_at(snapshot.id.end_offset, self._node.now_ms)
        self._driver.note.release()
        delta = difference(self._committed, loaded.image)
        self._committed = loaded.image
        self._applied = self._target = snapshot.id.end_offset
        self._submissions.rebase(loaded.image)
        self._snapshotting.loaded(snapshot.id)
        self._is_installing = False
        self._publish_or_hold(loaded.image, delta, _nobody_waits)
        return loaded

    def drop_before(self, snapshot_id: SnapshotId) -> None:
        self._node.tasks.run(self._drop(snapshot_id), self._dropped)

    def _drop(self, snapshot_id: SnapshotId) -> Steps[None]:
        yield from self._files.drop_before(snapshot_id)
        if self.log.start_offset < snapshot_id.end_offset <= self.log.written_offset:
            yield from self.log.delete_records(snapshot_id.end_offset)
            yield from self.log.retain(self._node.now_ms)
            yield from self.log.purge(self._node.now_ms)

    def _dropped(self, outcome: object) -> None:
        if isinstance(outcome, Exception):
            self._node.log("warning", "quorum", f"old metadata was not removed: {outcome}")

    # Folding what is committed

    def _advance(self) -> None:
        """Publish what has been committed: of what this leader submitted the images are there, the rest is read."""
        if self._is_replaying or self._is_installing:
            return
        if self._led_epoch is not None:
            self._publish_own()
        elif self._applied < min(self._target, self.log.written_offset):
            self._is_replaying = True
            self._node.tasks.run(self._replay(), self._replayed)
        else:
            self._lead_when_ready()
            self._look_whether_caught_up()

    def _publish_own(self) -> None:
        for image, delta, done, _ in self._submissions.take_committed(self._target):
            self._applied = image.offset + 1
            self._committed = image
            self._publish_or_hold(image, delta, done)
        if self._applied < self._target:
            # What is left are the quorum's own records.
            self._applied = self._target
            self._committed = self._submissions.passed(self._target - 1)
            self._publish_or_hold(self._committed, Delta(), _nobody_waits)
        self._snapshotting.consider(self._committed)

    def _replay(self) -> Steps[None]:
        while self._applied < (end := min(self._target, self.log.written_offset)):
            batches = yield from read_slice(self.log, self._applied, end)
            if self._is_installing:
                return
            assert batches, "the log has everything that is committed"
            delta = self._fold(batches)
            self._publish_or_hold(self._committed, delta, _nobody_waits)
            yield Pause()

    def _replayed(self, outcome: object) -> None:
        self._is_replaying = False
        if isinstance(outcome, Exception):
            self._node.fail(f"the metadata log in {self.log.dir} cannot be read: {outcome}")
            return
        if self._led_epoch is None:
            self._submissions.rebase(self._committed)
        self._snapshotting.consider(self._committed)
        self._advance()

    def _fold(self, batches: Batches) -> Delta:
        """Fold a slice; records of the quorum's own only move the image's offset."""
        records = [
            decode_record(record.value or b"")
            for data, position, header in batches
            if not header.is_control
            for record in iterate(data, position)
        ]
        last = batches[-1][2]
        self._committed, delta = fold(self._committed, records, last.last_offset)
        self._applied = last.next_offset
        self._snapshotting.count(sum(header.size for _, _, header in batches), last.max_timestamp)
        return delta

    def _publish_or_hold(self, image: Image, delta: Delta, done: OnCommitted) -> None:
        """A node that is not ready to act yet will act on it later. Others need not wait for that."""
        if self._held is None:
            self._publish(image, delta, done)
        else:
            self._held.append((image, delta))
            self._note_removed(delta)
            done(ErrorCode.NONE)

    # Leading

    @property
    def _is_behind(self) -> bool:
        """Whether something is committed that the image does not have. Raft knows of it before it is told here; only
        what a lone voter finds in its log was folded before Raft began."""
        known = self._target if self.is_alone else max(self._target, self.raft.high_watermark)
        return self._applied < known

    def _lead_when_ready(self) -> None:
        epoch = self._coming
        if epoch is None or self._is_replaying or self._is_behind:
            return
        self._coming = None
        if epoch == self.raft.led_epoch:
            self._led_epoch = epoch
            self._leader_id = self._node.node_id
            self._node.metrics.metadata_elections += 1
            self._submissions.rebase(self._committed)
            self._tell_leadership(epoch)

    def _tell_leadership(self, epoch: int) -> None:
        for call in list(self._listeners):
            call(self._leader_id, epoch)

    def _look_whether_caught_up(self) -> None:
        if not self._awaiting or self._is_replaying or self._is_behind:
            return
        if self.is_alone or self.raft.is_caught_up:
            awaiting, self._awaiting = self._awaiting, []
            for call in awaiting:
                call()


def _nobody_waits(code: ErrorCode) -> None:
    """What came from the log was submitted elsewhere."""
