"""What an operator may tune about the state of share groups, with Kafka's defaults."""

from __future__ import annotations

from penstock.core.base.values import frozen


@frozen
class ShareStateSettings:
    """Each field carries the value of the broker key named beside it."""

    updates_per_snapshot: int = 500  # share.coordinator.snapshot.update.records.per.snapshot
    prune_interval_ms: int = 300_000  # share.coordinator.state.topic.prune.interval.ms
    cold_interval_ms: int = 300_000  # share.coordinator.cold.partition.snapshot.interval.ms
    # Not a broker key: what a machine writes of its own accord comes in batches of so many records.
    records_per_turn_max: int = 200
