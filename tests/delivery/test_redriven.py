"""Which letters are back, held against a set."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.delivery.redriven import Entry, Redriven, Where, encode_offsets, ranges_of

ORDERS = Where("orders.dlq", "00ff", 0)
OTHER = Where("orders.dlq", "00ff", 1)

bunches = st.lists(st.lists(st.integers(0, 60), min_size=1, unique=True).map(sorted), max_size=8)


def records(found: list[list[int]]) -> list[tuple[bytes, bytes, list[int]]]:
    """What a redrive writes: each letter once."""
    seen: set[int] = set()
    fresh = [[each for each in bunch if not (each in seen or seen.add(each))] for bunch in found]
    return [(Entry(ORDERS, bunch[0]).encode(), encode_offsets(bunch), bunch) for bunch in fresh if bunch]


@given(bunches)
def test_what_is_back_is_what_was_written(found: list[list[int]]) -> None:
    known, twin = Redriven(), set()
    for key, value, offsets in records(found):
        known.replay(key, value)
        # A compacted topic is read again from its beginning, and a record may come twice.
        known.replay(key, value)
        twin.update(offsets)
    assert {each for each in range(70) if known.has(ORDERS, each)} == twin
    assert not any(known.has(OTHER, each) for each in range(70))


@given(bunches, st.integers(0, 70))
def test_what_is_below_goes_with_its_letters(found: list[list[int]], offset: int) -> None:
    known, twin = Redriven(), set()
    for key, value, offsets in records(found):
        known.replay(key, value)
        if offsets[-1] >= offset:
            twin.update(offsets)
    for entry in known.below(ORDERS, offset):
        known.replay(entry.encode(), None)
    assert {each for each in range(70) if known.has(ORDERS, each)} == twin


def test_what_is_not_ours_is_left_alone() -> None:
    known = Redriven()
    for key in (None, b"", b"{}", b"[]", b'{"topic": "a", "id": "b", "partition": "x", "first": 1}', b"\xff"):
        known.replay(key, b'{"redriven": [[0, 9]]}')
    for value in (b"", b"[]", b'{"redriven": 3}', b'{"redriven": [[1]]}', b'{"later": true}'):
        known.replay(Entry(ORDERS, 0).encode(), value)
    assert not any(known.has(ORDERS, each) for each in range(10))


def test_neighbours_are_one_range() -> None:
    assert ranges_of([1, 2, 3, 7, 9, 10]) == [(1, 4), (7, 8), (9, 11)]
