"""Producers refolded from a snapshot take over what is still known of earlier batches."""

from __future__ import annotations

from penstock.core.log.producers import BATCHES_MAX, Producer, Producers
from penstock.core.log.producers import Mark as KnownBatch

PRODUCER_ID = 7


def producers_with(epoch: int, *last_offsets: int) -> Producers:
    producer = Producer(epoch)
    producer.marks = [KnownBatch(offset, offset, 0, 0) for offset in last_offsets]
    producers = Producers()
    producers.load(PRODUCER_ID, producer)
    return producers


def offsets_of(producers: Producers) -> list[int]:
    producer = producers.get(PRODUCER_ID)
    assert producer is not None
    return [mark.last_offset for mark in producer.marks]


def test_earlier_batches_are_taken_over_and_lost_ones_are_not() -> None:
    refolded = producers_with(0, 3)
    refolded.remember(producers_with(0, 1, 2, 3, 4, 5))
    assert offsets_of(refolded) == [1, 2, 3]


def test_there_are_never_more_than_are_kept() -> None:
    refolded = producers_with(0, 2, 3, 4, 5, 6)
    refolded.remember(producers_with(0, 3, 4, 5, 6, 7))
    assert len(offsets_of(refolded)) == BATCHES_MAX


def test_batches_of_another_epoch_are_not_taken_over() -> None:
    refolded = producers_with(0, 3)
    refolded.remember(producers_with(1, 1, 2))
    assert offsets_of(refolded) == [3]
