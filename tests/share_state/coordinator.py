"""A share coordinator's machine by itself: what it writes is replayed at once, at the next offset."""

from __future__ import annotations

from typing import Any

from penstock.core.rsm.result import KeyValue, Performer, Reply, Result
from penstock.core.share_state.key import SharePartition
from penstock.core.share_state.settings import ShareStateSettings
from penstock.core.share_state.shard import COLD, PRUNE, PruneDue, ShareStateShard
from penstock.core.share_state.state import ShareState
from penstock.core.share_state.turn import ShareStateContext
from penstock.core.wire.api import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)

GROUP = "g"
TOPIC = b"t" * 16
PARTITIONS = 3
Range = tuple[int, int, int, int]
"""(first, last, state, deliveries)"""


class Timers:
    def __init__(self) -> None:
        self.at: dict[object, int] = {}

    def set(self, key: object, deadline_ms: int) -> None:
        self.at[key] = deadline_ms

    def cancel(self, key: object) -> None: ...


class Coordinator:
    """The machine, its log, and the clock."""

    def __init__(self, **settings: Any) -> None:
        self.now_ms = 1_000_000
        self.settings = ShareStateSettings(**settings)
        self.topics = {TOPIC: PARTITIONS}
        self.log: list[tuple[int, KeyValue]] = []
        self.end_offset = 0
        self.fold()

    def fold(self) -> None:
        """Whoever is in charge next reads the log."""
        self.timers = Timers()
        self.shard = ShareStateShard(ShareStateContext(self.settings, self.timers, self.topics.get, Performer()))
        for offset, record in self.log:
            self._take(offset, record)
        list(self.shard.begin(self.now_ms, None))  # type: ignore[arg-type]  # it asks nothing of transactions

    def state(self, partition: int = 0) -> ShareState:
        return self.shard.table[SharePartition(GROUP, TOPIC, partition)].state

    # What is asked

    def initialize(self, state_epoch: int = 0, start_offset: int = -1, partition: int = 0, topic: bytes = TOPIC) -> Any:
        api = initialize_share_group_state
        data = api.PartitionData(partition=partition, state_epoch=state_epoch, start_offset=start_offset)
        topics = [api.InitializeStateData(topic_id=topic, partitions=[data])]
        return self.ask(api.InitializeShareGroupStateRequest(group_id=GROUP, topics=topics))

    def read(self, leader_epoch: int = -1, partition: int = 0, topic: bytes = TOPIC) -> Any:
        api = read_share_group_state
        data = api.PartitionData(partition=partition, leader_epoch=leader_epoch)
        topics = [api.ReadStateData(topic_id=topic, partitions=[data])]
        return self.ask(api.ReadShareGroupStateRequest(group_id=GROUP, topics=topics))

    def write(
        self,
        *ranges: Range,
        start: int = -1,
        state_epoch: int = -1,
        leader_epoch: int = -1,
        complete: int = 0,
        partition: int = 0,
        topic: bytes = TOPIC,
    ) -> Any:
        api = write_share_group_state
        batches = [
            api.StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=deliveries)
            for first, last, state, deliveries in ranges
        ]
        data = api.PartitionData(
            partition=partition,
            state_epoch=state_epoch,
            leader_epoch=leader_epoch,
            start_offset=start,
            delivery_complete_count=complete,
            state_batches=batches,
        )
        topics = [api.WriteStateData(topic_id=topic, partitions=[data])]
        return self.ask(api.WriteShareGroupStateRequest(group_id=GROUP, topics=topics))

    def delete(self, partition: int = 0, topic: bytes = TOPIC) -> Any:
        api = delete_share_group_state
        topics = [api.DeleteStateData(topic_id=topic, partitions=[api.PartitionData(partition=partition)])]
        return self.ask(api.DeleteShareGroupStateRequest(group_id=GROUP, topics=topics))

    def summary(self, partition: int = 0, topic: bytes = TOPIC) -> Any:
        api = read_share_group_state_summary
        data = api.PartitionData(partition=partition, leader_epoch=-1)
        topics = [api.ReadStateSummaryData(topic_id=topic, partitions=[data])]
        return self.ask(api.ReadShareGroupStateSummaryRequest(group_id=GROUP, topics=topics))

    def ask(self, request: Any) -> Any:
        result = self.shard.answer(self.now_ms, request, Reply())
        self.carry_out(result)
        ((_, answer),) = result.replies
        return answer.results[0].partitions[0]  # type: ignore[union-attr]  # it is a response

    # What is due

    def prune(self) -> int:
        """Cut the log as the machine says; gives where it begins."""
        result = self.shard.on_timer(self.now_ms, PRUNE)
        ((_, due),) = result.replies
        assert isinstance(due, PruneDue)
        self.log = [(offset, record) for offset, record in self.log if offset >= due.offset]
        return due.offset

    def refresh(self) -> int:
        """A round over what is cold; gives the number of records that it wrote."""
        before = self.end_offset
        self.carry_out(self.shard.on_timer(self.now_ms, COLD))
        return self.end_offset - before

    def carry_out(self, result: Result) -> None:
        for record in result.records:
            self.log.append((self.end_offset, record))
            self._take(self.end_offset, record)
            self.end_offset += 1

    def _take(self, offset: int, record: KeyValue) -> None:
        self.shard.at(offset)
        self.shard.replay(*record, self.now_ms)
