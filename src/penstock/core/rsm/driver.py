"""The driver: append, replay, release. One for every replicated machine, whatever it is about.

Records are replayed when their offset is assigned, so that the next request already sees them; replies, also those of
reads, wait until the last offset they depend on is committed, so that nobody is told what could still be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.rsm.fold import Fold
from penstock.core.rsm.result import KeyValue, Marker, Replies, Result, Transaction


class Journal(Protocol):
    """Where a machine's records go."""

    def append(self, records: Sequence[KeyValue], now_ms: int, transaction: Transaction | None = None) -> int:
        """Append one atomic batch and give the offset after it; raises ApiError when it cannot."""
        ...

    def end_transaction(self, marker: Marker, now_ms: int) -> int:
        """Append the marker that ends a transaction and give the offset after it, or raise as `append` does."""
        ...

    def when_committed(self, next_offset: int, call: Callable[[ErrorCode], None]) -> None:
        """Call once everything below an offset is committed (at once if it is), or with what went wrong."""
        ...


class Outcomes(Protocol):
    """Who hears what became of a result."""

    def release(self, replies: Replies) -> None:
        """It is committed, and may be told."""
        ...

    def not_written(self, result: Result, code: ErrorCode) -> None:
        """The log has refused the append: nothing that the machine has on record changed."""
        ...

    def not_committed(self, replies: Replies, code: ErrorCode) -> None:
        """It was written, and lost, or takes too long: what the machine believes may never have happened."""
        ...


class Driver:
    """Carries out what a machine decided."""

    def __init__(self, fold: Fold, journal: Journal, end_offset: int, outcomes: Outcomes) -> None:
        self._fold = fold
        self._journal = journal
        self._end_offset = end_offset
        self._outcomes = outcomes

    def run(self, result: Result, now_ms: int) -> bool:
        """Gives whether what was to be written is."""
        replies = result.replies
        if result.records or result.marker is not None:
            try:
                self._write(result, now_ms)
            except ApiError as error:
                self._outcomes.not_written(result, error.code)
                return False
        elif not replies:
            return True
        self._journal.when_committed(self._end_offset, lambda code: self._settled(replies, code))
        return True

    def _write(self, result: Result, now_ms: int) -> None:
        records, marker = result.records, result.marker
        if marker is not None:
            assert not records, "a marker stands alone"
            self._end_offset = self._journal.end_transaction(marker, now_ms)
            self._fold.ended(marker.transaction.producer_id, marker.committed)
        else:
            self._end_offset = self._journal.append(records, now_ms, result.transaction)
            self._fold.appended(records, self._end_offset - len(records), now_ms, result.transaction)

    def _settled(self, replies: Replies, code: ErrorCode) -> None:
        if code is ErrorCode.NONE:
            self._outcomes.release(replies)
        else:
            self._outcomes.not_committed(replies, code)
