"""Acknowledged means readable: at its offset, with its value, after anything that the promise covers."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.sim.events import Acknowledged, Event, FetchAnswered, FetchPart, LogState, Partition, Read, Up
from penstock.sim.invariants.base import Invariant


class AcknowledgedIsReadable(Invariant):
    """Written survives a process crash; Synced, and all of a topic that syncs each append, survives power loss."""

    def see(self, event: Event) -> None:
        match event:
            case Acknowledged(batch, base_offset) if base_offset is not None:
                self._compare(batch.partition, tuple(enumerate(batch.values, base_offset)))
            case FetchAnswered():
                self._fetched(event)
            case Read():
                self._complete(event)
            case Up(logs):
                for partition, state in logs.items():
                    self._reaches(partition, state)

    def _compare(self, partition: Partition, records: tuple[tuple[int, bytes], ...]) -> None:
        acknowledged = self.model.partitions[partition].acknowledged
        for offset, value in records:
            promised = acknowledged.get(offset, value)
            if promised != value:
                self.object(f"{partition} has {value!r} at {offset}, acknowledged was {promised!r}")

    def _fetched(self, event: FetchAnswered) -> None:
        asked = self.model.asked[event.client, event.number]
        for part in event.parts:
            self._compare(part.partition, part.records)
            position = asked.fetch.positions[part.partition]
            refused = part.error == ErrorCode.OFFSET_OUT_OF_RANGE
            self.demand(
                not refused
                or position > asked.known[part.partition].acknowledged_end
                or self._may_be_gone(part, position),
                f"{event.client} was refused offset {position} of {part.partition}, which it must be able to read",
            )

    def _may_be_gone(self, part: FetchPart, position: int) -> bool:
        """Whether the start may have passed a position; how far it may go is another invariant's affair."""
        rules, model = self.model.rules(part.partition.topic), self.model.partitions[part.partition]
        return rules.retention_ms >= 0 or rules.retention_bytes >= 0 or position < model.deletable_offset

    def _complete(self, read: Read) -> None:
        self._compare(read.partition, read.records)
        if self.model.rules(read.partition.topic).compacted:
            return
        offsets = {offset for offset, _ in read.records}
        for offset, value in self.model.partitions[read.partition].acknowledged.items():
            if offset not in offsets and offset >= read.start_offset:
                self.object(f"{read.partition} lost {value!r}, acknowledged at {offset}")

    def _reaches(self, partition: Partition, state: LogState) -> None:
        floor = self.model.floor(partition)
        self.demand(
            state.end_offset >= floor,
            f"{partition} ends at {state.end_offset} after recovery, promised was everything below {floor}",
        )
