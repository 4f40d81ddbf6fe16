"""What a leader knows: how far each replica has come, what is committed, and whether a majority still follows."""

from __future__ import annotations

from penstock.core.base.values import mutable
from penstock.core.raft.decisions import Ticket
from penstock.core.raft.ids import UNKNOWN_OFFSET, Endpoints, ReplicaKey
from penstock.core.raft.settings import CHECK_QUORUM_FACTOR, OBSERVER_SESSION_MS, RaftSettings
from penstock.core.raft.voters import VoterSet
from penstock.core.wire.api.add_raft_voter import AddRaftVoterRequest
from penstock.core.wire.api.fetch import FetchPartition
from penstock.core.wire.api.remove_raft_voter import RemoveRaftVoterRequest


@mutable
class Progress:
    """How far a replica has come, by its own fetches; the leader's own entry says what it has synced."""

    key: ReplicaKey
    endpoints: Endpoints = ()
    end_offset: int = UNKNOWN_OFFSET
    fetched_ms: int = -1
    answered_ms: int = -1
    answered_line: object = None
    sent_after_ms: int = -1
    caught_up_ms: int = -1
    leader_end_at_fetch: int = UNKNOWN_OFFSET

    def fetched(self, offset: int, leader_end_offset: int, now_ms: int, line: object) -> None:
        """The replica asks from an offset, so it has synced everything below."""
        if offset >= leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif 0 < self.leader_end_at_fetch <= offset:
            # It has come to where the leader was when it fetched last, so it had caught up then.
            self.caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        self.leader_end_at_fetch = leader_end_offset
        self.fetched_ms = max(self.fetched_ms, now_ms)
        if self.answered_line is None or self.answered_line is line:
            self.sent_after_ms = self.answered_ms
        self.end_offset = offset


@mutable
class ParkedFetch:
    """A fetch that found nothing new and waits a while for it."""

    ticket: Ticket
    key: ReplicaKey
    partition: FetchPartition
    bytes_max: int
    expires_ms: int
    seen_high_watermark: int
    line: object = None


@mutable
class PendingChange:
    """The one change of voters that is under way. A new voter is asked for its versions first (`offset` is None); then
    the changed set is in the log and waits to be committed."""

    ticket: Ticket | None
    request: AddRaftVoterRequest | RemoveRaftVoterRequest
    expires_ms: int
    offset: int | None = None


class LeaderState:
    """The leader of one epoch."""

    __slots__ = (
        "_began_ms",
        "_fetched_voters",
        "_local",
        "_settings",
        "announce_ms",
        "change",
        "check_quorum_ms",
        "epoch_start_offset",
        "granting",
        "high_watermark",
        "is_announced",
        "observers",
        "parked",
        "predecessor",
        "resign_requested",
        "unsaved_voters",
        "voters",
    )

    def __init__(
        self,
        local: ReplicaKey,
        settings: RaftSettings,
        voters: VoterSet,
        granting: list[int],
        epoch_start_offset: int,
        now_ms: int,
        predecessor: int | None = None,
    ) -> None:
        self._local = local
        self.predecessor = predecessor
        self._settings = settings
        # Nobody can have fetched in this epoch before.
        self._began_ms = now_ms
        self.epoch_start_offset = epoch_start_offset
        self.granting = granting
        self.high_watermark = UNKNOWN_OFFSET
        # The owner has been told that it leads.
        self.is_announced = False
        self.resign_requested = False
        self.voters: dict[int, Progress] = {}
        self.observers: dict[ReplicaKey, Progress] = {}
        # With static voters, what each says of itself is kept here until kraft.version moves it into the log.
        self.unsaved_voters = voters
        self.change: PendingChange | None = None
        self.parked: list[ParkedFetch] = []
        self.announce_ms = now_ms
        self._fetched_voters: set[int] = set()
        self.check_quorum_ms = 0
        self.adopt(voters)
        self._restart_check(now_ms)

    def adopt(self, voters: VoterSet) -> None:
        """Count by another set of voters from now on; what is known of each replica stays known."""
        before, self.voters = self.voters, {}
        for voter in voters:
            known = self._known(before, voter.key) or Progress(voter.key, answered_ms=self._began_ms)
            known.key, known.endpoints = voter.key, voter.endpoints
            self.voters[voter.key.id] = known
            self.observers.pop(voter.key, None)
        for old in before.values():
            if old is not self.voters.get(old.key.id):
                old.endpoints = ()
                self.observers[old.key] = old

    def _known(self, before: dict[int, Progress], key: ReplicaKey) -> Progress | None:
        known = before.get(key.id)
        return known if known is not None and _is_same(known.key, key) else self.observers.get(key)

    def progress_of(self, key: ReplicaKey) -> Progress:
        """The entry of a replica; one that is not a voter becomes an observer."""
        known = self.voters.get(key.id)
        if known is not None and _is_same(known.key, key):
            return known
        return self.observers.setdefault(key, Progress(key, answered_ms=self._began_ms))

    def local_synced(self, synced_offset: int) -> bool:
        """The leader's own log is safe up to here; whether that committed something."""
        self.progress_of(self._local).end_offset = synced_offset
        return self._advance()

    def replica_fetched(
        self, key: ReplicaKey, offset: int, leader_end_offset: int, now_ms: int, line: object = None
    ) -> bool:
        """Note a fetch; whether that committed something."""
        self.progress_of(key).fetched(offset, leader_end_offset, now_ms, line)
        self.heard_from(key, now_ms)
        return self._advance()

    def answered(self, key: ReplicaKey, now_ms: int, line: object = None) -> None:
        """A fetch is answered: the next one on its line leaves its replica later than this."""
        if key.id in self.voters:
            progress = self.progress_of(key)
            progress.answered_ms, progress.answered_line = now_ms, line

    def _advance(self) -> bool:
        """Move the high watermark to what a majority has synced.

        It moves only past the beginning of this epoch: what an earlier leader wrote can still be replaced as long as
        nothing of this epoch stands on top of it.
        """
        ends = sorted((progress.end_offset for progress in self.voters.values()), reverse=True)
        offset = ends[len(ends) // 2]
        if offset <= max(self.high_watermark, self.epoch_start_offset):
            return False
        self.high_watermark = offset
        return True

    def heard_from(self, key: ReplicaKey, now_ms: int) -> None:
        """Each time a majority has been heard from, the leader may go on for another while."""
        voter = self.voters.get(key.id)
        if voter is not None and _is_same(voter.key, key) and key.id != self._local.id:
            self._fetched_voters.add(key.id)
        others = len(self.voters) // 2 + 1 - (self._local.id in self.voters)
        if len(self._fetched_voters) >= others:
            self._fetched_voters.clear()
            self._restart_check(now_ms)

    def majority_ms(self, now_ms: int) -> int:
        """A time at which a majority surely followed this leader, itself included.

        A fetch may have waited to be read for as long as this process was not running, but it left its sender after
        the answer to the one before; unless that one was given up, and this one was sent over another line.
        """
        own_id = self._local.id
        sent = [now_ms if voter_id == own_id else each.sent_after_ms for voter_id, each in self.voters.items()]
        return sorted(sent, reverse=True)[len(sent) // 2]

    def _restart_check(self, now_ms: int) -> None:
        self.check_quorum_ms = now_ms + int(self._settings.fetch_timeout_ms * CHECK_QUORUM_FACTOR)

    def is_deserted(self, now_ms: int) -> bool:
        return not self.is_alone and now_ms >= self.check_quorum_ms

    @property
    def is_alone(self) -> bool:
        return len(self.voters) == 1

    @property
    def announce_interval_ms(self) -> int:
        return self._settings.fetch_timeout_ms // 2

    def silent_voters(self, now_ms: int) -> list[ReplicaKey]:
        """Voters that have not fetched lately, and may not know who leads."""
        return [
            progress.key
            for progress in self.voters.values()
            if progress.key.id != self._local.id and now_ms - progress.fetched_ms >= self.announce_interval_ms
        ]

    def successors(self) -> list[ReplicaKey]:
        """The other voters, those that are furthest first."""
        others = [progress for progress in self.voters.values() if progress.key.id != self._local.id]
        return [progress.key for progress in sorted(others, key=lambda other: (-other.end_offset, other.key))]

    def forget_silent_observers(self, now_ms: int) -> None:
        self.observers = {
            key: progress
            for key, progress in self.observers.items()
            if key == self._local or now_ms - progress.fetched_ms < OBSERVER_SESSION_MS
        }

    def deadlines(self) -> list[int]:
        due = [self.announce_ms, *[fetch.expires_ms for fetch in self.parked]]
        if not self.is_alone:
            due.append(self.check_quorum_ms)
        if self.change is not None:
            due.append(self.change.expires_ms)
        return due


def _is_same(known: ReplicaKey, key: ReplicaKey) -> bool:
    """Kafka's rule: a voter whose directory is unknown is known by its id."""
    return known.id == key.id and (known.directory_id == key.directory_id or not any(known.directory_id))
