"""Offsets that a transaction has written, and that count once it is committed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.core.groups.offsets.records import decode_offset_key, group_prefix, offset_key
from penstock.core.rsm.machine import OpenTransactions


class NoTransactions:
    """None are known before the log has been read."""

    are_open: Final = False

    def pending(self, key: bytes) -> bool:
        return False

    def pending_from(self, prefix: bytes) -> Iterator[bytes]:
        return iter(())


class PendingOffsets:
    """What the transactions in a shard's log say of offsets."""

    __slots__ = ("_transactions",)

    def __init__(self, transactions: OpenTransactions) -> None:
        self._transactions = transactions

    def __bool__(self) -> bool:
        return self._transactions.are_open

    def has(self, group_id: str, topic: str, partition: int) -> bool:
        return self._transactions.are_open and self._transactions.pending(offset_key(group_id, topic, partition))

    def of_group(self, group_id: str) -> Iterator[tuple[str, int]]:
        """The partitions whose offsets may still change, perhaps more than once."""
        if self._transactions.are_open:
            for key in self._transactions.pending_from(group_prefix(group_id)):
                where = decode_offset_key(key)
                yield where.topic, where.partition


NOTHING_PENDING: Final = PendingOffsets(NoTransactions())
