"""Group coordinators: one machine per local partition of `__consumer_offsets`, folded from it, driven over it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Pause, Steps
from penstock.core.base.settings import BrokerSettings
from penstock.core.groups.routing import partition_for_group
from penstock.core.groups.settings import GroupSettings
from penstock.core.groups.shard import GroupShard
from penstock.core.groups.transactions import CommittedRecords
from penstock.core.metadata.fold import Delta
from penstock.core.node.deadlines import Deadline, KeyedTimers
from penstock.core.node.folding import fold_log
from penstock.core.node.refusals import refused
from penstock.core.node.slots import Answerable, Slot
from penstock.core.partition.partition import Partition
from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch
from penstock.core.records.codecs import Codec
from penstock.core.rsm.driver import Driver
from penstock.core.rsm.result import KeyValue, Reply, Result
from penstock.core.wire import Message
from penstock.core.wire.api.list_groups import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from penstock.core.node.node import Node

OFFSETS_TOPIC = "__consumer_offsets"
LOADING_RETRY_MS = 1_000
GROUPS_PER_TURN_MAX = 500
"""Groups that are looked at before others get their turn: some milliseconds of work."""


def group_settings(settings: BrokerSettings) -> GroupSettings:
    return GroupSettings(
        session_timeout_ms_min=settings["group.min.session.timeout.ms"],
        session_timeout_ms_max=settings["group.max.session.timeout.ms"],
        initial_rebalance_delay_ms=settings["group.initial.rebalance.delay.ms"],
        group_members_max=settings["group.max.size"],
        offset_metadata_chars_max=settings["offset.metadata.max.bytes"],
        offsets_retention_ms=settings["offsets.retention.minutes"] * 60_000,
    )


class PartitionJournal:
    """A machine's records as batches of an internal partition."""

    def __init__(self, node: Node, partition: Partition, codec: Codec) -> None:
        self._node = node
        self._partition = partition
        self._codec = codec

    def append(self, records: list[KeyValue], now_ms: int) -> int:
        batch = build_batch([(key, value, (), now_ms) for key, value in records], codec=self._codec)
        return self._partition.append_own(batch, read_header(batch), now_ms)

    def when_committed(self, next_offset: int, call: Callable[[ErrorCode], None]) -> None:
        """Calls with REQUEST_TIMED_OUT when that takes too long, and once more when it is known how it ended."""
        waiting = _Call(call)
        if not self._partition.wait(next_offset, waiting):
            call(ErrorCode.NONE)
            return
        node = self._node
        patience_ms = node.settings["offsets.commit.timeout.ms"]
        waiting.end = node.deadlines.at(node.now_ms + patience_ms, lambda: call(ErrorCode.REQUEST_TIMED_OUT))


class _Call:
    """An `AckWaiter` made of a function."""

    __slots__ = ("_call", "end")

    def __init__(self, call: Callable[[ErrorCode], None]) -> None:
        self._call = call
        self.end: Deadline | None = None

    def committed(self, partition: Partition, error: ErrorCode) -> None:
        if self.end is not None:
            self.end.cancel()
        self._call(error)


class Coordinator:
    """One shard and everything it takes to run it."""

    def __init__(self, node: Node, partition: Partition, settings: GroupSettings, codec: Codec) -> None:
        self._node = node
        self._partition = partition
        self._settings = settings
        self._journal = PartitionJournal(node, partition, codec)
        self._timers = KeyedTimers(node.deadlines, self._timer)
        self.closed = False
        self._reset()

    def _reset(self) -> None:
        self.shard = GroupShard(self._settings, self._timers, self._node.topic_lookup, self._node.entropy)
        self.driver: Driver | None = None
        self._node.tasks.run(self._load(self.shard), self._loaded)

    def _load(self, shard: GroupShard) -> Steps[int]:
        """The partition takes no appends meanwhile, since only we append to it."""
        end_offset = yield from fold_log(self._partition.log, CommittedRecords(shard.replay).take)
        shard.loaded(self._node.now_ms, ())
        for group_ids in _slices(shard):
            shard.loaded(self._node.now_ms, group_ids)
            yield Pause()
        return end_offset

    def _loaded(self, outcome: object) -> None:
        if self.closed:
            return
        if not isinstance(outcome, int):
            self._node.log("error", f"loading {OFFSETS_TOPIC}-{self._partition.index} failed: {outcome}")
            return
        self.driver = Driver(self.shard, self._journal, outcome, self._release, self._refuse)

    def run(self, decide: Callable[[GroupShard], Result]) -> None:
        """Let the shard decide and carry it out."""
        if self.driver is None:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self.driver.run(decide(self.shard), self._node.now_ms)

    def forget_topic(self, name: str, topic_id: bytes) -> Steps[None]:
        return self._sweep(lambda shard, ids: shard.topic_deleted(self._node.now_ms, name, topic_id, ids))

    def expire_offsets(self) -> Steps[None]:
        """Let offsets that nobody has used for long enough go."""
        return self._sweep(lambda shard, ids: shard.expire_offsets(self._node.now_ms, ids))

    def list_groups(self, request: ListGroupsRequest, reply: Answerable) -> Steps[None]:
        """Gather the groups that are asked for, and answer once all that was seen is committed."""
        shard = self.shard
        found = ListGroupsResponse()
        for group_ids in _slices(shard):
            found.groups += shard.list_groups(request, group_ids)
            yield Pause()
        if self.driver is None or self.shard is not shard:
            self._release(reply, ListGroupsResponse(error_code=ErrorCode.NOT_COORDINATOR))
        else:
            self.run(lambda _: Result(replies=[(reply, found)]))

    def _sweep(self, decide: Callable[[GroupShard, list[str]], Result]) -> Steps[None]:
        """Some groups at a time, of which a sweep removes a bounded number: repeat it until it finds nothing more."""
        for group_ids in _slices(self.shard):
            while self.driver is not None:
                result = decide(self.shard, group_ids)
                self.driver.run(result, self._node.now_ms)
                yield Pause()
                if not result.records:
                    break

    def _timer(self, key: Hashable) -> None:
        if self.driver is not None:
            self.run(lambda shard: shard.on_timer(self._node.now_ms, key))
        else:
            # Some members' time began while others were still being counted; none is late before we can hear it.
            self._timers.set(key, self._node.now_ms + LOADING_RETRY_MS)

    def _release(self, reply: Reply, message: Message) -> None:
        assert isinstance(reply, Answerable)
        if not reply.gone:
            reply.reply(message)

    def _refuse(self, replies: list[tuple[Reply, Message]], code: ErrorCode) -> None:
        """The write failed: what the machine believes may never have happened, so it is discarded and refolded. One
        that only takes long may still succeed: whoever asked need not wait for that, and asks again."""
        if code is ErrorCode.REQUEST_TIMED_OUT:
            for reply, message in replies:
                self._release(reply, refused(message, ErrorCode.COORDINATOR_NOT_AVAILABLE))
            replies.clear()
            return
        for reply, message in replies:
            self._release(reply, refused(message, ErrorCode.NOT_COORDINATOR))
        if self.driver is not None and not self.closed:
            self._drop()
            self._reset()

    def _drop(self) -> None:
        self.driver = None
        self._timers.clear()
        for reply, message in self.shard.lose():
            self._release(reply, message)

    def close(self) -> None:
        self.closed = True
        self._drop()


def _slices(shard: GroupShard) -> Iterator[list[str]]:
    """The ids of the groups that are there now, so many at a time; some may be gone when their turn comes."""
    group_ids = list(shard.groups)
    for at in range(0, len(group_ids), GROUPS_PER_TURN_MAX):
        yield group_ids[at : at + GROUPS_PER_TURN_MAX]


class Coordinators:
    """All shards of this node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._shards: dict[int, Coordinator] = {}

    def __iter__(self) -> Iterator[Coordinator]:
        return iter(list(self._shards.values()))

    def added(self, partition: Partition) -> None:
        if partition.topic == OFFSETS_TOPIC:
            settings = self._node.settings
            codec = Codec(settings["offsets.topic.compression.codec"])
            self._shards[partition.index] = Coordinator(self._node, partition, group_settings(settings), codec)

    def removed(self, partition: Partition) -> None:
        if partition.topic == OFFSETS_TOPIC and (shard := self._shards.pop(partition.index, None)) is not None:
            shard.close()

    def apply(self, delta: Delta) -> None:
        """Offsets of deleted topics go with them."""
        if delta.removed:
            self._node.tasks.run(self._forget(delta))

    def _forget(self, delta: Delta) -> Steps[None]:
        for name, topic in sorted(delta.removed.items()):
            for coordinator in self:
                yield from coordinator.forget_topic(name, topic.id)

    @property
    def count(self) -> int:
        """Partitions of `__consumer_offsets`, here or elsewhere; groups are spread over them by their id."""
        topic = self._node.image.topic(OFFSETS_TOPIC)
        return self._node.settings["offsets.topic.num.partitions"] if topic is None else len(topic)

    @property
    def local(self) -> list[int]:
        """The shards on this node."""
        return sorted(self._shards)

    def at(self, index: int) -> Coordinator:
        """A shard that can serve, or the error that sends its client elsewhere or makes it ask again."""
        coordinator = self._shards.get(index)
        if coordinator is None:
            raise ApiError(ErrorCode.NOT_COORDINATOR)
        if coordinator.driver is None:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return coordinator

    def find(self, group_id: str) -> Coordinator:
        return self.at(partition_for_group(group_id, self.count))

    def cancel(self, slot: Slot) -> None:
        if isinstance(slot.parked, Coordinator):
            slot.parked.shard.dropped(slot)

    def close(self) -> None:
        for coordinator in self:
            coordinator.close()
        self._shards.clear()
