"""How much a batch takes and how it is cut, against cases worked by hand and the ones that Spark's own source keeps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.metadata import TopicPartition
from penstock.spark.source.places import OFFSET_MAX
from penstock.spark.source.planning import (
    OffsetRange,
    cut,
    is_enough,
    offsets_of_bytes,
    plan_batch,
    plan_stream,
    share,
)

A, B, C = (TopicPartition(name, 1) for name in ("a", "b", "c"))
Spans = list[tuple[TopicPartition, int, int]]


def ranges(*spans: tuple[TopicPartition, int, int]) -> list[OffsetRange]:
    return [OffsetRange(*span) for span in spans]


# Cutting


@pytest.mark.parametrize(
    ("before", "partitions_min", "offsets_max", "after"),
    [
        # One task for each range, and none for an empty one.
        ([(A, 1, 2)], None, None, [(A, 1, 2)]),
        ([(A, 1, 2), (B, 1, 1)], None, None, [(A, 1, 2)]),
        ([(A, 1, 2), (B, 5, 3)], None, None, [(A, 1, 2)]),
        ([(A, 1, 2), (B, 1, 2), (C, 1, 2)], 3, None, [(A, 1, 2), (B, 1, 2), (C, 1, 2)]),
        ([(A, 1, 5), (B, 1, 21)], 1, None, [(A, 1, 5), (B, 1, 21)]),
        # Large ranges are cut until there are about enough.
        ([(A, 1, 5)], 4, None, [(A, 1, 2), (A, 2, 3), (A, 3, 4), (A, 4, 5)]),
        ([(A, 1, 5), (B, 1, 21)], 4, None, [(A, 1, 5), (B, 1, 7), (B, 7, 14), (B, 14, 21)]),
        ([(A, 1, 1), (B, 1, 21)], 4, None, [(B, 1, 6), (B, 6, 11), (B, 11, 16), (B, 16, 21)]),
        ([(A, 1, 2), (B, 1, 1001)], 4, None, [(A, 1, 2), (B, 1, 334), (B, 334, 667), (B, 667, 1001)]),
        ([(A, 1, 11)], 3, None, [(A, 1, 4), (A, 4, 7), (A, 7, 11)]),
        (
            [(A, 0, 10), (B, 0, 10), (C, 0, 1)],
            6,
            None,
            [(A, 0, 3), (A, 3, 6), (A, 6, 10), (B, 0, 3), (B, 3, 6), (B, 6, 10), (C, 0, 1)],
        ),
        (
            [(A, 0, 500), (B, 0, 12000), (C, 0, 15001)],
            6,
            None,
            [(A, 0, 500), (B, 0, 6000), (B, 6000, 12000), (C, 0, 5000), (C, 5000, 10000), (C, 10000, 15001)],
        ),
        (
            [(A, 0, 1), (B, 0, 1), (C, 0, 10000)],
            6,
            None,
            [(A, 0, 1), (B, 0, 1), (C, 0, 2500), (C, 2500, 5000), (C, 5000, 7500), (C, 7500, 10000)],
        ),
        # A bound for each task.
        ([(A, 1, 5)], None, 4, [(A, 1, 5)]),
        ([(A, 1, 6)], None, 4, [(A, 1, 3), (A, 3, 6)]),
        ([(A, 1, 50)], None, 20, [(A, 1, 17), (A, 17, 33), (A, 33, 50)]),
        # Both.
        ([(A, 1, 40)], 1, 20, [(A, 1, 20), (A, 20, 40)]),
        ([(A, 1, 40)], 4, 20, [(A, 1, 10), (A, 10, 20), (A, 20, 30), (A, 30, 40)]),
    ],
)
def test_ranges_are_cut_as_spark_cuts_them(
    before: Spans, partitions_min: int | None, offsets_max: int | None, after: Spans
) -> None:
    assert cut(ranges(*before), partitions_min, offsets_max) == ranges(*after)


SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 2000)), max_size=6).map(
    lambda sizes: [OffsetRange(TopicPartition("t", n), start, start + size) for n, (start, size) in enumerate(sizes)]
)


@given(SPANS, st.none() | st.integers(1, 40), st.none() | st.integers(1, 500))
def test_a_cut_loses_and_doubles_no_offset(
    before: list[OffsetRange], partitions_min: int | None, offsets_max: int | None
) -> None:
    after = cut(before, partitions_min, offsets_max)
    for whole in before:
        pieces = sorted(piece for piece in after if piece.where == whole.where)
        ends = [whole.start, *(piece.end for piece in pieces)]
        assert [piece.start for piece in pieces] == ends[:-1]
        assert ends[-1] == whole.end
        assert all(0 < piece.size <= (offsets_max or OFFSET_MAX) for piece in pieces)


# Limits


def test_a_limit_is_shared_in_proportion_and_the_smallest_gives_one() -> None:
    begin, latest = {A: 0, B: 0, C: 0}, {A: 101, B: 11, C: 1}
    first = share(10, begin, latest)
    assert first == {A: 8, B: 1, C: 1}
    assert share(10, first, latest) == {A: 17, B: 2, C: 1}


def test_a_limit_beyond_everything_takes_everything() -> None:
    assert share(2**63 - 1, {A: 5, B: 0}, {A: 9, B: 0}) == {A: 9, B: 0}


def test_a_partition_whose_beginning_is_unknown_is_left_to_the_planning_of_losses() -> None:
    assert share(1, {A: 0}, {A: 4, B: 7}) == {A: 1, B: 7}


def test_an_end_that_went_back_is_not_limited() -> None:
    assert share(2, {A: 10, B: 0}, {A: 3, B: 8}) == {A: 3, B: 2}


@given(st.integers(1, 1000), st.lists(st.integers(0, 10_000), min_size=1, max_size=8))
def test_a_limited_batch_makes_progress_and_stays_near_its_limit(limit: int, sizes: list[int]) -> None:
    begin = {TopicPartition("t", n): 7 for n in range(len(sizes))}
    latest = {TopicPartition("t", n): 7 + size for n, size in enumerate(sizes)}
    end = share(limit, begin, latest)
    taken = sum(end[where] - begin[where] for where in end)
    assert all(begin[where] <= end[where] <= latest[where] for where in end)
    assert (taken > 0) == (sum(sizes) > 0)
    assert taken <= limit + len(sizes)


def test_bytes_become_offsets_by_the_mean_size_in_each_partition() -> None:
    begin, latest = {A: 0, B: 0}, {A: 100, B: 100}
    # 100 * 10 + 100 * 30 = 4000 bytes are there; a quarter of them are a quarter of the 200 offsets.
    assert offsets_of_bytes(1000, begin, latest, {A: 10.0, B: 30.0}) == 50
    assert share(50, begin, latest) == {A: 25, B: 25}


def test_bytes_that_suffice_are_no_limit_and_too_few_still_give_one_offset() -> None:
    assert offsets_of_bytes(4000, {A: 0}, {A: 100}, {A: 40.0}) == OFFSET_MAX
    assert offsets_of_bytes(1, {A: 0}, {A: 100}, {A: 40.0}) == 1
    assert offsets_of_bytes(1, {A: 5}, {A: 5}, {}) == OFFSET_MAX


def test_enough_counts_new_offsets_over_all_partitions() -> None:
    assert is_enough(5, {A: 10, B: 10}, {A: 12, B: 13})
    assert not is_enough(6, {A: 10, B: 10}, {A: 12, B: 13})
    assert is_enough(6, {A: 10}, {A: 12, B: 4})


# Ranges and losses


def test_a_new_partition_is_read_from_its_first_offset() -> None:
    assert plan_stream({A: 3}, {A: 5, B: 4}, {B: 0}) == (ranges((A, 3, 5), (B, 0, 4)), [])


@pytest.mark.parametrize(
    ("begin", "end", "first_of_new", "planned", "words"),
    [
        ({A: 3}, {A: 5, B: 4}, {B: 2}, [(A, 3, 5), (B, 2, 4)], "starts from offset 2 instead of 0"),
        ({A: 3}, {A: 5, B: 4}, {}, [(A, 3, 5)], "first offsets of b-1 cannot be found"),
        ({A: 3, B: 1}, {A: 5}, {}, [(A, 3, 5)], "partitions b-1 are gone"),
        ({A: 3}, {A: 1}, {}, [(A, 3, 1)], "went from offset 3 back to 1"),
    ],
)
def test_what_cannot_be_read_is_said(
    begin: dict[TopicPartition, int],
    end: dict[TopicPartition, int],
    first_of_new: dict[TopicPartition, int],
    planned: Spans,
    words: str,
) -> None:
    plan = plan_stream(begin, end, first_of_new)
    assert plan.ranges == ranges(*planned)
    assert words in " ".join(plan.losses)
    assert len(plan.losses) == 1


def test_a_batch_query_is_cut_to_what_is_there_and_says_what_is_not() -> None:
    plan = plan_batch({A: 0, B: 2, C: 0}, {A: 9, B: 5, C: 0}, {A: 4, B: 0, C: 3}, {A: 8, B: 5, C: 3})
    assert plan.ranges == ranges((A, 4, 8), (B, 2, 5), (C, 3, 0))
    assert plan.losses == ["a-1 was asked for offsets 0 to 9 and has only 4 to 8"]
