"""What the headers of batches give away: a loss, a double and a swap are named, and what is none is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from penstock.client.audit.counting import Count
from penstock.client.audit.findings import Gap, Kind
from penstock.client.audit.spans import MINUTE_MS, Span
from penstock.client.metadata import TopicPartition
from penstock.core.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, BatchHeader

WHERE = TopicPartition("orders", 0)
RECORDS = 10


def header(
    at: int, sequence: int | None = None, *, epoch: int = 0, minute: int = 0, crc: int | None = None, codec: int = 0
) -> BatchHeader:
    """The batch at an offset; without a sequence its producer is not idempotent."""
    producer = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE) if sequence is None else (7, epoch, sequence)
    time_ms = minute * MINUTE_MS
    return BatchHeader(
        at, 100, 0, 2, at if crc is None else crc, codec, RECORDS - 1, time_ms, time_ms, *producer, RECORDS
    )


def stored(headers: Iterable[BatchHeader]) -> Iterator[BatchHeader]:
    """In the order in which they stand, each at the offset of its place."""
    for place, each in enumerate(headers):
        yield each._replace(base_offset=place * RECORDS)


def counted(
    headers: Iterable[BatchHeader], end: int | None = None, booked: tuple[Span, ...] = (), first: int = 0
) -> Count:
    count, last = Count(WHERE, first, booked), first
    for each in headers:
        count.take(each)
        last = each.next_offset
    count.finish(last if end is None else end)
    return count


def idempotent(batches: int = 5) -> list[BatchHeader]:
    return [header(number * RECORDS, number * RECORDS) for number in range(batches)]


def plain(batches: int = 5) -> list[BatchHeader]:
    return [header(number * RECORDS) for number in range(batches)]


def places(gaps: list[Gap]) -> list[tuple[Kind, int, int]]:
    return [(gap.kind, gap.first, gap.end) for gap in gaps]


@pytest.mark.parametrize("log", [idempotent(), plain()])
def test_a_whole_log_is_whole_and_again(log: list[BatchHeader]) -> None:
    count = counted(log)
    assert count.gaps == []
    assert sum(span.records for span in count.spans) == 50
    assert counted(log, booked=tuple(count.spans)).gaps == []


def test_offsets_that_no_batch_holds_are_missing() -> None:
    log = plain()
    del log[2]
    assert places(counted(log).gaps) == [(Kind.MISSING, 20, 30)]


def test_a_loss_behind_which_offsets_go_on_is_seen_by_sequences() -> None:
    log = idempotent()
    del log[2]
    assert places(counted(stored(log)).gaps) == [(Kind.MISSING, 10, 20)]


def test_a_double_is_seen_by_sequences() -> None:
    log = idempotent()
    log.insert(2, log[1])
    assert places(counted(stored(log)).gaps) == [(Kind.DOUBLED, 20, 30)]


@pytest.mark.parametrize(("first", "seen"), [(0, 10), (1, 20)])
def test_a_swap_is_seen_by_sequences(first: int, seen: int) -> None:
    log = idempotent()
    log[first], log[first + 1] = log[first + 1], log[first]
    assert places(counted(stored(log)).gaps) == [(Kind.SWAPPED, seen, seen + 10)]


def test_the_book_sees_what_no_sequence_shows() -> None:
    log = plain()
    booked = tuple(counted(log).spans)
    assert places(counted(log[:3], booked=booked).gaps) == [(Kind.MISSING, 30, 50)]
    swapped = [*log[:2], log[3], log[2], log[4]]
    assert places(counted(stored(swapped), booked=booked).gaps) == [(Kind.CHANGED, 0, 50)]
    one_for_another = [*log[:2], log[1], *log[3:]]
    assert places(counted(stored(one_for_another), booked=booked).gaps) == [(Kind.CHANGED, 0, 50)]


def test_the_book_names_the_minute_in_which_it_happened() -> None:
    log = [header(number * RECORDS, minute=number // 2) for number in range(6)]
    booked = tuple(counted(log).spans)
    assert [(span.minute, span.records) for span in booked] == [(0, 20), (1, 20), (2, 20)]
    log[2] = log[2]._replace(count=4)
    assert places(counted(log, booked=booked).gaps) == [(Kind.MISSING, 20, 40)]
    log[2] = log[2]._replace(count=12)
    assert places(counted(log, booked=booked).gaps) == [(Kind.DOUBLED, 20, 40)]


def test_what_has_expired_is_no_loss() -> None:
    log = plain(6)
    booked = tuple(counted(log).spans)
    assert counted(log[2:], booked=booked, first=20).gaps == []
    assert counted([], end=60, booked=booked, first=60).gaps == []


def test_what_expires_while_it_is_counted_is_no_loss() -> None:
    log = [header(number * RECORDS, minute=number) for number in range(6)]
    count = Count(WHERE, 0, counted(log).spans)
    count.take(log[0])
    count.expired(30)
    for each in log[3:]:
        count.take(each)
    count.finish(60)
    assert count.gaps == []


def test_what_was_packed_meanwhile_is_the_same() -> None:
    log = plain()
    booked = tuple(counted(log).spans)
    packed = [each._replace(crc=each.crc + 1, attributes=4, length=50) for each in log[:3]] + log[3:]
    assert counted(packed, booked=booked).gaps == []
    assert places(counted([log[0]._replace(crc=99), *log[1:]], booked=booked).gaps) == [(Kind.CHANGED, 0, 50)]


def test_a_compacted_log_may_lose_all_but_its_end() -> None:
    booked = counted(plain()).spans
    count = Count(WHERE, 0, booked, is_compacted=True)
    count.take(header(40))
    count.finish(50)
    assert count.gaps == []
    count = Count(WHERE, 0, booked, is_compacted=True)
    count.finish(40)
    assert places(count.gaps) == [(Kind.MISSING, 40, 50)]


def test_producers_begin_anywhere_and_anew() -> None:
    top = (1 << 31) - RECORDS
    log = [header(0, 500), header(0, 510), header(0, 0, epoch=1), header(0, 10, epoch=1)]
    assert counted(stored(log)).gaps == []
    assert counted(stored([header(0, top), header(0, 0), header(0, 10)])).gaps == []
    assert places(counted(stored([*log, header(0, 520)])).gaps) == [(Kind.SWAPPED, 40, 50)]


def test_bytes_that_do_not_fit_their_checksum_are_changed() -> None:
    count = Count(WHERE, 0)
    count.take(header(0), is_valid=False)
    count.finish(10)
    assert places(count.gaps) == [(Kind.CHANGED, 0, 10)]
