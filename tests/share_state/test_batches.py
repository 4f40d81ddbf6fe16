"""Ranges against a twin that keeps each offset for itself."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.share_state.batches import StateBatch, combined

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4


def ranges() -> st.SearchStrategy[StateBatch]:
    def made(first: int, length: int, state: int, deliveries: int) -> StateBatch:
        return StateBatch(first, first + length, state, deliveries)

    states = st.sampled_from((AVAILABLE, ACKNOWLEDGED, ARCHIVED))
    return st.builds(made, st.integers(0, 30), st.integers(0, 12), states, st.integers(1, 3))


def offset_by_offset(batches: list[StateBatch], start: int) -> dict[int, tuple[int, int]]:
    found: dict[int, tuple[int, int]] = {}
    for each in batches:
        for offset in range(max(each.first, start), each.last + 1):
            found[offset] = max(found.get(offset, each.rank), each.rank)
    return found


@given(st.lists(ranges(), max_size=6), st.lists(ranges(), max_size=6), st.integers(-1, 40))
def test_the_same_is_said_of_each_offset_and_nothing_twice(
    known: list[StateBatch], new: list[StateBatch], start: int
) -> None:
    found = combined(known, new, start)
    assert offset_by_offset(list(found), start) == offset_by_offset(known + new, start)
    for one, other in itertools.pairwise(found):
        assert one.last < other.first
        assert one.last + 1 < other.first or one.rank != other.rank


def test_what_is_settled_does_not_open_again_within_the_same_delivery() -> None:
    settled, opened = StateBatch(0, 9, ACKNOWLEDGED, 1), StateBatch(3, 4, AVAILABLE, 1)
    assert combined([settled], [opened], -1) == (settled,)
    assert combined([settled], [opened._replace(deliveries=2)], -1) == (
        StateBatch(0, 2, ACKNOWLEDGED, 1),
        StateBatch(3, 4, AVAILABLE, 2),
        StateBatch(5, 9, ACKNOWLEDGED, 1),
    )
