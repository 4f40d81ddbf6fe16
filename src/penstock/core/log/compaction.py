"""Compaction as a job: sealed segments in, `.cleaned` files with the latest record per key out. Nothing else changes:
offsets, order, producers' last batches and the place where each segment ends stay what they were.

The first pass maps every key of the dirty part to its latest offset. The second copies: records of the dirty part by
their offset alone, without looking inside batches that are kept or dropped whole; records of the clean part only if
their key does not come again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from penstock.core.base.ports import Buffer, JobFiles
from penstock.core.log.compaction_txns import TransactionFilter
from penstock.core.log.packing import Packing, pack
from penstock.core.log.rewriting import (
    Fields,
    Output,
    Rewritten,
    Source,
    Unreadable,
    discard,
    read_batches,
    unreadable,
)
from penstock.core.log.txn_index import AbortedTransaction
from penstock.core.records.batch import CODEC_MASK, CONTROL_BIT, HEADER_BYTES, TRANSACTIONAL_BIT, BatchHeader
from penstock.core.records.build import empty_batch, rebuild
from penstock.core.records.errors import CorruptBatch
from penstock.core.records.record import Span, read_body, spans_of

KEYS_MAX: Final = 1_000_000

_BASE_OFFSET, _ATTRIBUTES, _LAST_OFFSET_DELTA, _PRODUCER_ID, _COUNT = (
    BatchHeader._fields.index(name)
    for name in ("base_offset", "attributes", "last_offset_delta", "producer_id", "count")
)
_NOT_PLAIN: Final = CODEC_MASK | TRANSACTIONAL_BIT | CONTROL_BIT
_NULL_SIZE: Final = 1

# A key's latest offset, doubled; odd if the record there is a tombstone.
OffsetMap = dict[bytes, int]


class KnownProducer(NamedTuple):
    """The last offsets of the batches that are remembered of a producer, none where the last one was a marker."""

    last_offsets: tuple[int, ...]
    epoch: int


class Plan(NamedTuple):
    """All that a compaction needs to know; plain values, because it runs in another process."""

    folder: str
    groups: tuple[tuple[Source, ...], ...]
    first_dirty_offset: int
    now_ms: int
    delete_retention_ms: int
    index_interval_bytes: int
    producers: Mapping[int, KnownProducer]
    aborted: tuple[AbortedTransaction, ...]
    keys_max: int
    packing: Packing


class Result(NamedTuple):
    """`end_offset` is the next first dirty offset: the map may have been full before the plan's end."""

    end_offset: int
    segments: tuple[Rewritten, ...]
    bytes_read: int
    bytes_written: int


def compact_segments(files: JobFiles, plan: Plan) -> Result | Unreadable:
    """The job; where a segment is damaged, nothing is made of any."""
    try:
        return _compact(files, plan)
    except CorruptBatch as error:
        for group in plan.groups:
            discard(files, plan.folder, group[0].base_offset)
        return unreadable(error, plan.groups[0][0])


def _compact(files: JobFiles, plan: Plan) -> Result:
    """Write a `.cleaned` segment for each group that the offset map reaches, synced and ready to be swapped in."""
    latest, end_offset = build_map(files, plan)
    copier = _Copier(plan, latest, end_offset)
    cleaned = [copier.copy_group(files, group) for group in plan.groups if group[0].base_offset < end_offset]
    size_bytes = sum(source.size_bytes for group in plan.groups for source in group)
    return Result(end_offset, tuple(cleaned), size_bytes, sum(segment.size_bytes for segment in cleaned))


def build_map(files: JobFiles, plan: Plan) -> tuple[OffsetMap, int]:
    """The latest offset of each key in the dirty part, and the offset up to which that is known."""
    latest: OffsetMap = {}
    transactions = TransactionFilter(plan.aborted)
    end_offset = plan.first_dirty_offset
    for source in (source for group in plan.groups for source in group):
        if source.end_offset <= plan.first_dirty_offset:
            continue
        for data, position, fields in read_batches(files, source, is_checked=True):
            next_offset = fields[_BASE_OFFSET] + fields[_LAST_OFFSET_DELTA] + 1
            if next_offset <= plan.first_dirty_offset:
                continue
            if len(latest) >= plan.keys_max and end_offset > plan.first_dirty_offset:
                return latest, end_offset
            if fields[_COUNT] == 1 and not fields[_ATTRIBUTES] & _NOT_PLAIN:
                map_single(latest, data, position, fields)
            else:
                _map_batch(latest, transactions, data, position, BatchHeader._make(fields))
            end_offset = next_offset
        # Offsets may be missing at the end of a segment; they are known all the same.
        end_offset = source.end_offset
    return latest, end_offset


def _map_batch(
    latest: OffsetMap, transactions: TransactionFilter, data: bytes, position: int, header: BatchHeader
) -> None:
    if transactions.is_discardable(data, position, header) or header.is_control:
        return
    base_offset = header.base_offset
    for offset_delta, key, has_value, *_ in spans_of(header, read_body(data, position, header)):
        if key is not None:
            latest[key] = (base_offset + offset_delta) << 1 | (not has_value)


def map_single(latest: OffsetMap, data: bytes, position: int, fields: Fields) -> None:
    """The same for a plain batch of one record, three times as fast: coordinators' logs consist of these. Only the
    ends of the varints before the key matter; a key of 8 KB and more is left to the general way."""
    at = position + HEADER_BYTES
    while data[at] > 127:
        at += 1
    # The byte after the record's size holds its attributes, the one after the timestamp begins the offset delta.
    at += 2
    while data[at] > 127:
        at += 1
    at += 1
    if data[at]:
        # The only record left of several: its offset is not the batch's base.
        return _map_batch(latest, TransactionFilter(()), data, position, BatchHeader._make(fields))
    size = data[at := at + 1]
    if size > 127:
        size = size & 127 | data[at := at + 1] << 7
        if size > 16383:
            return _map_batch(latest, TransactionFilter(()), data, position, BatchHeader._make(fields))
    if not size & 1:
        key = data[at + 1 : at + 1 + (size >> 1)]
        latest[key] = fields[_BASE_OFFSET] << 1 | (data[at + 1 + (size >> 1)] == _NULL_SIZE)
    return None


class _Copier:
    """The second pass: decides about each batch and writes what stays."""

    def __init__(self, plan: Plan, latest: OffsetMap, end_offset: int) -> None:
        self._plan = plan
        self._latest = latest
        self._end_offset = end_offset
        # The dirty part's survivors by offset; the value says whether it is a tombstone.
        self._live = {doubled >> 1: bool(doubled & 1) for doubled in latest.values()}
        self._transactions = TransactionFilter(plan.aborted)

    def copy_group(self, files: JobFiles, group: Sequence[Source]) -> Rewritten:
        base_offset, end_offset = group[0].base_offset, group[-1].end_offset
        output = Output(files, self._plan.folder, base_offset, self._plan.index_interval_bytes)
        self._transactions.begin_segment()
        for source in group:
            for data, position, fields in read_batches(files, source, is_checked=not self._is_mapped(source)):
                if not self._is_plainly_dead(fields, end_offset):
                    header = BatchHeader._make(fields)
                    kept = self._filter(data, position, header, header.next_offset == end_offset)
                    if kept is not None:
                        output.write(pack(kept, self._plan.packing))
        return output.finish(end_offset, self._transactions.kept_aborted())

    def _is_mapped(self, source: Source) -> bool:
        """Whether all of it was read already, when the map was made."""
        return self._plan.first_dirty_offset <= source.base_offset and source.end_offset <= self._end_offset

    def _is_plainly_dead(self, fields: Fields, end_offset: int) -> bool:
        """One dirty record that comes again later, from no producer, not at the end: most of a coordinator's log."""
        offset = fields[_BASE_OFFSET]
        return (
            fields[_LAST_OFFSET_DELTA] == 0
            and offset not in self._live
            and self._plan.first_dirty_offset <= offset < self._end_offset
            and fields[_PRODUCER_ID] < 0
            and not fields[_ATTRIBUTES] & CONTROL_BIT
            and offset + 1 != end_offset
        )

    def _filter(self, data: bytes, position: int, header: BatchHeader, is_last: bool) -> Buffer | None:
        """What stays of a batch: its bytes, fewer of them, a bare header, or nothing."""
        discardable = self._transactions.is_discardable(data, position, header)
        kept = self._filter_records(data, position, header, discardable)
        if kept is not None:
            return kept
        # A segment's last batch says where the segment ends; a producer's last ones say which sequence comes next, and
        # what is here already, should the log be read again after a crash and the producer ask again.
        return empty_batch(header) if is_last or self._is_remembered(header) else None

    def _filter_records(self, data: bytes, position: int, header: BatchHeader, discardable: bool) -> Buffer | None:
        if header.count == 0:
            return None
        if header.is_control:
            return self._filter_marker(data, position, header, discardable)
        if discardable:
            return None
        if header.base_offset >= self._plan.first_dirty_offset:
            return self._filter_dirty(data, position, header)
        return self._filter_spans(data, position, header)

    def _filter_marker(self, data: bytes, position: int, header: BatchHeader, discardable: bool) -> Buffer | None:
        """A marker may go some time after the last record of its transaction went."""
        whole = memoryview(data)[position : position + header.size]
        if not discardable:
            return whole
        if header.delete_horizon is not None:
            return None if header.delete_horizon <= self._plan.now_ms else whole
        body = read_body(data, position, header)
        return rebuild(header, body, list(spans_of(header, body)), self._horizon_ms())

    def _filter_dirty(self, data: bytes, position: int, header: BatchHeader) -> Buffer | None:
        """By offsets alone, as long as that decides."""
        first, last = header.base_offset, header.last_offset
        if first >= self._end_offset:
            return memoryview(data)[position : position + header.size]
        live = self._live
        if first == last:
            tombstones = [live[first]] if first in live else []
        else:
            tombstones = [live[offset] for offset in range(first, last + 1) if offset in live]
        if not tombstones:
            return None
        if len(tombstones) == header.count and not any(tombstones):
            return memoryview(data)[position : position + header.size]
        return self._filter_spans(data, position, header)

    def _filter_spans(self, data: bytes, position: int, header: BatchHeader) -> Buffer | None:
        """Record by record."""
        body = read_body(data, position, header)
        kept = [span for span in spans_of(header, body) if self._is_kept(header, span)]
        if not kept:
            return None
        needs_horizon = header.delete_horizon is None and not all(span.has_value for span in kept)
        if len(kept) == header.count and not needs_horizon:
            return memoryview(data)[position : position + header.size]
        return rebuild(header, body, kept, self._horizon_ms() if needs_horizon else None)

    def _is_kept(self, header: BatchHeader, span: Span) -> bool:
        """The latest of its key, and not a tombstone whose time is over. Records without a key have no place here."""
        if span.key is None:
            return False
        offset = header.base_offset + span.offset_delta
        if offset < self._latest.get(span.key, 0) >> 1:
            return False
        return span.has_value or header.delete_horizon is None or self._plan.now_ms < header.delete_horizon

    def _is_remembered(self, header: BatchHeader) -> bool:
        known = self._plan.producers.get(header.producer_id)
        if known is None:
            return False
        if known.last_offsets:
            return header.last_offset in known.last_offsets
        return header.is_control and header.producer_epoch == known.epoch

    def _horizon_ms(self) -> int:
        return self._plan.now_ms + self._plan.delete_retention_ms
