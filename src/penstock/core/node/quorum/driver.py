"""Performs what Raft decides: in the order that `Ready` states, on the node's disk, links and deadlines.

A disk that fails stops the node, because nobody knows what it will hold: a vote that was given must not be forgotten.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Protocol, TypeGuard

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import FileFailure, Pause, Steps
from penstock.core.log.durable import SyncFailed
from penstock.core.log.log import Log
from penstock.core.node.deadlines import Deadline
from penstock.core.node.links.link import Address
from penstock.core.node.links.purposes import FETCHING, RAFT
from penstock.core.node.quorum import state_file
from penstock.core.node.quorum.answering import answer_with_body, ticket_for
from penstock.core.node.quorum.patience import Patient
from penstock.core.node.quorum.ports import QuorumHost
from penstock.core.node.quorum.raft_log import MetadataLog
from penstock.core.node.quorum.snapshot_files import Loaded, SnapshotFiles
from penstock.core.node.quorum.synced_note import SyncedNote
from penstock.core.node.serving.slots import Answerable
from penstock.core.raft.decisions import (
    Answer,
    Committed,
    Contradiction,
    Install,
    NotLeader,
    Ready,
    Rebuilt,
    Send,
    Truncate,
    WriteChunk,
)
from penstock.core.raft.election import ElectionState
from penstock.core.raft.ids import Snapshot, SnapshotId
from penstock.core.raft.ports import RaftLog
from penstock.core.raft.raft import Raft
from penstock.core.wire.api.fetch import FetchRequest
from penstock.core.wire.api.fetch_snapshot import FetchSnapshotRequest
from penstock.core.wire.schema import Request, Response

"""Fetches wait at the leader, and whatever came behind them on the same connection would wait too."""
RETRY_MS: Final = 1_000
"""Until a full disk is tried again."""
LATE_MS_MAX: Final = 50
"""A timer that comes later than this tells that the node was not running."""


class Owner(Protocol):
    """Whose Raft it is: the keeper of the image."""

    def committed(self, offset: int) -> None: ...
    def leader_is(self, leader_id: int | None, epoch: int) -> None: ...
    def install(self, snapshot: Snapshot) -> Steps[Loaded]: ...
    def drop_before(self, snapshot_id: SnapshotId) -> None: ...
    def lost_from(self, end_offset: int) -> None: ...
    def flush_failed(self) -> None: ...
    def written(self) -> None: ...
    def turned(self) -> None: ...
    def rebuilt(self, offset: int) -> None: ...


class RaftDriver:
    """One Raft at work."""

    def __init__(self, node: QuorumHost, log: Log, files: SnapshotFiles, owner: Owner, noted_offset: int) -> None:
        self._node = node
        self._log = log
        self._files = files
        self._owner = owner
        self.raft_log = MetadataLog(log)
        self.note = SyncedNote(node, log, noted_offset)
        self._raft: Raft | None = None
        # Raft's time begins with the wall clock's and runs with the one that nobody can set.
        self._offset_ms = node.now_ms - node.now_us // 1000
        self._storage: deque[Truncate | WriteChunk | Install] = deque()
        # What was begun of the first of them, if that is more than can be done twice.
        self._begun: Patient[object] | None = None
        self._lacks_room = False
        self._deadline: Deadline | None = None
        self._is_pumping = False
        self._is_ended = False
        self._is_storing = False
        self._is_flushing = False
        self._flush_wanted = False
        self._was_blocked = False
        log.on_progress = self._progressed

    @property
    def now_ms(self) -> int:
        return self._offset_ms + self._node.now_us // 1000

    @property
    def raft(self) -> Raft:
        assert self._raft is not None, "it has not begun"
        return self._raft

    @property
    def has_begun(self) -> bool:
        return self._raft is not None

    def begin(self, make: Callable[[RaftLog, int], Raft]) -> None:
        """Let there be a Raft, which the first `pump` sets to work."""
        self._raft = make(self.raft_log, self.now_ms)

    def end(self) -> None:
        """Hand leadership over, and do nothing any more."""
        self.resign()
        self._is_ended = True
        if self._deadline is not None:
            self._deadline.cancel()

    # Events

    def handle(self, ticket: Answerable, request: Request, version: int) -> None:
        asking = ticket_for(ticket, request, version)
        self._tell(lambda raft: raft.handle(asking, request, version, self.now_ms, asking.line))

    def refused(self, address: Address) -> None:
        self._tell(lambda raft: raft.on_refused(address.host, address.port, self.now_ms))

    def append(self, values: Sequence[bytes], timestamp_ms: int) -> ErrorCode:
        raft = self.raft
        if self._log.blocked is not None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        epoch = raft.led_epoch
        if epoch is None or isinstance(raft.append(values, epoch, self.now_ms, timestamp_ms), NotLeader):
            return ErrorCode.NOT_CONTROLLER
        self._node.metrics.metadata_rates.appended(len(values), self._log.end_offset, self._node.now_us)
        self.pump()
        return ErrorCode.NONE

    def upgrade_voters(self) -> ErrorCode:
        code = self.raft.upgrade_voters(self.now_ms)
        self.pump()
        return code

    def resign(self) -> None:
        """Hand leadership over, if it is ours."""
        self._tell(lambda raft: raft.resign(self.now_ms))

    def made(self, snapshot: Snapshot) -> None:
        """The owner has made a snapshot."""
        self._tell(lambda raft: raft.on_snapshot(snapshot, self.now_ms))

    def _tell(self, event: Callable[[Raft], object]) -> None:
        """One event, and what follows from it."""
        if self._is_ended or self._node.state == "failed":
            return
        raft = self.raft
        if self._deadline is not None and self._node.now_ms - self._deadline.at_ms > LATE_MS_MAX:
            raft.on_stall(self.now_ms)
        try:
            event(raft)
        except Contradiction as error:
            self._node.fail(f"the metadata of this node and of the cluster's leader exclude each other: {error}")
        except ApiError as error:
            self._fail(error)
        else:
            self.pump()

    def _timer(self) -> None:
        self._tell(lambda raft: raft.on_timer(self.now_ms))

    def _replied(self, send: Send, response: Response | None) -> None:
        self._tell(lambda raft: raft.on_reply(send.to, send.correlation, response, self.now_ms))

    def _progressed(self) -> None:
        """The log tells that appends were written, or that some were lost."""
        if self._log.failure is not None:
            self._owner.flush_failed()
            self._fail(self._log.failure)
            return
        if self.raft_log.take_losses():
            self._owner.lost_from(self._log.end_offset)
            self._tell(lambda raft: raft.on_lost(self.now_ms))
        elif self._was_blocked and self._log.blocked is None:
            # A candidate may have won meanwhile, and waits to open its epoch.
            self._tell(lambda raft: raft.on_timer(self.now_ms))
        self._was_blocked = self._log.blocked is not None
        self._flush()
        self._owner.written()

    def _fail(self, error: Exception) -> None:
        if self._node.state != "failed":
            self._node.fail(f"the metadata log in {self._log.dir} cannot be used: {error}")

    # Performing

    def pump(self) -> None:
        """Perform until there is nothing left to do now."""
        raft = self.raft
        if self._is_pumping or self._is_ended:
            return
        self._is_pumping = True
        try:
            while self._node.state != "failed" and (ready := raft.ready()):
                self._perform(ready)
        finally:
            self._is_pumping = False
        # Last, so that one sync serves all that was appended in this turn.
        self._flush()
        self._set_deadline(raft)
        self._owner.turned()

    def _perform(self, ready: Ready) -> None:
        if ready.save is not None:
            self._save(ready.save)
        self._storage += ready.storage
        self._begin_storing()
        self._flush_wanted = self._flush_wanted or ready.flush
        for send in ready.sends:
            self._send(send)
        for answer in ready.answers:
            self._answer(answer)
        for news in ready.news:
            if isinstance(news, Committed):
                leads = self.raft.led_epoch is not None
                self._node.metrics.metadata_rates.committed(news.offset, self._node.now_us, leads=leads)
                self._owner.committed(news.offset)
            elif isinstance(news, Rebuilt):
                self._owner.rebuilt(news.offset)
            else:
                self._owner.leader_is(news.leader_id, news.epoch)
        if ready.drop_before is not None:
            self._owner.drop_before(ready.drop_before)

    def _try_again(self, attempt: Callable[[], None]) -> None:
        """Later, unless it is all over by then."""
        self._node.deadlines.at(self._node.now_ms + RETRY_MS, lambda: None if self._is_ended else attempt())

    def _set_deadline(self, raft: Raft) -> None:
        due_ms = raft.deadline_ms
        at_ms = None if due_ms is None else self._node.now_ms + due_ms - self.now_ms
        if self._deadline is not None:
            if self._deadline.at_ms == at_ms:
                return
            self._deadline.cancel()
        self._deadline = None if at_ms is None else self._node.deadlines.at(at_ms, self._timer)

    def _save(self, election: ElectionState) -> None:
        self._node.tasks.run(state_file.write(self._log.dir, election), partial(self._saved, election))

    def _saved(self, election: ElectionState, outcome: object) -> None:
        if _may_pass(outcome):
            # The old state is still there, and nothing is said until the new one is.
            self._node.log(
                "error", "quorum", f"the state of the election cannot be saved and will be tried again: {outcome}"
            )
            self._try_again(lambda: self._save(election))
        elif isinstance(outcome, Exception):
            self._fail(outcome)
        else:
            self._tell(lambda raft: raft.on_saved(self.now_ms))

    # The log and snapshots that arrive

    def _begin_storing(self) -> None:
        if self._storage and not self._is_storing:
            self._is_storing = True
            self._node.tasks.run(self._store(), self._stored)

    def _store(self) -> Steps[None]:
        """One operation after the other; where the disk is full, the first one waits. Raft takes nothing in while its
        log is cut or replaced."""
        while self._storage:
            first = self._storage[0]
            if isinstance(first, WriteChunk):
                yield from self._files.write_chunk(first.id, first.position, first.data)
            else:
                self._begun = self._begun or Patient(self._replace(first))
                yield from self._begun.go_on()
                self._begun = None
            self._storage.popleft()
            self._lacks_room = False

    def _replace(self, decision: Truncate | Install) -> Steps[None]:
        if isinstance(decision, Truncate):
            while self._log.is_writing:
                yield Pause()
            yield from self.note.lower(decision.offset)
            yield from self._log.truncate_to(decision.offset)
            self.note.release()
            self.raft_log.take_losses()
            self._node.metrics.metadata_truncations += 1
            self._tell(lambda raft: raft.on_truncated(self.now_ms))
        else:
            controls = (yield from self._owner.install(Snapshot(decision.id, decision.size_bytes))).controls
            self.raft_log.take_losses()
            self._node.metrics.metadata_snapshots_installed += 1
            self._tell(partial(_installed, controls, self.now_ms))

    def _stored(self, outcome: object) -> None:
        self._is_storing = False
        if _may_pass(outcome) and (self._begun is None or outcome.lacks_room):
            if not self._lacks_room:
                self._node.log(
                    "error", "quorum", f"metadata from the leader cannot be stored and will be tried again: {outcome}"
                )
            self._lacks_room = True
            self._try_again(self._begin_storing)
        elif isinstance(outcome, Exception):
            self._fail(outcome)

    def _flush(self) -> None:
        """One sync serves everything written before it; what came meanwhile needs another."""
        log = self._log
        if self._is_flushing or not self._flush_wanted:
            return
        if log.synced_offset >= log.end_offset:
            # What was to be synced is lost.
            self._flush_wanted = False
            self._flushed(None)
        elif log.written_offset > log.synced_offset:
            self._flush_wanted = False
            self._is_flushing = True
            self._node.tasks.run(log.flush(), self._flushed)

    def _flushed(self, outcome: object) -> None:
        self._is_flushing = False
        if _may_pass(outcome):
            self._owner.flush_failed()
            self._flush_wanted = True
            self._try_again(self._flush)
        elif isinstance(outcome, Exception):
            self._owner.flush_failed()
            self._fail(outcome)
        else:
            self.note.advance()
            self._tell(lambda raft: raft.on_synced(self.now_ms))

    # Speaking

    def _send(self, send: Send) -> None:
        purpose = FETCHING if isinstance(send.request, FetchRequest | FetchSnapshotRequest) else RAFT
        timeout_ms = self._node.settings["controller.quorum.request.timeout.ms"]
        address = Address(send.to.host, send.to.port)
        if purpose == FETCHING and self._node.links.is_waiting(address, FETCHING):
            # The leader takes it that a fetch is younger than the answer to the one before it on its line.
            self._node.links.close(address, FETCHING)
        self._node.links.ask(address, purpose, send.request, timeout_ms, partial(self._replied, send))

    def _answer(self, answer: Answer) -> None:
        ticket = answer.ticket
        assert isinstance(ticket, Answerable), "whoever asked can be answered"
        if answer.body is None:
            ticket.reply(answer.response)
            return
        raft = self.raft
        steps = answer_with_body(answer, self._log, self._files, raft)
        self._node.tasks.run(steps, lambda outcome: self._read(ticket, outcome))

    def _read(self, ticket: Answerable, outcome: Response | Exception) -> None:
        if isinstance(outcome, Exception):
            self._fail(outcome)
        else:
            ticket.reply(outcome)


def _may_pass(outcome: object) -> TypeGuard[FileFailure]:
    """Whether a disk has failed in a way that leaves nothing in doubt: a full one may have room again."""
    return isinstance(outcome, FileFailure) and not isinstance(outcome, SyncFailed)


def _installed(controls: bytes, now_ms: int, raft: Raft) -> None:
    raft.on_installed(controls, now_ms)
