"""A replica's place in the quorum: its epoch and role, and the only code that changes them.

Each change of the epoch, the leader or the vote goes to the disk before anything that rests on it leaves (`outbox`).
"""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.raft import answers
from penstock.core.raft.decisions import Answer, Committed, LeaderIs, Rebuilt, Send, Ticket
from penstock.core.raft.election import ElectionState, Tally
from penstock.core.raft.history import VoterHistory
from penstock.core.raft.ids import UNKNOWN_OFFSET, Destination, Endpoints, LogEnd, ReplicaKey, address
from penstock.core.raft.leader import LeaderState
from penstock.core.raft.outbox import Outbox
from penstock.core.raft.peers import Peers, Random
from penstock.core.raft.ports import RaftLog
from penstock.core.raft.rebuilding import Rebuilding
from penstock.core.raft.roles import MAY_FOLLOW, Candidate, Follower, Prospective, Resigned, Role, Unattached
from penstock.core.raft.settings import Local, RaftSettings
from penstock.core.raft.snapshots import Snapshots
from penstock.core.raft.voters import Voter
from penstock.core.wire.schema import Request, Response

STEPS_PER_FETCH_TIMEOUT = 8
"""Each follower gives a silent leader up this part of a fetch timeout after the one before it."""
SOON_MS = 100
"""Long against the way of a message, short against any timeout."""


class Member:
    """The state that all parts of the machine share."""

    def __init__(
        self,
        local: Local,
        settings: RaftSettings,
        log: RaftLog,
        history: VoterHistory,
        snapshots: Snapshots,
        saved: ElectionState | None,
        random: Random,
        rebuilding: Rebuilding | None = None,
    ) -> None:
        self.local = local
        self.rebuilding = rebuilding
        self.settings = settings
        self.log = log
        self.history = history
        self.snapshots = snapshots
        self.peers = Peers(settings, local.bootstrap, random)
        self.out = Outbox(saved)
        self.election = saved or ElectionState()
        # What a snapshot holds was committed when it was made.
        self.high_watermark = UNKNOWN_OFFSET if snapshots.latest is None else snapshots.latest.id.end_offset
        # What the leader that is being followed says is committed, which may be more than has arrived.
        self.leader_high_watermark = UNKNOWN_OFFSET
        self.role: Role = Unattached(None)
        # The last leader that was followed, and in which epoch.
        self._followed = (0, -1)
        self.refused_ms: int | None = None
        """When somebody last refused a pre-vote of this replica: others do not miss the leader that it misses."""
        self._random = random
        self._told: LeaderIs | None = None

    # What this replica is

    @property
    def epoch(self) -> int:
        return self.election.epoch

    @property
    def is_voter(self) -> bool:
        return self.history.last.is_voter(self.local.key)

    @property
    def may_run(self) -> bool:
        """Whether to run for election: as a voter, or as one whose removal may not be committed. As long as it is not,
        the other voters may need the longer log that it may have. Who has lost its log has nothing to offer."""
        if self.is_rebuilding:
            return False
        if self.is_voter:
            return True
        is_committed = self.history.last_offset < self.high_watermark
        return not is_committed and self.history.previous.is_voter(self.local.key)

    @property
    def is_only_voter(self) -> bool:
        return self.is_voter and len(self.history.last) == 1

    @property
    def as_voter(self) -> Voter:
        """This replica as it would stand among the voters."""
        return Voter(self.local.key, self.local.endpoints, self.local.kraft_versions)

    @property
    def log_end(self) -> LogEnd:
        """The end of the log, which may be that of the snapshot below it."""
        return LogEnd(self.last_epoch, self.log.end_offset)

    @property
    def last_epoch(self) -> int:
        latest = self.log.latest_epoch
        if latest >= 0:
            return latest
        return self.snapshots.latest.id.epoch if self.snapshots.latest is not None else 0

    @property
    def is_synced(self) -> bool:
        return self.log.synced_offset >= self.log.end_offset

    @property
    def leader_endpoints(self) -> Endpoints:
        role = self.role
        if isinstance(role, LeaderState | Resigned):
            return self.local.endpoints
        if isinstance(role, Follower | Prospective):
            return role.leader_endpoints
        return ()

    @property
    def is_rebuilding(self) -> bool:
        """Whether this replica has lost what others may count on."""
        return self.rebuilding is not None

    @property
    def has_lost_election(self) -> bool:
        """Whether the epochs this replica was in are lost as well."""
        return self.rebuilding is not None and self.rebuilding.is_election_lost

    @property
    def others(self) -> set[int]:
        """The other voters."""
        return set(self.history.last.ids) - {self.local.key.id}

    # Becoming something else

    def start(self, now_ms: int) -> None:
        """Take up the role that the saved state allows.

        Who voted for itself may have won and written in that epoch already, so it does not run in it again: it waits,
        with its vote given, for the next.
        """
        election = self.election
        if election.epoch < self.last_epoch:
            self._elect(ElectionState(self.last_epoch))
        elif election.leader_id == self.local.key.id:
            self.role = Resigned(self._election_deadline(now_ms), set(self._other_voters()))
            return
        elif election.leader_id is not None and (known := self.history.last.endpoints_of(election.leader_id)):
            self._follow(election.leader_id, known, now_ms)
            return
        self.role = Unattached(self._election_deadline(now_ms) if self.may_run else None)

    def become_unattached(self, epoch: int, now_ms: int, leader_id: int | None = None) -> None:
        """Leave for an epoch in which no leader can be followed. A voter that was about to run keeps its deadline, so
        that nobody can put off its election for ever."""
        same = epoch == self.epoch
        assert epoch > self.epoch or (same and isinstance(self.role, Prospective)), f"back to epoch {epoch}"
        deadline_ms = self._kept_deadline(now_ms) if self.may_run else None
        self._elect(ElectionState(epoch, leader_id, self.election.voted if same else None))
        self._become(Unattached(deadline_ms))

    def _kept_deadline(self, now_ms: int) -> int:
        role = self.role
        has_lost = isinstance(role, Prospective) and role.tally.is_lost
        if isinstance(role, Unattached | Candidate | Prospective | Resigned) and not has_lost and role.deadline_ms:
            return role.deadline_ms
        return self._election_deadline(now_ms)

    def become_prospective(self, now_ms: int) -> None:
        tally = Tally(self.history.last, self.local.key.id)
        self._become(Prospective(tally, self._election_deadline(now_ms), self.leader_endpoints))

    def become_candidate(self, now_ms: int) -> None:
        assert self.may_run, "an observer does not run"
        self._elect(ElectionState(self.epoch + 1, None, self.local.key))
        tally = Tally(self.history.last, self.local.key.id)
        self._become(Candidate(tally, self._election_deadline(now_ms)))

    def become_leader(self, now_ms: int) -> LeaderState:
        role = self.role
        assert isinstance(role, Candidate), "only a candidate wins"
        assert role.tally.is_won, "a leader has a majority's votes"
        self._elect(self.election._replace(leader_id=self.local.key.id))
        voters, granting = self.history.last, role.tally.granted
        # Whoever committed anything wrote it to a majority, and so to this log: no other leader has decided since.
        epoch, followed = self._followed
        predecessor = followed if epoch == self.last_epoch else None
        leader = LeaderState(self.local.key, self.settings, voters, granting, self.log.end_offset, now_ms, predecessor)
        self._become(leader)
        return leader

    def become_follower(self, epoch: int, leader_id: int, endpoints: Endpoints, now_ms: int) -> None:
        assert leader_id != self.local.key.id, "nobody follows itself"
        voted = self.election.voted if epoch == self.epoch else None
        self._elect(ElectionState(epoch, leader_id, voted))
        self._follow(leader_id, endpoints, now_ms)

    def become_resigned(self, now_ms: int) -> None:
        leader = self.role
        assert isinstance(leader, LeaderState), "only a leader resigns"
        successors = leader.successors()
        self._become(Resigned(self._election_deadline(now_ms), set(self._other_voters()), successors))

    def _follow(self, leader_id: int, endpoints: Endpoints, now_ms: int) -> None:
        self._followed = (self.epoch, leader_id)
        update_ms = now_ms + self.settings.fetch_timeout_ms
        self._become(Follower(leader_id, endpoints, self.fetch_deadline(now_ms), update_ms))

    def vote_for(self, candidate: ReplicaKey, now_ms: int) -> None:
        """Give this epoch's vote away, and the candidate some time to win."""
        role = self.role
        assert isinstance(role, Unattached | Prospective), "only who has no leader votes"
        self._elect(self.election._replace(voted=candidate))
        role.deadline_ms = self._election_deadline(now_ms)
        if isinstance(role, Prospective):
            role.tally = Tally(self.history.last, self.local.key.id)

    def _elect(self, election: ElectionState) -> None:
        self.election = election
        self.out.save(election)

    def _become(self, role: Role) -> None:
        before = self.role
        assert type(role) in MAY_FOLLOW[type(before)], f"{type(before).__name__} becomes {type(role).__name__}"
        self.role = role
        self.leader_high_watermark = UNKNOWN_OFFSET
        self.peers.reset()
        if isinstance(before, LeaderState):
            self._close(before)

    def _close(self, leader: LeaderState) -> None:
        """Whoever waits for a leader that is none any longer is sent away."""
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        for fetch in leader.parked:
            self.answer(fetch.ticket, answers.fetch(self, code))
        if leader.change is not None and leader.change.ticket is not None:
            self.answer(leader.change.ticket, answers.voter_change(leader.change.request, code))

    def _other_voters(self) -> list[int]:
        return [voter.key.id for voter in self.history.last if voter.key.id != self.local.key.id]

    def _election_deadline(self, now_ms: int) -> int:
        """Some time between one and two election timeouts, so that few run at once; who is alone need not wait."""
        timeout_ms = self.settings.election_timeout_ms
        return now_ms if self.is_only_voter else now_ms + timeout_ms + self._random(max(1, timeout_ms))

    def fetch_deadline(self, now_ms: int) -> int:
        """When a leader that stays silent from now on is given up. Not for all followers at once: they heard of it at
        the same moment, and would split the votes."""
        timeout_ms = self.settings.fetch_timeout_ms
        return now_ms + timeout_ms + self._turn_ms(timeout_ms // STEPS_PER_FETCH_TIMEOUT)

    def soon_ms(self) -> int:
        """A short time after which to run where others want to as well."""
        return self._turn_ms(SOON_MS)

    def _turn_ms(self, step_ms: int) -> int:
        """How long to wait for the voters that come first, the leader aside; a little of it by chance, because who
        comes first may have other ideas of who votes."""
        leader_id, own_id = self.election.leader_id, self.local.key.id
        before = sum(voter_id < own_id for voter_id in self.history.last.ids if voter_id != leader_id)
        return before * step_ms + self._random(max(1, step_ms // 4))

    # Speaking

    def destination(self, node_id: int, endpoints: Endpoints = ()) -> Destination | None:
        """Where a node listens for us, by given endpoints or those that the voters have."""
        endpoint = address(endpoints or self.history.last.endpoints_of(node_id), self.local.listener)
        return None if endpoint is None else Destination(node_id, endpoint.host, endpoint.port)

    def send(self, to: Destination, request: Request, now_ms: int) -> None:
        self.out.send(Send(to, self.peers.begin(to, request, now_ms), request))

    def answer(self, ticket: Ticket, response: Response) -> None:
        self.out.answer(Answer(ticket, response))

    # Telling the owner

    def commit(self, offset: int) -> None:
        """The high watermark, as far as this log reaches; it never moves back."""
        offset = min(offset, self.log.end_offset)
        if offset > self.high_watermark:
            self.high_watermark = offset
            self.out.tell(Committed(offset))

    def look_whether_rebuilt(self) -> None:
        """Count again, once all is here that this replica can have lost."""
        rebuilding = self.rebuilding
        if rebuilding is None or not rebuilding.knows_epoch(self.others, self.history.last.majority):
            return
        synced_offset = self.log.synced_offset if self.is_synced else UNKNOWN_OFFSET
        if rebuilding.has_caught_up(self.epoch, synced_offset, self.high_watermark, self.leader_high_watermark):
            self.rebuilding = None
            self.out.tell(Rebuilt(self.log.end_offset))

    def tell_leader(self) -> None:
        """Tell who leads, when that has changed."""
        role, leader_id = self.role, self.election.leader_id
        if isinstance(role, LeaderState):
            if not role.is_announced:
                leader_id = None
        elif isinstance(role, Resigned):
            leader_id = None
        news = LeaderIs(leader_id, self.epoch)
        if news != self._told:
            self._told = news
            self.out.tell(news)
