"""Fetch sessions (KIP-227): the partitions that a reader asks for, and which of them have news for it."""

from __future__ import annotations

from typing import Protocol

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Slice
from penstock.core.node.fetching.follower_replies import Template
from penstock.core.node.fetching.ports import FetchHost
from penstock.core.node.serving.context import RequestContext
from penstock.core.node.serving.slots import Slot
from penstock.core.partition.divergence import EpochEnd
from penstock.core.partition.partition import Partition
from penstock.core.partition.readers import COMMITTED, REPLICA, UNCOMMITTED, Reader, reader_of
from penstock.core.partition.replicated import Fetched, ReplicatedLeader
from penstock.core.wire.api.fetch import EpochEndOffset, FetchPartition, FetchRequest, PartitionData

UNKNOWN = -1


class Parked(Protocol):
    """The fetch of a session that waits for news."""

    @property
    def slot(self) -> Slot: ...

    def news(self, size: int, urgent: bool) -> None: ...


class CachedPartition:
    """One partition as one reader sees it. It watches the partition on behalf of its session."""

    __slots__ = (
        "heard_by",
        "index",
        "last_epoch",
        "leader_epoch",
        "max_bytes",
        "offset",
        "partition",
        "said_high_watermark",
        "said_start_offset",
        "session",
        "start_offset",
        "template",
        "topic",
        "topic_id",
    )

    def __init__(self, session: FetchSession, topic: str, topic_id: bytes, index: int) -> None:
        self.session = session
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.partition: Partition | None = None
        self.said_high_watermark = UNKNOWN
        self.said_start_offset = UNKNOWN
        self.offset = 0
        self.max_bytes = 0
        self.leader_epoch = -1
        # What a follower says of its log; and the leader that has heard that already.
        self.last_epoch = UNKNOWN
        self.start_offset = UNKNOWN
        self.heard_by: ReplicatedLeader | None = None
        self.template: Template | None = None

    @property
    def topic_key(self) -> str | bytes:
        return self.topic_id if self.session.by_id else self.topic

    def ask(self, wanted: FetchPartition) -> None:
        self.offset = wanted.fetch_offset
        self.max_bytes = wanted.partition_max_bytes
        self.leader_epoch = wanted.current_leader_epoch
        self.last_epoch = wanted.last_fetched_epoch
        self.start_offset = wanted.log_start_offset
        self.heard_by = None
        if self.session.replica is not None:
            # A follower that asks anew may not have been able to use what it was told.
            self.said_high_watermark = UNKNOWN

    def resolve(self, node: FetchHost) -> Partition:
        """The partition behind the name or id, checked against what the reader knows of it."""
        partition = self.partition
        if partition is None or partition.removed:
            self.partition = None
            partition = self.partition = self._find(node)
            if self.session.watching:
                self.watch()
        self._check(partition)
        return partition

    def resolve_again(self, node: FetchHost) -> Partition:
        """The same after the disk was busy for a while, in which the replica may have got another role. The session
        may be over by now: nothing is watched on its behalf any more."""
        partition = self.partition
        if partition is None or partition.removed:
            partition = self._find(node)
        self._check(partition)
        return partition

    def _check(self, partition: Partition) -> None:
        """Consumers read where they know how to; everybody reads in the epoch that he knows."""
        epoch = self.leader_epoch
        if epoch >= 0 and epoch != partition.leader_epoch:
            older = epoch < partition.leader_epoch
            raise ApiError(ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH)
        if not partition.leads and not self.session.reads_followers:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def _find(self, node: FetchHost) -> Partition:
        topic = node.image.topic_by_id(self.topic_id) if self.session.by_id else node.image.topic(self.topic)
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID if self.session.by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        partition = node.replicas.get(topic.name, self.index)
        if partition is None or partition.topic_id != topic.id:
            raise ApiError(node.replicas.refusal(node.image, topic.name, self.index))
        return partition

    def news(self, size: int) -> None:
        """The partition's high watermark moved, or the partition, or the epoch in which it is read, is gone. Whoever
        has seen all that it may see goes on waiting. So does a follower, which hears of the high watermark with
        whatever comes next."""
        session = self.session
        session.news[self] = None
        parked = session.parked
        if parked is not None:
            partition, reader = self.partition, session.reader
            if partition is None or partition.removed or 0 <= self.leader_epoch != partition.leader_epoch:
                parked.news(size, urgent=True)
            elif reader is not REPLICA and partition.visible_end(reader) > self.offset:
                parked.news(size, urgent=False)

    def grown(self, size: int) -> None:
        """The partition has more for a follower, committed or not."""
        session = self.session
        session.news[self] = None
        if session.parked is not None:
            session.parked.news(size, urgent=False)

    @property
    def replica_id(self) -> int:
        """The follower's, if one reads here."""
        replica = self.session.replica
        return UNKNOWN if replica is None else replica[0]

    def admit(self, node: FetchHost) -> tuple[ReplicatedLeader, EpochEnd | None]:
        """Whether the follower behind this session may read: tell the leader in its epoch what it has, and hear where
        the two logs part, if they do. Then it has nothing to read."""
        partition, replica = self.resolve(node), self.session.replica
        assert replica is not None, "only followers follow"
        if not isinstance(partition, ReplicatedLeader):
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if self.heard_by is partition and partition.answering(*replica):
            return partition, None
        diverging = partition.fetched(Fetched(*replica, self.offset, self.last_epoch, self.start_offset))
        self.heard_by = partition if diverging is None else None
        return partition, diverging

    def tell_follower(self, slot: Slot, leader: ReplicatedLeader, piece: Slice) -> None:
        """Answer a follower that waited, and for which only this partition has news: straight, as nothing about it is
        unusual."""
        version = slot.version
        template = self.template
        if template is None or template.version != version:
            template = self.template = Template.make(version, self.session.session_id, self.topic_id, self.index)
        self.said_high_watermark, self.said_start_offset = leader.high_watermark, leader.log.start_offset
        leader.traffic.replicated_bytes_out += piece.length
        slot.reply_parts(*template.fill(slot.correlation_id, leader, piece))

    def watch(self) -> None:
        """Readers wait for what is committed, followers for what is there."""
        partition = self.partition
        if partition is not None:
            partition.watchers[self] = None
        if self.session.replica is not None and isinstance(partition, ReplicatedLeader):
            partition.tail_watchers[self] = None

    def unwatch(self) -> None:
        partition = self.partition
        if partition is not None:
            partition.watchers.pop(self, None)
        if isinstance(partition, ReplicatedLeader):
            partition.tail_watchers.pop(self, None)


class FetchSession:
    """A session, or one fetch without a session."""

    __slots__ = (
        "_edition",
        "_partitions",
        "by_id",
        "context",
        "hinted_on",
        "is_refused",
        "news",
        "next_epoch",
        "parked",
        "rack",
        "reader",
        "reads_followers",
        "replica",
        "session_id",
        "used_ms",
        "watching",
    )

    def __init__(self, session_id: int, by_id: bool) -> None:
        self.session_id = session_id
        self.by_id = by_id
        # The listener that it came through, if it is to be told who leads instead of this broker.
        self.hinted_on: str | None = None
        # Who reads here, and under which edition of the rights; not looked at where everybody may do everything.
        self.context: RequestContext | None = None
        self._edition: object = None
        # A follower that may not be one.
        self.is_refused = False
        self.next_epoch = 1
        self.used_ms = 0
        # (id, broker epoch) of the follower that reads here, if it is one.
        self.replica: tuple[int, int] | None = None
        self.reader: Reader = UNCOMMITTED
        # Where a reader stands that should be served by a replica near to it; and whether it may be.
        self.rack = ""
        self.reads_followers = False
        # A session is always on the watch, so that a fetch through it looks only at what has news.
        self.watching = session_id != 0
        self.parked: Parked | None = None
        self._partitions: dict[tuple[str | bytes, int], CachedPartition] = {}
        self.news: dict[CachedPartition, None] = {}

    def __len__(self) -> int:
        return len(self._partitions)

    def update(self, request: FetchRequest) -> None:
        """Forget and add partitions as the request says; whatever it names has news."""
        self.replica = replica_of(request)
        reader = reader_of(request.isolation_level) if self.replica is None else REPLICA
        if reader is not self.reader:
            # It may see more than before in any of them.
            self.reader = reader
            self.news.update(dict.fromkeys(self._partitions.values()))
        for gone in request.forgotten_topics_data:
            for index in gone.partitions:
                self._forget(gone.topic_id if self.by_id else gone.topic, index)
        for topic in request.topics:
            key = topic.topic_id if self.by_id else topic.topic
            for wanted in topic.partitions:
                cached = self._partitions.get((key, wanted.partition))
                if cached is None:
                    cached = CachedPartition(self, topic.topic, topic.topic_id, wanted.partition)
                    self._partitions[key, wanted.partition] = cached
                cached.ask(wanted)
                self.news[cached] = None

    def heed(self, context: RequestContext, edition: object) -> None:
        """Somebody reads here, under some edition of the rights. Under another one, or where it is somebody else, any
        partition may be refused, or no longer be."""
        if edition is not self._edition or context != self.context:
            self.news.update(dict.fromkeys(self._partitions.values()))
            self.context, self._edition = context, edition

    def _forget(self, key: str | bytes, index: int) -> None:
        cached = self._partitions.pop((key, index), None)
        if cached is not None:
            self.news.pop(cached, None)
            cached.unwatch()

    def watch(self) -> None:
        """From now on hear of every append."""
        if not self.watching:
            self.watching = True
            for cached in self._partitions.values():
                cached.watch()

    def unwatch(self) -> None:
        self.watching = False
        for cached in self._partitions.values():
            cached.unwatch()

    def end(self) -> None:
        """Its one request is answered. It and its partitions know each other, and would be garbage that only the
        collector of cycles finds: some for each fetch."""
        self._partitions.clear()
        self.news.clear()

    def worth_saying(self, cached: CachedPartition, data: PartitionData) -> bool:
        """A session hears only of data, errors and moved offsets; what has nothing more to say leaves the news."""
        moved = data.high_watermark != cached.said_high_watermark or data.log_start_offset != cached.said_start_offset
        cached.said_high_watermark = data.high_watermark
        cached.said_start_offset = data.log_start_offset
        has_data = data.records is not None and len(data.records) > 0
        moved |= data.preferred_read_replica != UNKNOWN
        if self.session_id != 0 and has_data and cached in self.news:
            # Who was served goes to the end of the line, for those whom the byte limit left out.
            del self.news[cached]
            self.news[cached] = None
        elif self.session_id != 0 and self.watching and data.error_code == 0:
            self._settle(cached)
        return self.session_id == 0 or moved or has_data or data.error_code != 0

    def _settle(self, cached: CachedPartition) -> None:
        """Nothing was read. If all there is has been read, only an append can change that; if the byte limit was
        reached before this partition's turn, it stays in line."""
        partition = cached.partition
        if partition is None:
            return
        if self.replica is None:
            has_all = cached.offset >= partition.visible_end(self.reader)
        else:
            # The high watermark may have moved since it was looked at. What is not Written yet will be in a moment, and
            # keeps its place in line.
            is_told = cached.said_high_watermark == partition.high_watermark
            has_all = is_told and cached.offset >= partition.log.end_offset
        if has_all:
            self.news.pop(cached, None)


def replica_of(request: FetchRequest) -> tuple[int, int] | None:
    """Versions below 15 say the id in a field of its own, and no epoch."""
    state = request.replica_state
    if state is not None and state.replica_id >= 0:
        return state.replica_id, state.replica_epoch
    return (request.replica_id, UNKNOWN) if request.replica_id >= 0 else None


class Outcome:
    """What one look at a session found."""

    __slots__ = ("cold", "failed", "found", "room", "size")

    def __init__(self, room: int) -> None:
        self.room = room
        self.size = 0
        self.failed = False
        self.found: dict[CachedPartition, PartitionData] = {}
        self.cold: list[CachedPartition] = []

    def add(self, cached: CachedPartition, partition: Partition, piece: Slice | None) -> None:
        self.found[cached] = PartitionData(
            partition_index=cached.index,
            error_code=0,
            high_watermark=partition.high_watermark,
            last_stable_offset=partition.last_stable_offset,
            log_start_offset=partition.log.start_offset,
            aborted_transactions=[] if cached.session.reader is COMMITTED else None,
            records=b"" if piece is None else piece,
        )
        if cached.session.replica is None:
            partition.traffic.fetches += 1
        if piece is not None:
            self._count(cached, partition, piece)

    def diverge(self, cached: CachedPartition, partition: Partition, diverging: EpochEnd) -> None:
        """A follower hears at once that it has to cut."""
        self.failed = True
        self.add(cached, partition, None)
        found = self.found[cached]
        found.diverging_epoch = EpochEndOffset(epoch=diverging.epoch, end_offset=diverging.end_offset)
        found.aborted_transactions = None

    def redirect(self, cached: CachedPartition, partition: Partition, replica: int) -> None:
        """A reader hears at once of a replica that is nearer to it."""
        self.failed = True
        self.add(cached, partition, None)
        self.found[cached].preferred_read_replica = replica

    def fill(self, cached: CachedPartition, partition: Partition, piece: Slice) -> None:
        """A cold read has come back."""
        self.found[cached].records = piece
        self._count(cached, partition, piece)

    def fail(self, cached: CachedPartition, code: ErrorCode) -> None:
        self.failed = True
        # A follower that is out of range goes on where the leader's log begins, without having to ask for that.
        start_offset, partition = UNKNOWN, cached.partition
        if code is ErrorCode.OFFSET_OUT_OF_RANGE and partition is not None:
            if cached.session.replica is not None:
                start_offset = partition.log.start_offset
            elif cached.offset > partition.log.end_offset:
                code = partition.beyond_end
        if partition is not None and cached.session.replica is None:
            partition.traffic.fetches += 1
            partition.traffic.fetches_failed += 1
        self.found[cached] = PartitionData(
            partition_index=cached.index,
            error_code=code,
            high_watermark=-1,
            log_start_offset=start_offset,
            aborted_transactions=None,
            records=b"",
        )

    def _count(self, cached: CachedPartition, partition: Partition, piece: Slice) -> None:
        self.size += piece.length
        self.room -= piece.length
        if cached.session.replica is None:
            partition.traffic.bytes_out += piece.length
        else:
            partition.traffic.replicated_bytes_out += piece.length
