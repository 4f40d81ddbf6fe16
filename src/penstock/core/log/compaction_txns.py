"""Transactions as compaction meets them: which batches were aborted, and when a marker has nothing left to mark."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.log.txn_index import AbortedTransaction, encode
from penstock.core.records.batch import BatchHeader
from penstock.core.records.control import decode_end_transaction
from penstock.core.records.record import iterate


class _Aborted:
    """An aborted transaction that is being passed."""

    __slots__ = ("entry", "has_batches")

    def __init__(self, entry: AbortedTransaction) -> None:
        self.entry = entry
        self.has_batches = False


class TransactionFilter:
    """Follows a log's batches in order."""

    def __init__(self, aborted: Sequence[AbortedTransaction]) -> None:
        self._ahead = sorted(aborted, key=lambda entry: entry.first_offset, reverse=True)
        self._aborting: dict[int, _Aborted] = {}
        self._committing: set[int] = set()
        self._kept: list[AbortedTransaction] = []

    def begin_segment(self) -> None:
        self._kept = []

    def kept_aborted(self) -> bytes:
        """The transaction index of the segment since `begin_segment`."""
        return b"".join(map(encode, self._kept))

    def is_discardable(self, data: bytes, position: int, header: BatchHeader) -> bool:
        """Whether a batch belongs to an aborted transaction or, if it is a marker, has nothing left to mark."""
        if not header.is_transactional and not header.is_control:
            return False
        while self._ahead and self._ahead[-1].first_offset <= header.last_offset:
            entry = self._ahead.pop()
            # Whoever begins behind a marker does not meet it; what its producer has written since is not aborted by it.
            if entry.last_offset >= header.base_offset:
                self._aborting.setdefault(entry.producer_id, _Aborted(entry))
        if header.is_control:
            return self._is_marker_discardable(data, position, header)
        aborted = self._aborting.get(header.producer_id)
        if aborted is None:
            self._committing.add(header.producer_id)
            return False
        aborted.has_batches = True
        return True

    def _is_marker_discardable(self, data: bytes, position: int, header: BatchHeader) -> bool:
        record = next(iterate(data, position), None)
        if record is None:
            # Compaction has been here and left only the header.
            return True
        end = decode_end_transaction(record.key, record.value)
        if end is None:
            return False
        producer_id = header.producer_id
        if end.committed:
            if producer_id in self._committing:
                self._committing.remove(producer_id)
                return False
            return True
        aborted = self._aborting.pop(producer_id, None)
        if aborted is None or not aborted.has_batches:
            return True
        self._kept.append(aborted.entry)
        return False
