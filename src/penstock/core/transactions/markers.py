"""What is due once a transaction is decided: the same marker in each of its partitions."""

from __future__ import annotations

from penstock.core.base.values import frozen
from penstock.core.rsm.result import Due

TopicPartition = tuple[str, int]


@frozen
class MarkersDue(Due):
    """A transaction that is decided, and the partitions that have not heard of it yet."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int
    transaction_version: int
    partitions: tuple[TopicPartition, ...]
