"""The `simple` assignor, held against what it promises."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.groups.share.member import Partitions
from penstock.core.groups.share.simple_assignor import assign

TOPICS = [bytes([number]) * 16 for number in range(3)]
members = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8, unique=True)
known = st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 9).map(lambda count: frozenset(range(count))))


def readers(targets: dict[str, Partitions]) -> Counter[tuple[bytes, int]]:
    return Counter(
        (topic, each) for target in targets.values() for topic, numbers in target.items() for each in numbers
    )


def sizes(targets: dict[str, Partitions]) -> list[int]:
    return [sum(map(len, target.values())) for target in targets.values()]


@given(members, known, st.data())
def test_every_partition_that_somebody_reads_is_read(
    names: list[str], partitions: Partitions, data: st.DataObject
) -> None:
    some = st.sets(st.sampled_from(TOPICS)).map(frozenset)
    subscriptions = {name: data.draw(some) for name in names}
    before = assign(subscriptions, partitions, {})
    after = assign({name: data.draw(some) for name in names}, partitions, before)
    assert after.keys() == subscriptions.keys()
    read = frozenset[bytes]().union(*subscriptions.values())
    assert readers(before).keys() == {(topic, each) for topic in read for each in partitions.get(topic, ())}
    for name, target in before.items():
        assert target.keys() <= subscriptions[name]


@given(members, known)
def test_where_all_read_the_same_everybody_has_as_much(names: list[str], partitions: Partitions) -> None:
    targets = assign(dict.fromkeys(names, frozenset(TOPICS)), partitions, {})
    assert max(sizes(targets)) - min(sizes(targets)) <= 1
    counts = readers(targets).values()
    if partitions:
        assert max(counts) - min(counts) <= 1
        assert min(sizes(targets)) >= 1 or len(names) < sum(map(len, partitions.values()))


@given(members, known, st.sampled_from("abcdefgh"))
def test_members_keep_what_is_not_more_than_their_part(names: list[str], partitions: Partitions, gone: str) -> None:
    before = assign(dict.fromkeys(names, frozenset(TOPICS)), partitions, {})
    left = [name for name in names if name != gone]
    if not left:
        return
    after = assign(dict.fromkeys(left, frozenset(TOPICS)), partitions, before)
    assert assign(dict.fromkeys(left, frozenset(TOPICS)), partitions, after) == after
    if len(names) <= sum(map(len, partitions.values())):
        for name in left:
            assert all(numbers <= after[name].get(topic, frozenset()) for topic, numbers in before[name].items())
