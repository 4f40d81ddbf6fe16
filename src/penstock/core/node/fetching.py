"""Fetches and their sessions: who reads which partitions, who waits for news, and what each is told.

A session (KIP-227) is a long-lived *view*: a set of interests in partitions. A fetch without a session is a view that
lives for one request. An append costs its partition's watchers one call each; a fetch looks only at interests that
have news, so a session of 10,000 quiet partitions and a busy one costs what the busy one costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Later, Slice, Steps
from penstock.core.node.aborted import has_aborted, name_aborted
from penstock.core.node.deadlines import Deadline
from penstock.core.node.leader_hints import FETCH_HINTS_SINCE, hint_reader
from penstock.core.node.slots import PENDING, Answer, Slot
from penstock.core.node.telling import Telling
from penstock.core.node.views import Interest, Outcome, View
from penstock.core.partition.divergence import find_readers_divergence
from penstock.core.partition.partition import READ_COMMITTED
from penstock.core.partition.read_replica import LEADER
from penstock.core.partition.replicated import ReplicatedLeader
from penstock.core.wire.api.fetch import FetchableTopicResponse, FetchRequest, FetchResponse

if TYPE_CHECKING:
    from penstock.core.node.node import Node

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
SESSION_IDLE_MS = 120_000
"""A session that was not used for this long may be evicted for a new one, as in Kafka."""

NO_SESSION = 0
READ_UNCOMMITTED = 0
READS_FOLLOWERS_SINCE = 11
"""Clients of this version know that a replica that does not lead may serve them (KIP-392)."""


class ParkedFetch:
    """A fetch that waits for enough bytes or for its deadline."""

    __slots__ = ("bytes", "deadline", "node", "request", "slot", "view", "woken")

    def __init__(self, node: Node, view: View, request: FetchRequest, slot: Slot, ready: int) -> None:
        self.node = node
        self.view = view
        self.request = request
        self.slot = slot
        self.bytes = ready
        self.woken = False
        self.deadline: Deadline = node.deadlines.at(node.now_ms + request.max_wait_ms, self.wake)

    def news(self, size: int, urgent: bool) -> None:
        self.bytes += size
        if urgent or self.bytes >= self.request.min_bytes:
            self.wake()

    def wake(self) -> None:
        if not self.woken:
            self.woken = True
            self.deadline.cancel()
            fetching = self.node.fetching
            if self.view.replica is None:
                fetching.woken.append(self)
            else:
                fetching.telling.put_off(self)


class Fetching:
    """All views of a node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._sessions: dict[int, View] = {}
        self.woken: list[ParkedFetch] = []
        self.telling = Telling(node)

    @property
    def session_count(self) -> int:
        return len(self._sessions)

    def fetch(self, request: FetchRequest, slot: Slot) -> Answer:
        """Serve a fetch now, or park it until there is something to say."""
        try:
            view = self._view(request, slot.version)
        except ApiError as error:
            return FetchResponse(error_code=self._node.error("Fetch", error.code), session_id=NO_SESSION)
        if view.replica is not None:
            self._node.replication.heard_from(view.replica[0])
        elif slot.version >= FETCH_HINTS_SINCE:
            view.hinted_on = slot.connection.listener
        if view.session_id != NO_SESSION and request.max_wait_ms > 0 and self._is_caught_up(view):
            return self._park(view, request, slot, 0)
        outcome = self._collect(view, request)
        is_enough = outcome.cold or outcome.failed or outcome.size >= request.min_bytes
        if is_enough or request.max_wait_ms <= 0 or not len(view):
            return self._respond(view, request, outcome)
        return self._park(view, request, slot, outcome.size)

    def _park(self, view: View, request: FetchRequest, slot: Slot, ready_bytes: int) -> Answer:
        view.watch()
        view.parked = slot.parked = ParkedFetch(self._node, view, request, slot, ready_bytes)
        return PENDING

    def _is_caught_up(self, view: View) -> bool:
        """Whether this is a follower that has all there is: the usual case, as its fetch acknowledges what it got. Who
        leads those partitions knows that now."""
        if view.replica is None or not len(view):
            return False
        try:
            for interest in list(view.news):
                interest.resolve(self._node)
                leader, diverging = interest.follow()
                if diverging is not None or interest.offset < leader.log.written_offset:
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
        if isinstance(parked, ParkedFetch) and parked.view.parked is parked:
            parked.woken = True
            parked.deadline.cancel()
            self._release(parked.view)

    def _answer(self, parked: ParkedFetch) -> None:
        view = parked.view
        if view.parked is not parked:
            return
        parked.slot.parked = None
        self._release(view)
        if view.replica is not None and len(view.news) == 1 and self._tell_follower(parked):
            return
        answer = self._respond(view, parked.request, self._collect(view, parked.request))
        if isinstance(answer, FetchResponse):
            parked.slot.reply(answer)
        else:
            self._node.run_steps(parked.slot, answer)

    def _tell_follower(self, parked: ParkedFetch) -> bool:
        """The short way; False where it does not lead anywhere, and nothing has been said."""
        (interest,) = parked.view.news
        try:
            is_slowed = self._slows(interest)
            limit = min(parked.request.max_bytes, self._node.limits.fetch_bytes_max)
            return not is_slowed and interest.tell_follower(parked.slot, limit)
        except ApiError:
            return False

    def _release(self, view: View) -> None:
        view.parked = None
        if view.session_id == NO_SESSION:
            view.unwatch()

    # Sessions

    def _view(self, request: FetchRequest, version: int) -> View:
        """The view that a request reads through, updated by what the request says."""
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if request.session_id != NO_SESSION:
                self._drop(request.session_id)
            session_id = self._new_session(version) if request.session_epoch == INITIAL_EPOCH else NO_SESSION
            view = View(session_id, version >= 13)
            if session_id != NO_SESSION:
                self._sessions[session_id] = view
        else:
            view = self._known_session(request, version)
        view.used_ms = self._node.now_ms
        view.reads_followers = version >= READS_FOLLOWERS_SINCE
        view.rack = request.rack_id if self._node.limits.reads_near else ""
        view.update(request)
        return view

    def _known_session(self, request: FetchRequest, version: int) -> View:
        view = self._sessions.get(request.session_id)
        if view is None:
            raise ApiError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if view.by_id != (version >= 13):
            raise ApiError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        if request.session_epoch != view.next_epoch:
            raise ApiError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        view.next_epoch = 1 if view.next_epoch == 0x7FFFFFFF else view.next_epoch + 1
        if view.parked is not None:
            # The client gave up on its last fetch without saying so; its slot is answered empty, in its turn.
            parked = view.parked
            self.cancel(parked.slot)
            parked.slot.reply(FetchResponse(session_id=view.session_id))
        return view

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
        oldest = min(self._sessions.values(), key=lambda view: view.used_ms)
        if self._node.now_ms - oldest.used_ms < SESSION_IDLE_MS or oldest.parked is not None:
            return False
        self._drop(oldest.session_id)
        return True

    def _drop(self, session_id: int) -> None:
        view = self._sessions.pop(session_id, None)
        if view is not None:
            view.unwatch()

    # Reading

    def _collect(self, view: View, request: FetchRequest) -> Outcome:
        """Look at every interest that has news, within the byte limits of request and broker."""
        limit = min(request.max_bytes, self._node.limits.fetch_bytes_max)
        outcome = Outcome(limit)
        for interest in list(view.news):
            if view.replica is None:
                self._look(interest, request.isolation_level, outcome)
            else:
                self._look_for_follower(interest, outcome)
        return outcome

    def _look(self, interest: Interest, isolation: int, outcome: Outcome) -> None:
        try:
            partition = interest.resolve(self._node)
            if not partition.leads and not interest.view.reads_followers:
                raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            diverging = find_readers_divergence(partition, interest.offset, interest.last_epoch)
            if diverging is not None:
                outcome.diverge(interest, partition, diverging)
                return
            room = min(interest.max_bytes, outcome.room)
            first = outcome.size == 0
            piece = (
                partition.read_cached(interest.offset, max(room, 0), isolation, first) if room > 0 or first else None
            )
        except ApiError as error:
            outcome.fail(interest, error.code)
            self._node.error("Fetch", error.code)
            return
        if interest.view.rack and isinstance(partition, ReplicatedLeader):
            replica = partition.read_replica(interest.view.rack, interest.offset)
            if replica != LEADER:
                outcome.redirect(interest, partition, isolation, replica)
                return
        if isinstance(piece, Later):
            outcome.cold.append(interest)
            piece = None
        outcome.add(interest, partition, isolation, piece)

    def _look_for_follower(self, interest: Interest, outcome: Outcome) -> None:
        """What a follower asks for tells what it has; what it gets is all there is, committed or not."""
        piece: Slice | Later | None = None
        try:
            interest.resolve(self._node)
            partition, diverging = interest.follow()
            room, first = min(interest.max_bytes, outcome.room), outcome.size == 0
            is_slowed = self._slows(interest)
            if diverging is None and (room > 0 or first) and (not is_slowed or self._may_send()):
                piece = partition.read_tail(interest.offset, max(room, 0), first)
        except ApiError as error:
            outcome.fail(interest, error.code)
            self._node.error("Fetch", error.code)
            return
        if diverging is not None:
            outcome.diverge(interest, partition, diverging)
            return
        if isinstance(piece, Later):
            outcome.cold.append(interest)
            piece = None
        elif piece is not None and is_slowed:
            self._sent(piece)
        outcome.add(interest, partition, READ_UNCOMMITTED, piece)

    def _slows(self, interest: Interest) -> bool:
        """Whether what goes to a follower counts as throttled."""
        leader, replica = interest.partition, interest.view.replica
        throttling = self._node.replication.throttling
        return (
            replica is not None
            and isinstance(leader, ReplicatedLeader)
            and throttling.slows_sending(leader, replica[0])
        )

    def _may_send(self) -> bool:
        """Whether the throttle lets something pass; if not, its follower is looked at again after its wait."""
        replication = self._node.replication
        return replication.throttling.sending.is_open(replication.clock())

    def _sent(self, piece: Slice) -> None:
        replication = self._node.replication
        replication.throttling.sending.passed(piece.length, replication.clock())

    def _respond(self, view: View, request: FetchRequest, outcome: Outcome) -> FetchResponse | Steps[FetchResponse]:
        is_careful = request.isolation_level == READ_COMMITTED and view.replica is None
        if outcome.cold or (is_careful and has_aborted(outcome)):
            return self._read_cold(view, request, outcome)
        return self._assemble(view, outcome)

    def _read_cold(self, view: View, request: FetchRequest, outcome: Outcome) -> Steps[FetchResponse]:
        """The slow twin: ask the disk for what the caches did not know."""
        for interest in outcome.cold:
            partition = interest.partition
            if partition is None:
                continue
            room, first = min(interest.max_bytes, outcome.room), outcome.size == 0
            if room <= 0 and not first:
                continue
            try:
                is_reader = view.replica is None
                limit = partition.limit(request.isolation_level) if is_reader else partition.log.written_offset
                piece = yield from partition.log.read(interest.offset, max(room, 0), limit, first)
            except ApiError as error:
                outcome.fail(interest, error.code)
                continue
            if piece is not None:
                if self._slows(interest):
                    self._sent(piece)
                outcome.fill(interest, piece)
        if request.isolation_level == READ_COMMITTED and view.replica is None and has_aborted(outcome):
            yield from name_aborted(outcome)
        return self._assemble(view, outcome)

    def _assemble(self, view: View, outcome: Outcome) -> FetchResponse:
        """Group by topic what is worth saying; quiet interests leave the news."""
        topics: dict[str | bytes, FetchableTopicResponse] = {}
        for interest, data in outcome.found.items():
            if not view.worth_saying(interest, data):
                continue
            topic = topics.get(interest.topic_key)
            if topic is None:
                topic = topics[interest.topic_key] = FetchableTopicResponse(
                    topic=interest.topic, topic_id=interest.topic_id, partitions=[]
                )
            topic.partitions.append(data)
        response = FetchResponse(error_code=0, session_id=view.session_id, responses=list(topics.values()))
        if outcome.failed and view.hinted_on is not None:
            hint_reader(self._node.image, view.hinted_on, response)
        return response
