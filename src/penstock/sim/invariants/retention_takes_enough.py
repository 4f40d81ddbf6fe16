"""What the settings no longer keep is gone when the node has had the time to take it away."""

from __future__ import annotations

from penstock.sim.events import Event, Read
from penstock.sim.invariants.base import Invariant

SLACK_MS = 4_000
BATCH_BYTES_MAX = 40_000


class RetentionTakesEnough(Invariant):
    """Looks at whole partitions when all is quiet."""

    def see(self, event: Event) -> None:
        if isinstance(event, Read):
            self._time(event)
            self._size(event)

    def _time(self, read: Read) -> None:
        """By segments, so that only what is old as a whole must be gone."""
        retention_ms = self.model.rules(read.partition.topic).retention_ms
        idle_ms = self.model.now_ms - self.model.partitions[read.partition].newest_ms
        if 0 <= retention_ms < idle_ms - SLACK_MS:
            self.demand(not read.records, f"{read.partition} still has records {idle_ms} ms after the last was sent")

    def _size(self, read: Read) -> None:
        rules = self.model.rules(read.partition.topic)
        if rules.retention_bytes >= 0:
            most = rules.retention_bytes + rules.segment_bytes + BATCH_BYTES_MAX
            self.demand(read.size_bytes <= most, f"{read.partition} has {read.size_bytes} bytes, more than {most}")
