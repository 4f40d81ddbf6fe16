"""One replica of a partition on this node, whatever its role: what readers may see, and who hears of news.

A role is a class: a leader on its own (`leader`), a leader with followers (`replicated`), a follower (`follower`). When
an image changes the role, another object takes this one's place, and whoever holds this one finds it `removed`. What
only a leader does is refused here.

What a replica's end counts is decided here, too: Written bytes, or Synced ones where `flush.messages=1` asks for that.
The high watermark is the only thing that readers and acknowledgements look at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Later, Slice, Steps
from penstock.core.base.settings import TopicSettings
from penstock.core.log.log import Log
from penstock.core.partition.readers import COMMITTED, REPLICA, Reader
from penstock.core.partition.traffic import Intake, Traffic
from penstock.core.partition.verification import Begins, Verification
from penstock.core.records.batch import BatchHeader
from penstock.core.rsm.result import Marker

if TYPE_CHECKING:
    from penstock.core.partition.stage import Ready, Stage

NO_TIMESTAMP = -1
NEVER = 2**63 - 1
ACKS_ALL = -1

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Written by coordinators only."""


class Appended(NamedTuple):
    """Where a batch went, as the producer is told."""

    base_offset: int
    next_offset: int
    append_time_ms: int


class AckWaiter(Protocol):
    """Someone whose answer waits until an offset is committed."""

    def committed(self, partition: Partition, error: ErrorCode) -> None: ...


class Watcher(Protocol):
    """Someone who reads this partition and wants to hear of news."""

    def news(self, size: int) -> None: ...


class Partition:
    """A replica that takes no appends from clients."""

    __slots__ = (
        "_sync_asked_offset",
        "_unannounced_bytes",
        "acks_all_only",
        "bytes_in",
        "high_watermark",
        "index",
        "internal",
        "leader_epoch",
        "log",
        "removed",
        "settings",
        "stage",
        "sync_each",
        "templates",
        "topic",
        "topic_id",
        "traffic",
        "watchers",
    )

    leads: ClassVar[bool] = False

    def __init__(self, topic: str, index: int, topic_id: bytes, log: Log, epoch: int, settings: TopicSettings) -> None:
        self.topic = topic
        self.index = index
        self.topic_id = topic_id
        self.log = log
        self.leader_epoch = epoch
        self.internal = topic in INTERNAL_TOPICS
        self.removed = False
        # Batches that are to be read before they are appended; whatever comes meanwhile waits behind them.
        self.stage: Stage | None = None
        # Replies to producers, ready but for their offsets, by version.
        self.templates: dict[int, tuple[bytes, bytes, int]] = {}
        self.watchers: dict[Watcher, None] = {}
        self.bytes_in = 0
        # Its topic's; whoever keeps the replicas gives the same to all of a topic.
        self.traffic = Traffic(Intake())
        self._unannounced_bytes = 0
        self._sync_asked_offset = -1
        self.high_watermark = log.start_offset
        self.configure(settings)
        log.on_progress = self.progressed

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.topic}-{self.index} in epoch {self.leader_epoch}, {self.log})"

    def configure(self, settings: TopicSettings) -> None:
        """Take new topic settings, at once for everything that follows."""
        self.settings = settings
        self.sync_each = settings.flush_messages == 1
        self.acks_all_only = settings.acks_required == "all"
        self.log.settings = settings

    @property
    def is_flushed(self) -> bool:
        """Whether the topic asks for flushes, and does not leave them to the system."""
        return self.settings.flush_messages < NEVER or self.settings.flush_ms < NEVER

    @property
    def counted_end(self) -> int:
        """How far this replica's log counts when it is asked what it has."""
        return self.log.synced_offset if self.sync_each else self.log.written_offset

    @property
    def last_stable_offset(self) -> int:
        """Below this every transaction is decided: what a read_committed reader may see."""
        stable = self.log.producers.last_stable_offset(self.high_watermark)
        # Records of an open transaction may have been deleted: readers begin where the log does.
        return stable if stable >= self.log.start_offset else min(self.log.start_offset, self.high_watermark)

    @property
    def low_watermark(self) -> int:
        """Below this nobody has anything any more."""
        return self.log.start_offset

    # What only a leader does

    def verification(self, header: Begins, bumps_epoch: bool, now_ms: int) -> Verification:
        """What a transactional batch may have to wait for before it is appended; raises the error its producer gets."""
        raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def check_vouched(self, header: Begins, vouched: Verification | None) -> None:
        """Whether a transactional batch may be appended now, or the error its producer gets: a transaction that nobody
        knows of would never end, and committed readers would wait for that for good. What this node writes for others
        is checked by whoever writes it."""
        raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def append(
        self, records: memoryview, version: int, now_ms: int, acks: int, vouched: Verification | None = None
    ) -> Appended:
        """Append what a producer sent, or find that it is here already; raises the error its producer gets, or
        `NeedsReading` where it must go through the stage. Not to be called while anything is in the stage. Who says no
        transactional id has nothing that could vouch for it."""
        raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def append_run(
        self, run: list[memoryview], version: int, now_ms: int, acks: int, vouched: Verification | None = None
    ) -> list[Appended]:
        """Append batches that came in a row, with one write for all; stops before the first that is refused."""
        return []

    def append_later(self, records: memoryview, version: int, now_ms: int, ready: Ready) -> None:
        """Put a batch into the stage; raises the error its producer gets, if its header says enough."""
        raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def append_own(self, batch: bytearray, header: BatchHeader, now_ms: int) -> int:
        """Append a batch that this node made itself (coordinators); gives the offset after it."""
        raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def end_transaction(self, marker: Marker, now_ms: int) -> int:
        """Append the marker that ends a producer's transaction; gives the offset after it, or raises what its
        coordinator hears."""
        raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def wait(self, next_offset: int, waiter: AckWaiter, acks: int = ACKS_ALL) -> bool:
        """Register for the commit of everything below `next_offset`; False when it is committed already."""
        raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    @property
    def beyond_end(self) -> ErrorCode:
        """What a reader hears who asks for more than there is here. Out of range it must not be called where others may
        have it: the reader would begin anew."""
        return ErrorCode.OFFSET_OUT_OF_RANGE

    def check_settled(self) -> None:
        """A leader that does not know yet how far its predecessor committed raises OFFSET_NOT_AVAILABLE."""

    def expire_producers(self, now_ms: int, expiration_ms: int) -> None:
        """Forget producers that have long been silent."""
        self.log.producers.expire(now_ms, expiration_ms)

    # The log's news

    def progressed(self) -> None:
        """The log tells that bytes were written or synced since, or that some were lost."""

    def sync_written(self) -> None:
        """Ask for a sync of what has been Written since it was last asked for, if only what is Synced counts."""
        log = self.log
        written = log.written_offset
        if self.sync_each and written != self._sync_asked_offset and written > log.synced_offset:
            self._sync_asked_offset = written
            log.request_flush()

    def announce(self) -> None:
        """Tell those who read here that the high watermark has moved."""
        size, self._unannounced_bytes = self._unannounced_bytes, 0
        for watcher in self.watchers:
            watcher.news(size)

    # Reading

    def visible_end(self, reader: Reader) -> int:
        """How far a reader may see: whether it is woken, what it gets and what it is told of the end all follow from
        this. A replica sees what is Written, committed or not; a consumer, at leaders and at followers, what is known
        here to be committed, and perhaps only what is decided as well."""
        if reader is COMMITTED:
            return self.last_stable_offset
        if reader is REPLICA:
            return self.log.written_offset
        return self.high_watermark

    def read_cached(self, offset: int, max_bytes: int, reader: Reader, min_one: bool) -> Slice | Later | None:
        """Read without touching the disk, or say that `read` must be asked."""
        return self.log.read_cached(offset, max_bytes, self.visible_end(reader), min_one)

    def read(self, offset: int, max_bytes: int, reader: Reader, min_one: bool) -> Steps[Slice | None]:
        """The slow twin, which asks the disk."""
        return self.log.read(offset, max_bytes, self.visible_end(reader), min_one)

    # The end of a role

    def succeed(self, before: Partition) -> None:
        """Take the place of a role of the same replica: what was counted, and replies that are ready, are the
        replica's."""
        self.bytes_in = before.bytes_in
        self.templates = before.templates
        self.traffic = before.traffic

    def remove(self, error: ErrorCode = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) -> None:
        """The topic is gone, or another object takes this one's place: nobody waits here any longer."""
        self.removed = True
        if self.log.on_progress == self.progressed:
            self.log.on_progress = None
        for watcher in list(self.watchers):
            watcher.news(0)
        self.watchers.clear()
