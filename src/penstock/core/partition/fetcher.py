"""A fetcher: everything that one node follows another one for, in one request at a time.

It looks at a follower only when something happened to it: `_changed` names those. A request is answered when there is
news or the wait is over, so a quiet fetcher costs two messages per wait, whatever it follows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.base.values import frozen
from penstock.core.partition.fetch_session_handler import Changes, FetchSessionHandler
from penstock.core.partition.follower import Follower, Position
from penstock.core.partition.throttle import Throttle
from penstock.core.wire.api.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)

VERSION: Final = 17
"""The request names its topics by id and says which life of the broker asks; 18 adds what only Raft needs."""

LOSSES_COUNTED_MAX: Final = 10
"""Connections lost in a row after which the wait no longer doubles."""

FIRST_ANSWER_BYTES: Final = 65_536
ANSWER_BATCHES_MAX: Final = 1_000
"""Some milliseconds of work: whatever else the node has to do waits for as long as an answer is copied."""

Key = tuple[bytes, int]
"""(topic id, partition)"""


@frozen
class FetchSettings:
    """`replica.fetch.*`"""

    wait_ms_max: int = 500
    busy_wait_ms_max: int = 5
    """While a follower's disk is busy: what it writes must not wait for somebody else's news to be told."""
    bytes_min: int = 1
    partition_bytes_max: int = 1_048_576
    response_bytes_max: int = 10_485_760
    retry_ms: int = 50
    """After errors that mean that an image has not reached everyone yet, and after the first lost connection."""
    backoff_ms: int = 1_000
    answer_ms_max: int = 30_000
    """An answer that is not there as a whole after this time is given up."""


NOT_YET: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)


class Fetcher:
    """Gathers followers of one leader. `next` gives a request when there is one to send; `answered` takes its answer,
    or None if none will come. Both are called again at `due_ms`, and `on_change` tells when to ask `next` before."""

    def __init__(
        self,
        replica_id: int,
        broker_epoch: Callable[[], int],
        settings: FetchSettings,
        throttle: Throttle,
        is_throttled: Callable[[Follower], bool] = lambda follower: False,
    ) -> None:
        self._replica_id = replica_id
        self._broker_epoch = broker_epoch
        self.settings = settings
        self._throttle = throttle
        self._is_throttled = is_throttled
        self._followers: dict[Key, Follower] = {}
        self._session: FetchSessionHandler[Key, Position] = FetchSessionHandler()
        self._changed: dict[Key, None] = {}
        # Those that an error, or the throttle, lets wait, with the time until when.
        self._resting: dict[Key, int] = {}
        self._busy: dict[Key, None] = {}
        self._rests_until_ms = 0
        self._losses = 0
        self._in_flight = False
        self._owed_since_ms: int | None = None
        # How much the next answer may hold, and what the last one did.
        self._appetite_bytes = FIRST_ANSWER_BYTES
        self._copied_bytes = 0
        self._copied_batches = 0
        self.on_change: Callable[[], None] = lambda: None

    def __len__(self) -> int:
        return len(self._followers)

    def add(self, follower: Follower) -> None:
        key = follower.topic_id, follower.index
        self.remove(key)
        self._followers[key] = follower
        self._changed[key] = None
        follower.on_change = partial(self._note, key)

    def remove(self, key: Key) -> None:
        follower = self._followers.pop(key, None)
        if follower is not None:
            follower.on_change = lambda: None
            self._changed[key] = None
            self._resting.pop(key, None)
            self._busy.pop(key, None)

    def _note(self, key: Key) -> None:
        self._changed[key] = None
        self.on_change()

    def waits_ms(self, now_ms: int) -> int:
        """For how long the leader has said nothing, though it was asked: over this connection and those before."""
        return 0 if self._owed_since_ms is None else now_ms - self._owed_since_ms

    @property
    def losses(self) -> int:
        """How often in a row no answer has come."""
        return self._losses

    @property
    def due_ms(self) -> int | None:
        """When `next` should be asked at the latest, if nothing else happens."""
        if self._in_flight:
            return None
        if self._rests_until_ms and (self._followers or self._changed):
            # Nobody is asked for before that, however long those that rest for themselves have rested.
            return self._rests_until_ms
        return min(self._resting.values(), default=None)

    # Asking

    def next(self, now_ms: int) -> FetchRequest | None:
        """The next request, if one may be sent now and says something."""
        if self._in_flight or now_ms < self._rests_until_ms:
            return None
        self._rests_until_ms = 0
        if self._resting:
            self._end_rests(now_ms)
        looked_at = list(self._followers) if self._session.is_new else list(self._changed)
        self._changed.clear()
        wanted: dict[Key, Position] = {}
        unwanted: dict[Key, None] = {}
        for key in looked_at:
            position = self._position(key, now_ms)
            if position is None:
                unwanted[key] = None
            else:
                wanted[key] = position
        if not wanted and all(key in unwanted for key in self._session.known):
            # Nothing is left to ask for; should the session still know something, the next request corrects that.
            self._changed.update(dict.fromkeys(key for key in unwanted if key in self._session.known))
            return None
        self._in_flight = True
        if self._owed_since_ms is None:
            self._owed_since_ms = now_ms
        return self._request(self._session.next(wanted, unwanted))

    def _end_rests(self, now_ms: int) -> None:
        for key in [key for key, until_ms in self._resting.items() if until_ms <= now_ms]:
            del self._resting[key]
            self._changed[key] = None

    def _position(self, key: Key, now_ms: int) -> Position | None:
        settings = self.settings
        self._busy.pop(key, None)
        follower = self._followers.get(key)
        if follower is None or key in self._resting:
            return None
        if self._is_throttled(follower) and not self._throttle.is_open(now_ms):
            self._resting[key] = self._throttle.opens_ms(now_ms)
            return None
        if follower.lost_by is not None:
            # A full disk stays full for a while; who found no descriptor may find one a moment later.
            is_passing, follower.lost_by = follower.lost_by.is_passing, None
            self._resting[key] = now_ms + (settings.retry_ms if is_passing else settings.backoff_ms)
            return None
        position = follower.position
        if position is None and follower.is_busy:
            self._busy[key] = None
        return position

    def _request(self, changes: Changes[Key, Position]) -> FetchRequest:
        settings = self.settings
        topics: dict[bytes, FetchTopic] = {}
        for (topic_id, index), position in changes.asked.items():
            topic = topics.setdefault(topic_id, FetchTopic(topic_id=topic_id, partitions=[]))
            topic.partitions.append(self._asked(index, position))
        forgotten: dict[bytes, ForgottenTopic] = {}
        for topic_id, index in changes.forgotten:
            forgotten.setdefault(topic_id, ForgottenTopic(topic_id=topic_id, partitions=[])).partitions.append(index)
        return FetchRequest(
            replica_state=ReplicaState(replica_id=self._replica_id, replica_epoch=self._broker_epoch()),
            max_wait_ms=settings.busy_wait_ms_max if self._busy else settings.wait_ms_max,
            min_bytes=settings.bytes_min,
            max_bytes=min(self._appetite_bytes, settings.response_bytes_max),
            isolation_level=0,
            session_id=changes.session_id,
            session_epoch=changes.epoch,
            topics=list(topics.values()),
            forgotten_topics_data=list(forgotten.values()),
        )

    def _asked(self, index: int, position: Position) -> FetchPartition:
        return FetchPartition(
            partition=index,
            current_leader_epoch=position.leader_epoch,
            fetch_offset=position.offset,
            last_fetched_epoch=position.last_epoch,
            log_start_offset=position.start_offset,
            partition_max_bytes=self.settings.partition_bytes_max,
        )

    # Hearing

    def answered(self, response: FetchResponse | None, now_ms: int) -> None:
        assert self._in_flight, "an answer without a question"
        self._in_flight = False
        if response is None:
            settings = self.settings
            self._rests_until_ms = now_ms + min(settings.backoff_ms, settings.retry_ms << self._losses)
            self._losses = min(self._losses + 1, LOSSES_COUNTED_MAX)
            self._session.lost()
            return
        self._losses = 0
        self._owed_since_ms = None
        if response.error_code != ErrorCode.NONE:
            self._session.lost()
            return
        known = dict(self._session.known) if response.session_id == 0 else self._session.known
        self._session.answered(response.session_id)
        self._copied_bytes = self._copied_batches = 0
        for topic in response.responses:
            self._take_topic(topic, known, now_ms)
        if self._copied_batches:
            self._adapt()

    def _adapt(self) -> None:
        """Ask for as much as can be copied at once, if batches stay as large as they were. Megabytes of them may be a
        few, or more than a hundred thousand."""
        wanted_bytes = self._copied_bytes * ANSWER_BATCHES_MAX // self._copied_batches
        self._appetite_bytes = min(wanted_bytes, 2 * self._appetite_bytes)

    def _take_topic(self, topic: FetchableTopicResponse, known: dict[Key, Position | None], now_ms: int) -> None:
        for data in topic.partitions:
            key = topic.topic_id, data.partition_index
            follower, asked = self._followers.get(key), known.get(key)
            if follower is None or asked is None:
                continue
            position = follower.position
            if position is not None and position.is_at(asked):
                self._take(key, follower, data, now_ms)
            else:
                # It moved to another leader, or epoch, or lost what it had; the leader said this in vain and must hear
                # where to go on, even if that should be where it was.
                self._session.doubt(key)
                self._changed[key] = None

    def _take(self, key: Key, follower: Follower, data: PartitionData, now_ms: int) -> None:
        if data.records is not None:
            self._copied_bytes += len(data.records)
            if self._is_throttled(follower):
                self._throttle.passed(len(data.records), now_ms)
        batches_before = follower.copied_batches
        code = follower.take(data, now_ms)
        self._copied_batches += follower.copied_batches - batches_before
        self._changed[key] = None
        if code is not ErrorCode.NONE:
            settings = self.settings
            self._resting[key] = now_ms + (settings.retry_ms if code in NOT_YET else settings.backoff_ms)


class Fetchers:
    """One fetcher per leader; a follower is with the one of its leader, or with none."""

    def __init__(self, make: Callable[[], Fetcher]) -> None:
        self._make = make
        self.by_leader: dict[int, Fetcher] = {}

    def follow(self, follower: Follower) -> Fetcher:
        """Fetch for a follower, from its leader and nobody else."""
        self.forget((follower.topic_id, follower.index))
        fetcher = self.by_leader.get(follower.leader)
        if fetcher is None:
            fetcher = self.by_leader[follower.leader] = self._make()
        fetcher.add(follower)
        return fetcher

    def forget(self, key: Key) -> None:
        """A fetcher that has nobody left stays: what is in flight may still be answered."""
        for fetcher in self.by_leader.values():
            fetcher.remove(key)
