"""Raft as KRaft does it, as one machine: an event in, with its time; decisions out, in the order of performing.

    raft.handle(ticket, request, version, now_ms)       a peer or a tool asks
    raft.on_reply(to, correlation, response, now_ms)    a peer answered, or None: it will not
    raft.on_timer(now_ms)                               `deadline_ms` has come
    raft.on_saved / on_synced / on_truncated / on_installed     what `ready()` asked for is done
    raft.append(values, epoch, now_ms)                  the owner, who leads this epoch, decides something
    raft.ready()                                        what to do now; after each event

The owner calls from one thread of control. While the log is being cut or replaced, events wait for that: nothing can be
said about a log that is between two states.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Buffer
from penstock.core.raft.changes import Changes
from penstock.core.raft.decisions import Install, NotLeader, Ready, Ticket, Truncate
from penstock.core.raft.describing import describe_quorum
from penstock.core.raft.electing import Electing
from penstock.core.raft.election import ElectionState
from penstock.core.raft.following import Following
from penstock.core.raft.history import VoterHistory
from penstock.core.raft.ids import UNKNOWN_OFFSET, Destination, Snapshot, SnapshotId
from penstock.core.raft.joining import on_joined
from penstock.core.raft.leader import LeaderState
from penstock.core.raft.leading import Leading
from penstock.core.raft.member import Member
from penstock.core.raft.peers import InFlight, Random
from penstock.core.raft.ports import RaftLog
from penstock.core.raft.rebuilding import Rebuilding
from penstock.core.raft.roles import Candidate, Follower, Prospective, Resigned, Role, Unattached
from penstock.core.raft.serving import Serving
from penstock.core.raft.settings import Local, RaftSettings
from penstock.core.raft.snapshots import Snapshots
from penstock.core.wire.api.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from penstock.core.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from penstock.core.wire.api.begin_quorum_epoch import BeginQuorumEpochRequest, BeginQuorumEpochResponse
from penstock.core.wire.api.describe_quorum import DescribeQuorumRequest
from penstock.core.wire.api.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from penstock.core.wire.api.fetch import FetchRequest, FetchResponse
from penstock.core.wire.api.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from penstock.core.wire.api.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from penstock.core.wire.api.update_raft_voter import UpdateRaftVoterRequest, UpdateRaftVoterResponse
from penstock.core.wire.api.vote import VoteRequest, VoteResponse
from penstock.core.wire.schema import Request, Response

_TRANSITIONS_PER_TURN_MAX = 8
"""From knowing nobody to leading alone takes three; more than this many would be a circle."""


STALL_MS = 50
"""How long it takes, at most, to read what has come while nobody read."""


EVENTS_WAITING_MAX = 1_000
"""While the disk takes no cut and no snapshot, others ask on, give up and ask again. Beyond this many events the oldest
is forgotten, as if it had been lost on its way: whoever asked that long ago has given up."""


LEFT_OUT_TIMEOUTS = 4
"""A replica without a leader asks for pre-votes at least this often: once per so many fetch timeouts."""


class Raft:
    """One replica of the metadata log."""

    def __init__(
        self,
        local: Local,
        settings: RaftSettings,
        log: RaftLog,
        history: VoterHistory,
        random: Random,
        now_ms: int,
        *,
        snapshots: Sequence[Snapshot] = (),
        saved: ElectionState | None = None,
        rebuilding: Rebuilding | None = None,
    ) -> None:
        """`history` holds what the latest snapshot and the log above it say of the voters; `saved` is what was saved
        last. The log may end with what was written and not synced: nothing is said of that before it is. `rebuilding`
        where some of the log was lost that others may count on."""
        self._member = Member(local, settings, log, history, Snapshots(snapshots), saved, random, rebuilding)
        self._leading = Leading(self._member)
        self._electing = Electing(self._member, self._leading)
        self._serving = Serving(self._member, self._leading)
        self._changes = Changes(self._member, self._leading)
        self._following = Following(self._member)
        self._is_flushing = False
        # The cut or the installation that everything waits for, and what waits.
        self._busy_with: Truncate | Install | None = None
        self._waiting: deque[Callable[[], None]] = deque(maxlen=EVENTS_WAITING_MAX)
        self.deadline_ms: int | None = None
        self._member.start(now_ms)
        self._turn(now_ms)

    # What there is to see

    @property
    def role(self) -> Role:
        return self._member.role

    @property
    def election(self) -> ElectionState:
        """The epoch, its leader, and whom this replica voted for."""
        return self._member.election

    @property
    def high_watermark(self) -> int:
        """What is committed, as far as this replica knows; -1 where it knows nothing."""
        return self._member.high_watermark

    @property
    def voters(self) -> VoterHistory:
        return self._member.history

    @property
    def leads_epoch(self) -> int | None:
        """The epoch in which the owner may decide, if this replica leads and has everything that is committed."""
        role = self._member.role
        return self._member.epoch if isinstance(role, LeaderState) and role.is_announced else None

    @property
    def led_epoch(self) -> int | None:
        """The epoch in which records can be appended, whether or not all that came before is known to be committed."""
        return self._member.epoch if isinstance(self._member.role, LeaderState) else None

    def majority_ms(self, now_ms: int) -> int:
        """When a majority was last heard of by this leader; long ago, if it does not lead."""
        role = self._member.role
        return role.majority_ms(now_ms) if isinstance(role, LeaderState) else -1

    @property
    def predecessor(self) -> int | None:
        """Who led the last epoch in which anything was committed before this leader's, if that is known."""
        role = self._member.role
        return role.predecessor if isinstance(role, LeaderState) else None

    def is_left_out(self, now_ms: int) -> bool:
        """Whether this replica hears of no leader, while others, asked a short time ago, do."""
        refused_ms, timeout_ms = self._member.refused_ms, self._member.settings.fetch_timeout_ms
        is_recent = refused_ms is not None and now_ms - refused_ms < LEFT_OUT_TIMEOUTS * timeout_ms
        role = self._member.role
        return is_recent and not isinstance(role, LeaderState) and not (isinstance(role, Follower) and role.has_fetched)

    def heard_leader(self, now_ms: int) -> int | None:
        """Who leads, if this replica hears of it: itself as long as a majority follows, or whom it fetches from."""
        role = self._member.role
        if isinstance(role, LeaderState):
            is_followed = now_ms - role.majority_ms(now_ms) < self._member.settings.fetch_timeout_ms
            return self._member.local.key.id if role.is_announced and is_followed else None
        return role.leader_id if isinstance(role, Follower) and role.has_fetched else None

    @property
    def leader(self) -> Destination | None:
        """Where the leader of this epoch listens, if that is known."""
        leader_id = self._member.election.leader_id
        if leader_id is None:
            return None
        return self._member.destination(leader_id, self._member.leader_endpoints)

    @property
    def is_rebuilding(self) -> bool:
        """Whether this replica has lost its log, and does not have all of it again."""
        return self._member.is_rebuilding

    @property
    def is_caught_up(self) -> bool:
        """Whether everything that the leader said is committed is here."""
        member = self._member
        if member.is_rebuilding:
            return False
        if isinstance(member.role, LeaderState):
            return member.role.is_announced
        told = member.leader_high_watermark
        return isinstance(member.role, Follower) and told != UNKNOWN_OFFSET and member.high_watermark >= told

    def ready(self) -> Ready:
        """What to do now, once; see `Ready` for the order."""
        member = self._member
        flush = not (self._is_flushing or self._busy_with or member.is_synced)
        self._is_flushing = self._is_flushing or flush
        return member.out.take(flush=flush)

    # Events

    def handle(self, ticket: Ticket, request: Request, version: int, now_ms: int, line: object = None) -> None:
        """Serve a request; its answer is a decision, now or later. Fetches that come over one line come one at a time:
        whoever does not wait for an answer uses another."""
        self._when_free(partial(self._handle, ticket, request, version, now_ms, line))

    def on_reply(self, to: Destination, correlation: int, response: Response | None, now_ms: int) -> None:
        """A request has its reply, or None when none will come: the connection is gone."""
        self._when_free(partial(self._on_reply, to, correlation, response, now_ms))

    def on_refused(self, host: str, port: int, now_ms: int) -> None:
        """Nobody listens at an address. Where the leader did, its process is gone: there is nothing to wait for."""
        self._when_free(partial(self._on_refused, host, port, now_ms))

    def on_stall(self, now_ms: int) -> None:
        """The owner itself did nothing for a while, so that what others said meanwhile is still to be read. To be told
        before the event that comes first."""
        until_ms, role = now_ms + STALL_MS, self._member.role
        if isinstance(role, Follower):
            self._following.on_stall(role, until_ms)
        elif isinstance(role, LeaderState):
            role.check_quorum_ms = max(role.check_quorum_ms, until_ms)

    def on_timer(self, now_ms: int) -> None:
        """Nothing is due while the log is cut or replaced; what was is looked at afterwards."""
        if self._busy_with is None:
            self._turn(now_ms)
        else:
            self.deadline_ms = None

    def on_saved(self, now_ms: int) -> None:
        """The election state is on the disk; what was held back may leave with the next `ready`."""
        self._member.out.saved()
        self.on_timer(now_ms)

    def on_synced(self, now_ms: int) -> None:
        """The log's `synced_offset` has moved."""
        self._is_flushing = False
        if isinstance(self._member.role, LeaderState):
            self._leading.synced(self._member.role)
        self.on_timer(now_ms)

    def on_lost(self, now_ms: int) -> None:
        """The disk could not write the end of the log, which never left this replica: it has not been."""
        member = self._member
        member.history.truncate(member.log.end_offset)
        if isinstance(member.role, LeaderState):
            self._leading.lost(member.role)
        self.on_timer(now_ms)

    def on_truncated(self, now_ms: int) -> None:
        assert isinstance(self._busy_with, Truncate), "nothing was being cut"
        self._go_on(now_ms)

    def on_installed(self, controls: Buffer, now_ms: int) -> None:
        """The snapshot has taken the log's place; `controls` are its control batches."""
        member, installed = self._member, self._busy_with
        assert isinstance(installed, Install), "nothing was being installed"
        member.history.load_snapshot(installed.id.end_offset, controls)
        member.snapshots = Snapshots([Snapshot(installed.id, installed.size_bytes)])
        member.out.drop_before(installed.id)
        member.commit(installed.id.end_offset)
        self._go_on(now_ms)

    def on_snapshot(self, snapshot: Snapshot, now_ms: int) -> None:
        """The owner has made a snapshot of what `snapshot_id` named. With it, an old one may go."""
        self._when_free(partial(self._on_snapshot, snapshot, now_ms))

    # What the owner asks for

    def append(
        self, values: Sequence[bytes], epoch: int, now_ms: int, timestamp_ms: int | None = None
    ) -> int | NotLeader:
        """Append records that stay together, in an epoch that this replica leads; gives the offset of the last. They
        are committed when a `Committed` passes it; if another leader comes first they may be gone. Their timestamp may
        be that of a clock which can be set, while Raft's time only runs forward."""
        member, leader = self._member, self._member.role
        written_ms = now_ms if timestamp_ms is None else timestamp_ms
        assert values, "there is nothing to append"
        if not isinstance(leader, LeaderState) or epoch != member.epoch:
            return NotLeader(member.election.leader_id, member.epoch)
        offset = self._leading.append(leader, [(None, value, (), written_ms) for value in values], now_ms)
        self._turn(now_ms)
        return offset

    def resign(self, now_ms: int) -> None:
        """Hand leadership over, before stopping for example."""
        if isinstance(self._member.role, LeaderState):
            self._member.role.resign_requested = True
            self.on_timer(now_ms)

    def upgrade_voters(self, now_ms: int) -> ErrorCode:
        """Raise kraft.version to 1: from now on the voters are kept in the log and can be changed."""
        code = self._changes.upgrade(now_ms)
        self.on_timer(now_ms)
        return code

    def snapshot_id(self, end_offset: int) -> SnapshotId:
        """The id of a snapshot that would hold everything committed below an offset."""
        member = self._member
        assert member.log.start_offset < end_offset <= member.high_watermark, "only what is committed is kept"
        return SnapshotId(end_offset, member.log.epoch_at(end_offset - 1))

    # One turn

    def _when_free(self, event: Callable[[], None]) -> None:
        if self._busy_with is None:
            event()
        else:
            self._waiting.append(event)

    def _go_on(self, now_ms: int) -> None:
        self._busy_with = None
        while self._waiting and self._busy_with is None:
            self._waiting.popleft()()
        self.on_timer(now_ms)

    def _turn(self, now_ms: int) -> None:
        """After each event: what follows from it, and from the time. A log that must be cut comes first."""
        member = self._member
        for operation in member.out.ready.storage:
            if isinstance(operation, Truncate | Install):
                self._busy_with = operation
        if self._busy_with is None:
            for _ in range(_TRANSITIONS_PER_TURN_MAX):
                if not self._poll(now_ms):
                    break
            else:
                raise AssertionError("the roles go in a circle")
        member.tell_leader()
        due = () if self._busy_with else self._deadlines()
        # What is over already waits for somebody else: whoever cares has seen it.
        self.deadline_ms = min([due_ms for due_ms in due if due_ms > now_ms], default=None)

    def _poll(self, now_ms: int) -> bool:
        """What the role has to do by now; whether it has changed."""
        member, role = self._member, self._member.role
        match role:
            case LeaderState():
                self._changes.poll(role, now_ms)
                changed = self._leading.poll(role, now_ms)
                if not changed:
                    self._serving.wake(role, now_ms)
                return changed
            case Follower():
                self._electing.ask_for_epochs(now_ms)
                member.look_whether_rebuilt()
                return self._following.poll(role, now_ms)
            case Prospective():
                return self._electing.poll_prospective(role, now_ms)
            case Candidate():
                return self._electing.poll_candidate(role, now_ms)
            case Resigned():
                return self._electing.poll_resigned(role, now_ms)
            case Unattached():
                if self._electing.poll_unattached(role, now_ms):
                    return True
                self._electing.ask_for_epochs(now_ms)
                self._following.fetch_from_anyone(now_ms)
                return False

    def _deadlines(self) -> list[int]:
        """When something is due, or was."""
        role, due = self._member.role, self._member.peers.deadlines()
        if isinstance(role, LeaderState):
            return due + role.deadlines()
        if role.deadline_ms is not None:
            due.append(role.deadline_ms)
        if isinstance(role, Follower):
            due.append(role.update_voter_ms)
        return due

    def _handle(self, ticket: Ticket, request: Request, version: int, now_ms: int, line: object) -> None:
        member = self._member
        match request:
            case FetchRequest():
                self._serving.fetch(ticket, request, now_ms, line)
            case FetchSnapshotRequest():
                self._serving.fetch_snapshot(ticket, request, now_ms)
            case VoteRequest():
                member.answer(ticket, self._electing.vote(request, now_ms))
            case BeginQuorumEpochRequest():
                member.answer(ticket, self._electing.begin_epoch(request, now_ms))
            case EndQuorumEpochRequest():
                member.answer(ticket, self._electing.end_epoch(request, now_ms))
            case DescribeQuorumRequest():
                member.answer(ticket, describe_quorum(member, request, version, now_ms))
            case AddRaftVoterRequest():
                self._changes.add(ticket, request, now_ms)
            case RemoveRaftVoterRequest():
                self._changes.remove(ticket, request, now_ms)
            case UpdateRaftVoterRequest():
                member.answer(ticket, self._changes.update(request, now_ms))
            case _:
                raise AssertionError(f"{type(request).__name__} is none of Raft's requests")
        self._turn(now_ms)

    def _on_reply(self, to: Destination, correlation: int, response: Response | None, now_ms: int) -> None:
        sent = self._member.peers.settle(to, correlation)
        if sent is not None and not self._take_reply(sent, response, now_ms):
            self._member.peers.rest(to, now_ms)
        self._turn(now_ms)

    def _on_refused(self, host: str, port: int, now_ms: int) -> None:
        leader = self.leader
        if leader is not None and (leader.host, leader.port) == (host, port):
            self._following.on_leader_gone(now_ms)
        self._turn(now_ms)

    def _take_reply(self, sent: InFlight, response: Response | None, now_ms: int) -> bool:
        """Whether the reply was in order; if not, its sender is left in peace for a moment."""
        match sent.request, response:
            case FetchRequest() as request, FetchResponse():
                return self._following.on_fetch(request, response, now_ms)
            case _, FetchSnapshotResponse():
                return self._following.on_fetch_snapshot(response, now_ms)
            case _, VoteResponse():
                return self._electing.on_vote(sent.to.id, response, now_ms)
            case _, BeginQuorumEpochResponse() | EndQuorumEpochResponse():
                return self._electing.on_epoch_reply(sent.to.id, response, now_ms)
            case _, UpdateRaftVoterResponse() | AddRaftVoterResponse() | RemoveRaftVoterResponse():
                return on_joined(self._member, response, now_ms)
            case ApiVersionsRequest(), ApiVersionsResponse() | None:
                return self._changes.on_versions(sent.to.id, response, now_ms)
        return False

    def _on_snapshot(self, snapshot: Snapshot, now_ms: int) -> None:
        member = self._member
        latest = member.snapshots.latest
        if latest is not None and snapshot.id <= latest.id:
            return  # A newer one came from the leader while this one was made.
        member.snapshots.add(snapshot)
        oldest = member.snapshots.keep(member.settings.snapshots_kept_max)
        if oldest is not None:
            member.history.forget_before(oldest.end_offset)
            member.out.drop_before(oldest)
        self._turn(now_ms)
