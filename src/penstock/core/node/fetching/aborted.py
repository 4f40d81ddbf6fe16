"""Aborted transactions among what was read: a reader of committed records is told of them, and passes their records
over. Few logs have any, so a fetch first looks whether it needs the disk for that."""

from __future__ import annotations

from penstock.core.base.ports import Slice, Steps
from penstock.core.log.log import Log
from penstock.core.node.fetching.fetch_session import Outcome
from penstock.core.wire.api.fetch import AbortedTransaction


def has_aborted(outcome: Outcome) -> bool:
    """Whether any transaction that was aborted can concern what was found."""
    return any(
        data.records and cached.partition is not None and cached.partition.log.has_aborted(cached.offset)
        for cached, data in outcome.found.items()
    )


def name_aborted(outcome: Outcome) -> Steps[None]:
    """Add to each partition's answer the transactions that were aborted in what is read of it."""
    for cached, data in outcome.found.items():
        if isinstance(data.records, Slice) and cached.partition is not None:
            log = cached.partition.log
            upto = min(_end_of(log, data.records), data.last_stable_offset)
            found = yield from log.aborted_transactions(cached.offset, upto)
            data.aborted_transactions = [
                AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset) for each in found
            ]


def _end_of(log: Log, piece: Slice) -> int:
    """An offset before which a piece ends: that of its segment's end, or of the log's where compaction has replaced the
    segment meanwhile. A transaction that is named too many harms nobody."""
    holders = (number for number, segment in enumerate(log.segments, 1) if segment.log is piece.file)
    after = next(holders, len(log.segments))
    return log.segments[after].base_offset if after < len(log.segments) else log.end_offset
