"""A log begins no later than it may: below its start nothing is missing that was to be kept.

What clients asked to be deleted may go; what is older than `retention.ms`, by the node's own clock, which may have
been wrong; and what stands before the last `retention.bytes`. Nothing else.
"""

from __future__ import annotations

from collections import defaultdict

from penstock.sim.events import UNKNOWN, DeleteAnswered, Event, FetchAnswered, Partition, Read, Up
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model

OVERHEAD_BYTES_MAX = 120
"""What a record takes beside its value, alone in its batch."""


class RetentionKeepsEnough(Invariant):
    """Judges every start that anybody is told, and that of every recovered log."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._judged: defaultdict[Partition, int] = defaultdict(int)

    def see(self, event: Event) -> None:
        match event:
            case FetchAnswered(_, _, parts):
                for part in parts:
                    self._judge(part.partition, part.start_offset)
            case DeleteAnswered(partition, _, start_offset) | Read(partition, start_offset):
                self._judge(partition, start_offset)
            case Up(logs):
                for partition, state in logs.items():
                    self._judge(partition, state.start_offset)

    def _judge(self, partition: Partition, start_offset: int) -> None:
        before = self._judged[partition]
        if start_offset == UNKNOWN or start_offset <= before:
            return
        self._judged[partition] = start_offset
        model = self.model.partitions[partition]
        gone = [offset for offset in model.acknowledged if before <= offset < start_offset]
        kept = [offset for offset in gone if offset >= model.deletable_offset and not self._expired(partition, offset)]
        self.demand(
            not kept or self._leaves_enough(partition, start_offset),
            f"{partition} begins at {start_offset}, but {kept[:1]} had to be kept",
        )

    def _expired(self, partition: Partition, offset: int) -> bool:
        model, rules = self.model.partitions[partition], self.model.rules(partition.topic)
        age_ms = self.model.node_clock_ms_max - model.sent[model.acknowledged[offset]].first_ms
        return 0 <= rules.retention_ms < age_ms

    def _leaves_enough(self, partition: Partition, start_offset: int) -> bool:
        """Whether what is left may have the size to be kept; values of unknown fate may be among it."""
        model, rules = self.model.partitions[partition], self.model.rules(partition.topic)
        if rules.retention_bytes < 0:
            return False
        left = {value for offset, value in model.acknowledged.items() if offset >= start_offset}
        left |= {value for value, origin in model.sent.items() if not origin.acknowledged}
        size_bytes = sum((len(value) + OVERHEAD_BYTES_MAX) * model.sent[value].attempts for value in left)
        return size_bytes >= rules.retention_bytes
