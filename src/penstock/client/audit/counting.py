"""The count of one partition: batches in the order of the log, and what was counted of them before. Pure.

`Count` is given every batch between two offsets, once. It makes spans of what is new, counts again what the book has,
and names what is wrong: offsets that no batch holds, batches that overlap, sequences that do not fit, spans that count
otherwise than they did.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.client.audit.findings import Gap, Kind
from penstock.client.audit.sequences import Sequences
from penstock.client.audit.spans import Span, minute_of
from penstock.client.metadata import TopicPartition
from penstock.core.records.batch import BatchHeader


class Count:
    """Of one partition, from offset `first` on. `booked` are the spans of earlier counts from there on, in order."""

    def __init__(
        self, where: TopicPartition, first: int, booked: Sequence[Span] = (), *, is_compacted: bool = False
    ) -> None:
        self._where = where
        self._first = self._next = first
        # What was booked, and has begun to expire, cannot be counted again.
        self._booked = [] if is_compacted else [span for span in booked if span.first >= first]
        self._new_from = max((span.end for span in booked), default=first)
        self._again: dict[int, Span] = {}
        self._place = 0
        self._sequences = Sequences(where)
        self._is_compacted = is_compacted
        self.spans: list[Span] = []
        """Those that the book does not have."""
        self.gaps: list[Gap] = []

    def take(self, header: BatchHeader, is_valid: bool = True) -> None:
        """The next batch, and whether its checksum is that of its bytes."""
        if not is_valid:
            self._add(Kind.CHANGED, header.base_offset, header.next_offset, "the checksum does not fit the bytes")
        if not self._is_compacted:
            self._follow(header)
            if (gap := self._sequences.take(header)) is not None:
                self.gaps.append(gap)
        self._next = max(self._next, header.next_offset)
        self._count(header)

    def expired(self, first: int) -> None:
        """The log begins later now than when the count began."""
        self._booked = [span for span in self._booked if span.end <= self._next or span.first >= first]
        self._next = max(self._next, first)

    def finish(self, end: int) -> None:
        """The log ends there."""
        told = max([self._new_from, *(span.end for span in self._booked)])
        if end < told and self._first < told:
            self._add(Kind.MISSING, max(end, self._first), told, f"it was counted before, and the log ends at {end}")
        if not self._is_compacted:
            if self._next < end:
                self._add(Kind.MISSING, self._next, end, "no batch holds these offsets")
            self.gaps += self._sequences.holes()
            self.gaps += self._compared(end)
        self.gaps.sort(key=lambda gap: (gap.first, gap.end))

    def _follow(self, header: BatchHeader) -> None:
        if header.base_offset > self._next:
            self._add(Kind.MISSING, self._next, header.base_offset, "no batch holds these offsets")
        elif header.base_offset < self._next and self._next > self._first:
            self._add(Kind.DOUBLED, header.base_offset, self._next, "two batches hold these offsets")

    def _count(self, header: BatchHeader) -> None:
        if header.base_offset < self._new_from:
            self._count_again(header)
            return
        minute = minute_of(header)
        if not self.spans or self.spans[-1].minute != minute:
            self.spans.append(Span(header.base_offset, header.next_offset, minute))
        self.spans[-1] = self.spans[-1].with_batch(header)

    def _count_again(self, header: BatchHeader) -> None:
        while self._place < len(self._booked) and self._booked[self._place].end <= header.base_offset:
            self._place += 1
        if self._place == len(self._booked) or header.base_offset < self._booked[self._place].first:
            return
        span = self._booked[self._place]
        known = self._again.get(span.first, Span(span.first, span.first, span.minute))
        self._again[span.first] = known.with_batch(header)

    def _compared(self, end: int) -> Iterator[Gap]:
        """Spans that count otherwise than before. What the log no longer reaches has been named."""
        for span in self._booked:
            if span.end > end:
                continue
            now = self._again.get(span.first, Span(span.first, span.first, span.minute))
            if not now.is_like(span):
                yield Gap(_kind(span, now), self._where, span.first, span.end, _difference(span, now))

    def _add(self, kind: Kind, first: int, end: int, why: str) -> None:
        self.gaps.append(Gap(kind, self._where, first, end, why))


def _kind(before: Span, now: Span) -> Kind:
    if now.records != before.records:
        return Kind.MISSING if now.records < before.records else Kind.DOUBLED
    return Kind.CHANGED


def _difference(before: Span, now: Span) -> str:
    if now.records != before.records:
        return f"{before.records} records were counted before, {now.records} are there"
    return f"its {before.records} records are others, or in another order, than were counted before"
