"""Views: the partitions a reader is interested in, and which of them have news for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Slice
from penstock.core.node.follower_replies import SINCE, Template
from penstock.core.node.slots import Slot
from penstock.core.partition.divergence import EpochEnd
from penstock.core.partition.partition import READ_COMMITTED, Partition
from penstock.core.partition.replicated import Fetched, ReplicatedLeader
from penstock.core.wire.api.fetch import EpochEndOffset, FetchPartition, FetchRequest, PartitionData

if TYPE_CHECKING:
    from penstock.core.node.fetching import ParkedFetch
    from penstock.core.node.node import Node

UNKNOWN = -1


class Interest:
    """One partition as one reader sees it. It watches the partition on behalf of its view."""

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
        "start_offset",
        "template",
        "topic",
        "topic_id",
        "view",
    )

    def __init__(self, view: View, topic: str, topic_id: bytes, index: int) -> None:
        self.view = view
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
        return self.topic_id if self.view.by_id else self.topic

    def ask(self, wanted: FetchPartition) -> None:
        self.offset = wanted.fetch_offset
        self.max_bytes = wanted.partition_max_bytes
        self.leader_epoch = wanted.current_leader_epoch
        self.last_epoch = wanted.last_fetched_epoch
        self.start_offset = wanted.log_start_offset
        self.heard_by = None
        if self.view.replica is not None:
            # A follower that asks anew may not have been able to use what it was told.
            self.said_high_watermark = UNKNOWN

    def resolve(self, node: Node) -> Partition:
        """The partition behind the name or id, checked against what the reader knows of it."""
        partition = self.partition
        if partition is None or partition.removed:
            partition = self.partition = self._find(node)
            if self.view.watching:
                self.watch()
        if self.leader_epoch >= 0 and self.leader_epoch != partition.leader_epoch:
            older = self.leader_epoch < partition.leader_epoch
            raise ApiError(ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH)
        return partition

    def _find(self, node: Node) -> Partition:
        self.partition = None
        topic = node.image.topic_by_id(self.topic_id) if self.view.by_id else node.image.topic(self.topic)
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID if self.view.by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        partition = node.replicas.get(topic.name, self.index)
        if partition is None or partition.topic_id != topic.id:
            raise ApiError(node.replicas.refusal(node.image, topic.name, self.index))
        return partition

    def news(self, size: int) -> None:
        """The partition's high watermark moved, or the partition, or the epoch in which it is read, is gone. A follower
        hears of the former with whatever comes next: it is not worth an answer of its own."""
        view = self.view
        view.news[self] = None
        if view.parked is not None:
            partition = self.partition
            is_gone = partition is None or partition.removed or 0 <= self.leader_epoch != partition.leader_epoch
            if view.replica is None or is_gone:
                view.parked.news(size, urgent=is_gone)

    def grown(self, size: int) -> None:
        """The partition has more for a follower, committed or not."""
        view = self.view
        view.news[self] = None
        if view.parked is not None:
            view.parked.news(size, urgent=False)

    def follow(self) -> tuple[ReplicatedLeader, EpochEnd | None]:
        """Tell the leader what the follower behind this view has; hear where the two logs part, if they do."""
        partition, replica = self.partition, self.view.replica
        assert replica is not None, "only followers follow"
        if not isinstance(partition, ReplicatedLeader):
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if self.heard_by is partition and partition.answering(*replica):
            return partition, None
        diverging = partition.fetched(Fetched(*replica, self.offset, self.last_epoch, self.start_offset))
        self.heard_by = partition if diverging is None else None
        return partition, diverging

    def tell_follower(self, slot: Slot, room_bytes: int) -> bool:
        """Answer a follower that waited, and for which only this partition has news: straight, if nothing about it is
        unusual."""
        leader, replica, version = self.heard_by, self.view.replica, slot.version
        if leader is None or replica is None or leader.removed or version < SINCE:
            return False
        if self.leader_epoch != leader.leader_epoch or not leader.answering(*replica):
            return False
        piece = leader.read_tail(self.offset, min(self.max_bytes, room_bytes), True)
        if type(piece) is not Slice:
            return False
        template = self.template
        if template is None or template.version != version:
            template = self.template = Template.make(version, self.view.session_id, self.topic_id, self.index)
        self.said_high_watermark, self.said_start_offset = leader.high_watermark, leader.log.start_offset
        slot.reply_parts(*template.fill(slot.correlation_id, leader, piece))
        return True

    def watch(self) -> None:
        """Readers wait for what is committed, followers for what is there."""
        partition = self.partition
        if partition is not None:
            partition.watchers[self] = None
        if self.view.replica is not None and isinstance(partition, ReplicatedLeader):
            partition.tail_watchers[self] = None

    def unwatch(self) -> None:
        partition = self.partition
        if partition is not None:
            partition.watchers.pop(self, None)
        if isinstance(partition, ReplicatedLeader):
            partition.tail_watchers.pop(self, None)


class View:
    """A session, or one fetch without a session."""

    __slots__ = (
        "_interests",
        "by_id",
        "hinted_on",
        "news",
        "next_epoch",
        "parked",
        "rack",
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
        self.next_epoch = 1
        self.used_ms = 0
        # (id, broker epoch) of the follower that reads here, if it is one.
        self.replica: tuple[int, int] | None = None
        # Where a reader stands that should be served by a replica near to it; and whether it may be.
        self.rack = ""
        self.reads_followers = False
        # A session is always on the watch, so that a fetch through it looks only at what has news.
        self.watching = session_id != 0
        self.parked: ParkedFetch | None = None
        self._interests: dict[tuple[str | bytes, int], Interest] = {}
        self.news: dict[Interest, None] = {}

    def __len__(self) -> int:
        return len(self._interests)

    def update(self, request: FetchRequest) -> None:
        """Forget and add partitions as the request says; whatever it names has news."""
        self.replica = _replica_of(request)
        for gone in request.forgotten_topics_data:
            for index in gone.partitions:
                self._forget(gone.topic_id if self.by_id else gone.topic, index)
        for topic in request.topics:
            key = topic.topic_id if self.by_id else topic.topic
            for wanted in topic.partitions:
                interest = self._interests.get((key, wanted.partition))
                if interest is None:
                    interest = Interest(self, topic.topic, topic.topic_id, wanted.partition)
                    self._interests[key, wanted.partition] = interest
                interest.ask(wanted)
                self.news[interest] = None

    def _forget(self, key: str | bytes, index: int) -> None:
        interest = self._interests.pop((key, index), None)
        if interest is not None:
            self.news.pop(interest, None)
            interest.unwatch()

    def watch(self) -> None:
        """From now on hear of every append."""
        if not self.watching:
            self.watching = True
            for interest in self._interests.values():
                interest.watch()

    def unwatch(self) -> None:
        self.watching = False
        for interest in self._interests.values():
            interest.unwatch()

    def worth_saying(self, interest: Interest, data: PartitionData) -> bool:
        """A session hears only of data, errors and moved offsets; what has nothing more to say leaves the news."""
        moved = (
            data.high_watermark != interest.said_high_watermark or data.log_start_offset != interest.said_start_offset
        )
        interest.said_high_watermark = data.high_watermark
        interest.said_start_offset = data.log_start_offset
        has_data = data.records is not None and len(data.records) > 0
        moved |= data.preferred_read_replica != UNKNOWN
        if self.session_id != 0 and has_data and interest in self.news:
            # Who was served goes to the end of the line, for those whom the byte limit left out.
            del self.news[interest]
            self.news[interest] = None
        elif self.session_id != 0 and self.watching and data.error_code == 0:
            self._settle(interest)
        return self.session_id == 0 or moved or has_data or data.error_code != 0

    def _settle(self, interest: Interest) -> None:
        """Nothing was read. If all there is has been read, only an append can change that; if the byte limit was
        reached before this partition's turn, it stays in line."""
        partition = interest.partition
        if partition is None:
            return
        if self.replica is None:
            has_all = interest.offset >= partition.high_watermark
        else:
            # The high watermark may have moved since it was looked at.
            is_told = interest.said_high_watermark == partition.high_watermark
            has_all = is_told and interest.offset >= partition.log.end_offset
        if has_all:
            self.news.pop(interest, None)


def _replica_of(request: FetchRequest) -> tuple[int, int] | None:
    """Versions below 15 say the id in a field of its own, and no epoch."""
    state = request.replica_state
    if state is not None and state.replica_id >= 0:
        return state.replica_id, state.replica_epoch
    return (request.replica_id, UNKNOWN) if request.replica_id >= 0 else None


class Outcome:
    """What one look at a view found."""

    __slots__ = ("cold", "failed", "found", "room", "size")

    def __init__(self, room: int) -> None:
        self.room = room
        self.size = 0
        self.failed = False
        self.found: dict[Interest, PartitionData] = {}
        self.cold: list[Interest] = []

    def add(self, interest: Interest, partition: Partition, isolation: int, piece: Slice | None) -> None:
        committed = isolation == READ_COMMITTED
        self.found[interest] = PartitionData(
            partition_index=interest.index,
            error_code=0,
            high_watermark=partition.high_watermark,
            last_stable_offset=partition.last_stable_offset,
            log_start_offset=partition.log.start_offset,
            aborted_transactions=[] if committed else None,
            records=b"" if piece is None else piece,
        )
        if piece is not None:
            self._count(piece)

    def diverge(self, interest: Interest, partition: Partition, diverging: EpochEnd) -> None:
        """A follower hears at once that it has to cut."""
        self.failed = True
        self.add(interest, partition, 0, None)
        self.found[interest].diverging_epoch = EpochEndOffset(epoch=diverging.epoch, end_offset=diverging.end_offset)

    def redirect(self, interest: Interest, partition: Partition, isolation: int, replica: int) -> None:
        """A reader hears at once of a replica that is nearer to it."""
        self.failed = True
        self.add(interest, partition, isolation, None)
        self.found[interest].preferred_read_replica = replica

    def fill(self, interest: Interest, piece: Slice) -> None:
        """A cold read has come back."""
        self.found[interest].records = piece
        self._count(piece)

    def fail(self, interest: Interest, code: ErrorCode) -> None:
        self.failed = True
        # A follower that is out of range goes on where the leader's log begins, without having to ask for that.
        start_offset, partition = UNKNOWN, interest.partition
        if code is ErrorCode.OFFSET_OUT_OF_RANGE and partition is not None:
            if interest.view.replica is not None:
                start_offset = partition.log.start_offset
            elif interest.offset > partition.log.end_offset:
                code = partition.beyond_end
        self.found[interest] = PartitionData(
            partition_index=interest.index,
            error_code=code,
            high_watermark=-1,
            log_start_offset=start_offset,
            aborted_transactions=None,
            records=b"",
        )

    def _count(self, piece: Slice) -> None:
        self.size += piece.length
        self.room -= piece.length
