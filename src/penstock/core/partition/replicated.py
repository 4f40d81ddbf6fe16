"""A leader with followers: what is committed is what every in-sync replica has.

Followers fetch, and the offset that a fetch asks for says what its replica has. From that follow the high watermark,
who joins the in-sync set and who leaves it. Changes of the set are decisions: they are left in
`LeaderContext.proposals` for whoever talks to the controller, and its answers and images come back through `answered`
and `update`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.settings import TopicSettings
from penstock.core.base.values import fresh, mutable
from penstock.core.log.log import Log
from penstock.core.partition.divergence import EpochEnd, find_divergence
from penstock.core.partition.in_sync import NOT_APPLIED, OVERTAKEN, Assignment, InSyncSet, Member, Proposal
from penstock.core.partition.leader import Leader, Waiting, enqueue
from penstock.core.partition.partition import ACKS_ALL, AckWaiter
from penstock.core.partition.read_replica import Candidate, preferred_read_replica
from penstock.core.partition.replica_state import LONG_AGO_MS, UNKNOWN, ReplicaState


class Brokers(Protocol):
    """Who is there, as the newest image has it."""

    def live_epoch(self, broker_id: int) -> int | None:
        """The epoch of a broker that may be in sync; None if it is fenced, shutting down or unknown."""
        ...

    def rack_of(self, broker_id: int) -> str | None: ...


class TailWatcher(Protocol):
    """A follower that waits for more."""

    def grown(self, size: int) -> None: ...


@mutable
class LeaderContext:
    """What all leaders of a node share."""

    node_id: int
    broker_epoch: int
    brokers: Brokers
    clock: Callable[[], int]
    """The time in ms, by a clock that nobody sets."""
    holds_lease: Callable[[], bool]
    """Whether no other leader can have been elected: the controller was in touch with this broker within a session."""
    lag_ms_max: int
    """`replica.lag.time.max.ms`"""
    silent: frozenset[int] = frozenset()
    """Brokers that do not fetch from here at all any more, though they should."""
    full: frozenset[int] = frozenset()
    """Brokers whose disks are full: what they do not take at once they may not take for long."""
    full_lag_ms_max: int = 0
    """How long one of these is waited for."""
    is_forsaken: bool = False
    """The cluster goes on without this broker, which has therefore been replaced wherever it led."""
    proposals: dict[ReplicatedLeader, Proposal] = fresh(default_factory=dict)
    """What the controller must be asked; who asks takes it out."""


class Fetched(NamedTuple):
    """A follower's fetch, as far as it speaks of one partition."""

    replica_id: int
    broker_epoch: int
    offset: int
    last_epoch: int
    start_offset: int


class ReplicatedLeader(Leader):
    """The leader of a partition that has other replicas."""

    __slots__ = (
        "_around",
        "_offered_offset",
        "_unfetched_bytes",
        "_waiting_for_us",
        "epoch_start",
        "in_sync",
        "in_sync_min",
        "remotes",
        "replicas",
        "tail_watchers",
    )

    def __init__(
        self,
        topic: str,
        index: int,
        topic_id: bytes,
        log: Log,
        settings: TopicSettings,
        assignment: Assignment,
        around: LeaderContext,
        high_watermark: int,
    ) -> None:
        """`high_watermark` is what this replica knew of it in the role before."""
        self._around = around
        # Followers that wait for what is appended, committed or not; and producers that wait for this replica only.
        self.tail_watchers: dict[TailWatcher, None] = {}
        self._unfetched_bytes = 0
        self._offered_offset = log.written_offset
        self._waiting_for_us: Waiting = deque()
        self.replicas = assignment.replicas
        super().__init__(topic, index, topic_id, log, assignment.leader_epoch, settings)
        self.high_watermark = max(log.start_offset, min(high_watermark, log.end_offset))
        self._begin(assignment)
        self.sync_written()
        self.advance()

    def _begin(self, assignment: Assignment) -> None:
        """A term begins. The others must say anew what they have: if images came late, they may have followed somebody
        else since they last did."""
        log, self.leader_epoch, self.replicas = self.log, assignment.leader_epoch, assignment.replicas
        self.in_sync = InSyncSet(assignment.isr, assignment.partition_epoch)
        # What lies below is from other terms, and nobody may be told yet that it is all there is or will be.
        self.epoch_start = log.end_offset
        log.epochs.assign(assignment.leader_epoch, log.end_offset)
        self.remotes: dict[int, ReplicaState] = {}
        self._count_needed()
        self._place_remotes()

    def inherit(self, before: Leader) -> None:
        """Who waits in the leader that this one takes the place of goes on waiting here: it is the same log."""
        self._waiting, before._waiting = before._waiting, self._waiting
        self.verifications, before.verifications = before.verifications, self.verifications
        self.stage, before.stage = before.stage, None
        if self.stage is not None:
            self.stage.leader = self
        self._commit(self.high_watermark)

    def configure(self, settings: TopicSettings) -> None:
        super().configure(settings)
        self._count_needed()

    def _count_needed(self) -> None:
        self.in_sync_min = min(self.settings.min_insync_replicas, len(self.replicas))

    # Appending

    def _admit(self, acks: int) -> None:
        in_sync = self.in_sync
        if self._around.is_forsaken:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the controller has given this broker up")
        if acks == ACKS_ALL and len(in_sync.isr) < self.in_sync_min:
            raise ApiError(
                ErrorCode.NOT_ENOUGH_REPLICAS, f"{sorted(in_sync.isr)} are in sync, {self.in_sync_min} must be"
            )
        alone = acks != ACKS_ALL or len(in_sync.maximal) == 1
        if alone and not self._around.holds_lease():
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the controller has not been heard for a session")
        end, now_ms = self.log.end_offset, self._around.clock()
        for remote in self.remotes.values():
            remote.outgrown(end, now_ms)
        super()._admit(acks)

    def _appended(self, size: int) -> None:
        self._unfetched_bytes += size
        super()._appended(size)

    def wait(self, next_offset: int, waiter: AckWaiter, acks: int = ACKS_ALL) -> bool:
        if acks == ACKS_ALL:
            return super().wait(next_offset, waiter, acks)
        if self.counted_end >= next_offset:
            return False
        enqueue(self._waiting_for_us, next_offset, waiter)
        return True

    def progressed(self) -> None:
        super().progressed()
        self._fail_lost(self._waiting_for_us)

    # The high watermark

    def advance(self) -> None:
        """Move the high watermark over what every replica has that is in sync, or may be."""
        end = self.counted_end
        waiting = self._waiting_for_us
        while waiting and waiting[0][0] <= end:
            waiting.popleft()[1].committed(self, ErrorCode.NONE)
        committed = self._committed(end)
        if committed > self.high_watermark:
            self._commit(committed)
        self._offer_tail()

    def _committed(self, end: int) -> int:
        """Fewer than the topic demands are as good as none. A replica that is about to join is waited for, or a busy
        leader would run away from it again and again."""
        in_sync = self.in_sync
        if len(in_sync.isr) < self.in_sync_min:
            return self.high_watermark
        for remote in self.remotes.values():
            if remote.end_offset < end and (remote.id in in_sync.maximal or self._is_joining(remote)):
                end = remote.end_offset
        return end

    def _is_joining(self, remote: ReplicaState) -> bool:
        return self._is_in_time(remote) and self._is_eligible(remote)

    def _is_in_time(self, remote: ReplicaState) -> bool:
        """Whether it has everything, or had not long ago."""
        around = self._around
        lag_ms_max = around.full_lag_ms_max if remote.id in around.full else around.lag_ms_max
        return remote.is_caught_up(self.log.end_offset, around.clock(), lag_ms_max)

    def _offer_tail(self) -> None:
        """Followers hear of what they can read: what is Written."""
        written = self.log.written_offset
        if written > self._offered_offset:
            self._offered_offset = written
            size, self._unfetched_bytes = self._unfetched_bytes, 0
            for watcher in self.tail_watchers:
                watcher.grown(size)

    @property
    def low_watermark(self) -> int:
        """What the replicas have deleted that are alive, in sync or not."""
        live_epoch = self._around.brokers.live_epoch
        starts = (remote.start_offset for remote in self.remotes.values() if live_epoch(remote.id) is not None)
        return min((self.log.start_offset, *starts))

    @property
    def beyond_end(self) -> ErrorCode:
        is_sure = self._around.holds_lease()
        return ErrorCode.OFFSET_OUT_OF_RANGE if is_sure else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def check_settled(self) -> None:
        if self.high_watermark < self.epoch_start:
            raise ApiError(
                ErrorCode.OFFSET_NOT_AVAILABLE,
                f"epoch {self.leader_epoch} began at {self.epoch_start}, only {self.high_watermark} is committed",
            )

    # Followers' fetches

    def fetched(self, fetch: Fetched) -> EpochEnd | None:
        """Take note of what a follower has. Gives where its log parts from ours, if it does: then it has to cut before
        it can be served."""
        remote = self.remotes.get(fetch.replica_id)
        if remote is None:
            # It knows of an assignment that has not reached us yet, or of one that is over; it will ask again.
            raise ApiError(ErrorCode.UNKNOWN_LEADER_EPOCH, f"{fetch.replica_id} is no replica in {self.replicas}")
        if remote.is_outlived(fetch.broker_epoch):
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"a later life of {fetch.replica_id} fetches already")
        diverging = find_divergence(self.log, fetch.offset, fetch.last_epoch)
        if diverging is not None:
            return diverging
        if not self.log.start_offset <= fetch.offset <= self.log.end_offset:
            raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {fetch.offset} is outside {self.log}")
        now_ms = self._around.clock()
        remote.fetched(fetch.offset, fetch.start_offset, fetch.broker_epoch, self.log.end_offset, now_ms)
        self._consider(remote)
        self.advance()
        return None

    def answering(self, replica_id: int, broker_epoch: int) -> bool:
        """A fetch that was taken note of, and had to wait for news, is about to be answered with all there is now.
        False: much has changed since, and it must be looked at anew."""
        remote = self.remotes.get(replica_id)
        if remote is None or remote.broker_epoch != broker_epoch:
            return False
        remote.answered(self.log.end_offset, self._around.clock())
        return True

    def read_replica(self, rack: str, offset: int) -> int:
        """Who should serve a reader in a rack: the id of a follower, or LEADER."""
        brokers, log = self._around.brokers, self.log
        here, now_ms = self._around.node_id, self._around.clock()
        ourselves = Candidate(here, brokers.rack_of(here), log.start_offset, log.end_offset, now_ms, is_leader=True)
        followers = (
            Candidate(each.id, brokers.rack_of(each.id), each.start_offset, each.end_offset, each.caught_up_ms)
            for each in self.remotes.values()
            if each.id in self.in_sync.isr and self._is_eligible(each)
        )
        return preferred_read_replica(rack, offset, [ourselves, *followers])

    # The in-sync set

    def _consider(self, remote: ReplicaState) -> None:
        """Ask for a replica to join once it has all that is committed, as far as this leader can know that."""
        if self.in_sync.proposal is None and remote.id not in self.in_sync.isr and self._may_join(remote):
            self._propose({*self.in_sync.isr, remote.id})

    def reconsider(self) -> None:
        """Somebody may join who could not when it last fetched: it is let in again, or another change was under way. In
        a quiet partition it has nothing more to say."""
        if len(self.in_sync.isr) <= len(self.remotes):
            for remote in self.remotes.values():
                self._consider(remote)

    def _may_join(self, remote: ReplicaState) -> bool:
        has_all = remote.end_offset >= self.high_watermark and remote.end_offset >= self.epoch_start
        return has_all and self._is_eligible(remote)

    def _is_eligible(self, remote: ReplicaState) -> bool:
        """Whether it is heard of, and alive, and in the life in which it fetched (KIP-903)."""
        if remote.id in self._around.silent:
            return False
        live_epoch = self._around.brokers.live_epoch(remote.id)
        return live_epoch is not None and remote.broker_epoch in (UNKNOWN, live_epoch)

    def tick(self, late_ms: int = 0) -> None:
        """Ask for those to leave who have not had everything for too long. Called regularly; by how much too late this
        call comes, the leader itself was away."""
        for remote in self.remotes.values():
            remote.forgive(late_ms)
        self._part_from_lagging()
        self.reconsider()
        self.advance()

    def part_from_full(self) -> None:
        """The same for those whose disks are full, who are not waited for as long."""
        if not self._around.full.isdisjoint(self.remotes):
            self._part_from_lagging()
            self.advance()

    def _part_from_lagging(self) -> None:
        if self.in_sync.proposal is None:
            known = (self.remotes[member] for member in self.in_sync.isr if member in self.remotes)
            lagging = {remote.id for remote in known if not self._is_in_time(remote)}
            if lagging:
                self._propose(self.in_sync.isr - lagging)

    def part_from(self, silent: frozenset[int]) -> frozenset[int]:
        """Ask for those to leave who are not heard of any more, if something waits for them; gives which of them are
        in sync. Who has everything stays: nobody waits for it. Who seemed to be about to join is waited for no longer,
        and all others may have said what they have."""
        in_sync = self.in_sync
        known = in_sync.isr & silent
        if known and in_sync.proposal is None:
            end = self.log.end_offset
            awaited = {each for each in known if (remote := self.remotes.get(each)) and remote.end_offset < end}
            if awaited:
                self._propose(in_sync.isr - awaited)
        self.advance()
        return known

    def give_up(self) -> None:
        """Others have taken over, though no image says so yet: who waits is not made to wait for nothing."""
        self._fail_all(self._waiting, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._fail_all(self._waiting_for_us, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def _propose(self, wanted: Iterable[int]) -> None:
        members = tuple(Member(each, self._broker_epoch(each)) for each in sorted(wanted))
        proposal = Proposal(self.leader_epoch, self.in_sync.partition_epoch, members)
        self.in_sync.propose(proposal)
        self._around.proposals[self] = proposal

    def _broker_epoch(self, replica_id: int) -> int:
        remote = self.remotes.get(replica_id)
        return self._around.broker_epoch if remote is None else remote.broker_epoch

    def answered(self, proposal: Proposal, code: ErrorCode, assignment: Assignment | None) -> None:
        """The controller has answered, or will never (NETWORK_EXCEPTION). What it may not have heard is asked again."""
        if self.removed or self.in_sync.proposal is not proposal:
            return
        if code is ErrorCode.NONE and assignment is not None:
            if assignment.leader_epoch == self.leader_epoch:
                self._settle(assignment.isr, assignment.partition_epoch)
        elif code in NOT_APPLIED:
            self.in_sync.withdraw()
            self.advance()
        elif code not in OVERTAKEN:
            self._around.proposals[self] = proposal

    def update(self, assignment: Assignment) -> None:
        """An image shows another in-sync set, other replicas, or another epoch in which this replica still leads."""
        if assignment.leader_epoch > self.leader_epoch:
            self._begin_again(assignment)
            return
        if assignment.partition_epoch < self.in_sync.partition_epoch:
            # The controller's answer to us was faster than the image.
            return
        if assignment.replicas != self.replicas:
            self.replicas = assignment.replicas
            self._count_needed()
            self._place_remotes()
        if assignment.partition_epoch > self.in_sync.partition_epoch:
            self._around.proposals.pop(self, None)
            self._settle(assignment.isr, assignment.partition_epoch)

    def _begin_again(self, assignment: Assignment) -> None:
        """The log is the same, so producers go on waiting. Who reads in the epoch before, followers above all, is to
        hear at once that it is over."""
        self._around.proposals.pop(self, None)
        self._begin(assignment)
        self._settled()
        for watcher in list(self.watchers):
            watcher.news(0)

    def _settle(self, isr: Iterable[int], partition_epoch: int) -> None:
        if partition_epoch < self.in_sync.partition_epoch:
            return
        before = self.in_sync.isr
        self.in_sync.settle(isr, partition_epoch)
        for each in before - self.in_sync.isr:
            if remote := self.remotes.get(each):
                remote.left()
        self._settled()

    def _settled(self) -> None:
        """The controller has said who is in sync."""
        self.advance()
        if len(self.in_sync.isr) < self.in_sync_min:
            # Nothing is acknowledged from here on. Who waits may ask again, and hear that at once.
            self._fail_all(self._waiting, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        self.reconsider()

    def _place_remotes(self) -> None:
        """Keep what is known of replicas that stay; who is in sync gets the usual time to say so again."""
        before, isr, now_ms = self.remotes, self.in_sync.isr, self._around.clock()
        self.remotes = {
            each: before.get(each) or ReplicaState(each, now_ms if each in isr else LONG_AGO_MS)
            for each in self.replicas
            if each != self._around.node_id
        }

    # The end

    def remove(self, error: ErrorCode = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) -> None:
        super().remove(error)
        self._around.proposals.pop(self, None)
        self._fail_all(self._waiting_for_us, error)
        self.tail_watchers.clear()
