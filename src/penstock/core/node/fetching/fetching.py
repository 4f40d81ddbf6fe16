"""Fetches and their sessions: who reads which partitions, who waits in purgatory, and what each is told.

A fetch session (KIP-227) is a set of cached partitions. A fetch without one has a session that lives for one request.
An append costs its partition's watchers one call each; a fetch looks only at partitions that have news, so a session
of 10,000 quiet partitions and a busy one costs what the busy one costs.
"""

from __future__ import annotations

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Later, Slice, Steps
from penstock.core.node.fetching.aborted import has_aborted, name_aborted
from penstock.core.node.fetching.fetch_session import CachedPartition, FetchSession, Outcome
from penstock.core.node.fetching.follower_fetch_delay import FollowerFetchDelay
from penstock.core.node.fetching.follower_reads import FollowerReads
from penstock.core.node.fetching.follower_replies import SINCE
from penstock.core.node.fetching.parked_fetch import ParkedFetch
from penstock.core.node.fetching.ports import FetchHost
from penstock.core.node.serving.access import CLUSTER_NAME, Operation, Resource
from penstock.core.node.serving.api import PENDING, Answer
from penstock.core.node.serving.audited import refusal_of
from penstock.core.node.serving.gates import ALLOW_ALL, OPEN, UNLIMITED
from penstock.core.node.serving.leader_hints import FETCH_HINTS_SINCE, hint_reader
from penstock.core.node.serving.slots import Slot
from penstock.core.partition.divergence import find_readers_divergence
from penstock.core.partition.partition import Partition
from penstock.core.partition.read_replica import LEADER
from penstock.core.partition.readers import COMMITTED, REPLICA
from penstock.core.partition.replicated import ReplicatedLeader
from penstock.core.wire.api.fetch import FetchableTopicResponse, FetchRequest, FetchResponse

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
SESSION_IDLE_MS = 120_000
"""A session that was not used for this long may be evicted for a new one, as in Kafka."""

NO_SESSION = 0
READS_FOLLOWERS_SINCE = 11
"""Clients of this version know that a replica that does not lead may serve them (KIP-392)."""


class Fetching:
    """All fetch sessions of a node."""

    def __init__(self, node: FetchHost) -> None:
        self._node = node
        self._sessions: dict[int, FetchSession] = {}
        self.woken: list[ParkedFetch] = []
        self.cold_reads = 0
        self.follower_fetch_delay = FollowerFetchDelay(node, self)
        self._follower_reads = FollowerReads(node.replication)

    @property
    def session_count(self) -> int:
        return len(self._sessions)

    def fetch(self, request: FetchRequest, slot: Slot) -> Answer:
        """Serve a fetch now, or park it until there is something to say."""
        try:
            session = self._session(request, slot.version)
        except ApiError as error:
            return FetchResponse(error_code=self._node.error("Fetch", error.code), session_id=NO_SESSION)
        if session.replica is not None:
            self._node.replication.heard_from(session.replica[0])
        elif slot.version >= FETCH_HINTS_SINCE:
            session.hinted_on = slot.context.listener
        if self._node.gates is not OPEN:
            self._heed(session, slot)
        if session.session_id != NO_SESSION and request.max_wait_ms > 0 and self._is_caught_up(session):
            return self._park(session, request, slot, 0)
        limit = self._bytes_max(session, request, slot)
        outcome = self._collect(session, limit)
        is_enough = outcome.cold or outcome.failed or outcome.size >= min(request.min_bytes, limit)
        if is_enough or request.max_wait_ms <= 0 or not len(session):
            return self._respond(session, outcome, slot)
        return self._park(session, request, slot, outcome.size)

    def _park(self, session: FetchSession, request: FetchRequest, slot: Slot, ready_bytes: int) -> Answer:
        session.watch()
        session.parked = slot.parked = ParkedFetch(self._node, self, session, request, slot, ready_bytes)
        return PENDING

    def _is_caught_up(self, session: FetchSession) -> bool:
        """Whether this is a follower that has all there is: the usual case, as its fetch acknowledges what it got. Who
        leads those partitions knows that now."""
        if session.replica is None or not len(session) or session.is_refused:
            return False
        try:
            for cached in list(session.news):
                leader, diverging = cached.admit(self._node)
                if diverging is not None or cached.offset < leader.visible_end(REPLICA):
                    return False
        except ApiError:
            # It is met again, and told, when everything that has news is looked at.
            return False
        return True

    def settle(self) -> None:
        """Answer the fetches that were woken during this turn."""
        while self.woken:
            woken, self.woken = self.woken, []
            for parked in woken:
                self._answer(parked)

    def cancel(self, slot: Slot) -> None:
        """Forget the parked fetch of a connection that closed."""
        parked = slot.parked
        if isinstance(parked, ParkedFetch) and parked.session.parked is parked:
            parked.woken = True
            parked.deadline.cancel()
            self._release(parked.session)

    def _answer(self, parked: ParkedFetch) -> None:
        session = parked.session
        if session.parked is not parked:
            return
        parked.slot.parked = None
        self._release(session)
        if self._node.gates is not OPEN:
            self._heed(session, parked.slot)
        if session.replica is not None and len(session.news) == 1 and self._tell_follower(parked):
            return
        outcome = self._collect(session, self._bytes_max(session, parked.request, parked.slot))
        answer = self._respond(session, outcome, parked.slot)
        if isinstance(answer, FetchResponse):
            parked.slot.reply(answer)
        else:
            self._node.run_steps(parked.slot, answer)

    def _tell_follower(self, parked: ParkedFetch) -> bool:
        """The short way; False where it does not lead anywhere, and nothing has been said."""
        if parked.slot.version < SINCE or parked.session.is_refused:
            return False
        (cached,) = parked.session.news
        try:
            leader, diverging = cached.admit(self._node)
            if diverging is not None:
                return False
            limit = min(parked.request.max_bytes, self._node.limits.fetch_bytes_max)
            piece = self._read_cached(leader, cached, limit, first=True)
        except ApiError:
            return False
        if type(piece) is not Slice:
            return False
        cached.tell_follower(parked.slot, leader, piece)
        return True

    def _release(self, session: FetchSession) -> None:
        session.parked = None
        if session.session_id == NO_SESSION:
            session.unwatch()

    # Sessions

    def _session(self, request: FetchRequest, version: int) -> FetchSession:
        """The session that a request reads through, updated by what the request says."""
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if request.session_id != NO_SESSION:
                self._drop(request.session_id)
            session_id = self._new_session(version) if request.session_epoch == INITIAL_EPOCH else NO_SESSION
            session = FetchSession(session_id, version >= 13)
            if session_id != NO_SESSION:
                self._sessions[session_id] = session
        else:
            session = self._known_session(request, version)
        session.used_ms = self._node.now_ms
        session.reads_followers = version >= READS_FOLLOWERS_SINCE
        session.rack = request.rack_id if self._node.limits.reads_near else ""
        session.update(request)
        return session

    def _known_session(self, request: FetchRequest, version: int) -> FetchSession:
        session = self._sessions.get(request.session_id)
        if session is None:
            raise ApiError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.by_id != (version >= 13):
            raise ApiError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        if request.session_epoch != session.next_epoch:
            raise ApiError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        session.next_epoch = 1 if session.next_epoch == 0x7FFFFFFF else session.next_epoch + 1
        if session.parked is not None:
            # The client gave up on its last fetch without saying so; its slot is answered empty, in its turn.
            parked = session.parked
            self.cancel(parked.slot)
            parked.slot.reply(FetchResponse(session_id=session.session_id))
        return session

    def _new_session(self, version: int) -> int:
        """An unused id, if there is room or an idle session to evict; otherwise the fetch goes without."""
        if version < 7 or self._node.limits.sessions_max == 0:
            return NO_SESSION
        if len(self._sessions) >= self._node.limits.sessions_max and not self._evict():
            return NO_SESSION
        while True:
            session_id = int.from_bytes(self._node.entropy.bytes(4), "big") & 0x7FFFFFFF
            if session_id != NO_SESSION and session_id not in self._sessions:
                return session_id

    def _evict(self) -> bool:
        oldest = min(self._sessions.values(), key=lambda session: session.used_ms)
        if self._node.now_ms - oldest.used_ms < SESSION_IDLE_MS or oldest.parked is not None:
            return False
        self._drop(oldest.session_id)
        return True

    def _drop(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.unwatch()

    # Reading

    def _heed(self, session: FetchSession, slot: Slot) -> None:
        """Where rights may have changed since the last look, everything of a session is looked at anew."""
        authorizer = self._node.gates.authorizer
        if authorizer is ALLOW_ALL:
            return
        session.heed(slot.context, authorizer.edition)
        session.is_refused = session.replica is not None and not authorizer.allows(
            slot.context, Operation.CLUSTER_ACTION, Resource.CLUSTER, CLUSTER_NAME
        )

    def _check_right(self, cached: CachedPartition) -> None:
        """Who may not read something does not learn whether it is there; an id that no topic has gives nothing away."""
        authorizer, session = self._node.gates.authorizer, cached.session
        if authorizer is ALLOW_ALL:
            return
        name = self._node.image.names.get(cached.topic_id) if session.by_id else cached.topic
        if session.is_refused or (
            session.replica is None
            and name is not None
            and session.context is not None
            and not authorizer.allows(session.context, Operation.READ, Resource.TOPIC, name)
        ):
            self._tell_of_refusal(session, name or "")
            raise ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    def _tell_of_refusal(self, session: FetchSession, name: str) -> None:
        if self._node.audits and session.context is not None:
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            self._node.audit_refusal(refusal_of(session.context, "Fetch", name, code))

    def _bytes_max(self, session: FetchSession, request: FetchRequest, slot: Slot) -> int:
        """The byte limits of request, broker and quota."""
        limit, quotas = min(request.max_bytes, self._node.limits.fetch_bytes_max), self._node.gates.quotas
        if quotas is UNLIMITED or session.replica is not None:
            return limit
        return quotas.fetch_bytes_max(slot.context, limit)

    def _collect(self, session: FetchSession, limit: int) -> Outcome:
        """Look at every cached that has news."""
        outcome = Outcome(limit)
        for cached in list(session.news):
            if session.replica is None:
                self._look(cached, outcome)
            else:
                self._look_for_follower(cached, outcome)
        return outcome

    def _look(self, cached: CachedPartition, outcome: Outcome) -> None:
        try:
            if self._node.gates is not OPEN:
                self._check_right(cached)
            partition = cached.resolve(self._node)
            diverging = find_readers_divergence(partition, cached.offset, cached.last_epoch)
            if diverging is not None:
                outcome.diverge(cached, partition, diverging)
                return
            room = min(cached.max_bytes, outcome.room)
            first = outcome.size == 0
            piece: Slice | Later | None = None
            if room > 0 or first:
                piece = partition.read_cached(cached.offset, max(room, 0), cached.session.reader, first)
        except ApiError as error:
            outcome.fail(cached, error.code)
            self._node.error("Fetch", error.code)
            return
        if cached.session.rack and isinstance(partition, ReplicatedLeader):
            replica = partition.read_replica(cached.session.rack, cached.offset)
            if replica != LEADER:
                outcome.redirect(cached, partition, replica)
                return
        if isinstance(piece, Later):
            outcome.cold.append(cached)
            piece = None
        outcome.add(cached, partition, piece)

    def _look_for_follower(self, cached: CachedPartition, outcome: Outcome) -> None:
        """What a follower asks for tells what it has; what it gets is all there is, committed or not."""
        piece: Slice | Later | None = None
        try:
            if self._node.gates is not OPEN:
                self._check_right(cached)
            partition, diverging = cached.admit(self._node)
            if diverging is None:
                piece = self._read_cached(partition, cached, outcome.room, first=outcome.size == 0)
        except ApiError as error:
            outcome.fail(cached, error.code)
            self._node.error("Fetch", error.code)
            return
        if diverging is not None:
            outcome.diverge(cached, partition, diverging)
            return
        if isinstance(piece, Later):
            outcome.cold.append(cached)
            piece = None
        outcome.add(cached, partition, piece)

    def _read_cached(
        self, leader: ReplicatedLeader, cached: CachedPartition, room: int, *, first: bool
    ) -> Slice | Later | None:
        room = min(cached.max_bytes, room)
        return self._follower_reads.read_cached(leader, cached.replica_id, cached.offset, room, first)

    def _respond(self, session: FetchSession, outcome: Outcome, slot: Slot) -> FetchResponse | Steps[FetchResponse]:
        if outcome.cold or (session.reader is COMMITTED and has_aborted(outcome)):
            return self._read_cold(session, outcome, slot)
        return self._assemble(session, outcome, slot)

    def _read_cold(self, session: FetchSession, outcome: Outcome, slot: Slot) -> Steps[FetchResponse]:
        """The slow twin: ask the disk for what the caches did not know."""
        self.cold_reads += len(outcome.cold)
        for cached in outcome.cold:
            try:
                read = yield from self._read(cached, outcome)
            except ApiError as error:
                outcome.fail(cached, error.code)
                continue
            if read is not None:
                outcome.fill(cached, *read)
        if session.reader is COMMITTED and has_aborted(outcome):
            yield from name_aborted(outcome)
        return self._assemble(session, outcome, slot)

    def _read(self, cached: CachedPartition, outcome: Outcome) -> Steps[tuple[Partition, Slice] | None]:
        room, first = min(cached.max_bytes, outcome.room), outcome.size == 0
        if room <= 0 and not first:
            return None
        if self._node.gates is not OPEN:
            self._check_right(cached)
        partition, offset = cached.resolve_again(self._node), cached.offset
        if cached.session.replica is not None:
            piece = yield from self._follower_reads.read(partition, cached.replica_id, offset, room, first)
        else:
            piece = yield from partition.read(offset, max(room, 0), cached.session.reader, first)
        return None if piece is None else (partition, piece)

    def _assemble(self, session: FetchSession, outcome: Outcome, slot: Slot) -> FetchResponse:
        """Group by topic what is worth saying; quiet partitions leave the news. A client that has more than its quota
        with it rests afterwards; Kafka throws away what it has read for it, and says nothing but how long to rest."""
        quotas = self._node.gates.quotas
        if (
            quotas is not UNLIMITED
            and session.replica is None
            and (rest_ms := quotas.fetched_ms(slot.context, outcome.size))
        ):
            slot.throttle(rest_ms)
        topics: dict[str | bytes, FetchableTopicResponse] = {}
        for cached, data in outcome.found.items():
            if not session.worth_saying(cached, data):
                continue
            topic = topics.get(cached.topic_key)
            if topic is None:
                topic = topics[cached.topic_key] = FetchableTopicResponse(
                    topic=cached.topic, topic_id=cached.topic_id, partitions=[]
                )
            topic.partitions.append(data)
        response = FetchResponse(error_code=0, session_id=session.session_id, responses=list(topics.values()))
        if outcome.failed and session.hinted_on is not None:
            hint_reader(self._node.image, session.hinted_on, response)
        if session.session_id == NO_SESSION:
            session.end()
        return response
