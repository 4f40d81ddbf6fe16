"""Views: the partitions a reader is interested in, and which of them have news for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Slice
from penstock.core.partition.partition import READ_COMMITTED, Partition
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, PartitionData

if TYPE_CHECKING:
    from penstock.core.node.fetching import ParkedFetch
    from penstock.core.node.node import Node

UNKNOWN = -1


class Interest:
    """One partition as one reader sees it. It watches the partition on behalf of its view."""

    __slots__ = (
        "index",
        "leader_epoch",
        "max_bytes",
        "offset",
        "partition",
        "said_high_watermark",
        "said_start_offset",
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

    @property
    def topic_key(self) -> str | bytes:
        return self.topic_id if self.view.by_id else self.topic

    def ask(self, wanted: FetchPartition) -> None:
        self.offset = wanted.fetch_offset
        self.max_bytes = wanted.partition_max_bytes
        self.leader_epoch = wanted.current_leader_epoch

    def resolve(self, node: Node) -> Partition:
        """The partition behind the name or id, checked against what the reader knows of it."""
        partition = self.partition
        if partition is None or partition.removed:
            partition = self.partition = self._find(node)
            if self.view.watching:
                partition.watchers[self] = None
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
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return partition

    def news(self, size: int) -> None:
        """The partition's high watermark moved, or the partition went away."""
        view = self.view
        view.news[self] = None
        if view.parked is not None:
            view.parked.news(size, urgent=self.partition is None or self.partition.removed)

    def unwatch(self) -> None:
        if self.partition is not None:
            self.partition.watchers.pop(self, None)


class View:
    """A session, or one fetch without a session."""

    __slots__ = ("_interests", "by_id", "news", "next_epoch", "parked", "session_id", "used_ms", "watching")

    def __init__(self, session_id: int, by_id: bool) -> None:
        self.session_id = session_id
        self.by_id = by_id
        self.next_epoch = 1
        self.used_ms = 0
        # A session is always on the watch, so that a fetch through it looks only at what has news.
        self.watching = session_id != 0
        self.parked: ParkedFetch | None = None
        self._interests: dict[tuple[str | bytes, int], Interest] = {}
        self.news: dict[Interest, None] = {}

    def __len__(self) -> int:
        return len(self._interests)

    def update(self, request: FetchRequest) -> None:
        """Forget and add partitions as the request says; whatever it names has news."""
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
                if interest.partition is not None:
                    interest.partition.watchers[interest] = None

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
        if partition is not None and interest.offset >= partition.high_watermark:
            self.news.pop(interest, None)


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

    def fill(self, interest: Interest, piece: Slice) -> None:
        """A cold read has come back."""
        self.found[interest].records = piece
        self._count(piece)

    def fail(self, interest: Interest, code: ErrorCode) -> None:
        self.failed = True
        self.found[interest] = PartitionData(
            partition_index=interest.index,
            error_code=code,
            high_watermark=-1,
            aborted_transactions=None,
            records=b"",
        )

    def _count(self, piece: Slice) -> None:
        self.size += piece.length
        self.room -= piece.length
