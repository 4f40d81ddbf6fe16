"""Assignors, held against what each of them promises."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.groups.consumer.assignors import ASSIGNORS
from penstock.core.groups.consumer.member import Partitions
from penstock.core.groups.consumer.range_assignor import assign_ranges
from penstock.core.groups.consumer.subject import Subject
from penstock.core.groups.consumer.uniform_assignor import assign_uniformly

TOPICS = [bytes([number]) * 16 for number in range(4)]
members = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8, unique=True)
counts = st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 9), min_size=1)


@st.composite
def subjects(draw: st.DrawFn, *, alike: bool) -> Subject:
    known = draw(counts)
    names = draw(members)
    every = frozenset(known)
    some = st.sets(st.sampled_from(sorted(known))).map(frozenset)
    subscriptions = {name: every if alike else draw(some) for name in names}
    instances = {name: f"i{name}" for name in names if draw(st.booleans())}
    read = frozenset[bytes]().union(*subscriptions.values())
    return Subject(subscriptions, instances, {topic: count for topic, count in known.items() if topic in read}, {})


def given_out(targets: dict[str, Partitions]) -> Counter[tuple[bytes, int]]:
    return Counter(
        (topic, each) for target in targets.values() for topic, numbers in target.items() for each in numbers
    )


def sizes(targets: dict[str, Partitions]) -> list[int]:
    return [sum(map(len, target.values())) for target in targets.values()]


@given(subjects(alike=False) | subjects(alike=True), st.sampled_from(sorted(ASSIGNORS)))
def test_every_partition_that_somebody_reads_goes_to_one_reader(subject: Subject, name: str) -> None:
    targets = ASSIGNORS[name](subject)
    read = frozenset[bytes]().union(*subject.subscriptions.values())
    assert given_out(targets) == {(topic, each): 1 for topic in read for each in range(subject.counts[topic])}
    assert targets.keys() == subject.subscriptions.keys()
    for member_id, target in targets.items():
        assert target.keys() <= subject.subscriptions[member_id]
        assert all(target.values())


@given(subjects(alike=True))
def test_uniform_gives_everybody_the_same_or_one_more(subject: Subject) -> None:
    found = sizes(assign_uniformly(subject))
    assert max(found) - min(found) <= 1


@given(subjects(alike=False))
def test_uniform_leaves_nothing_that_a_move_would_even_out(subject: Subject) -> None:
    targets = assign_uniformly(subject)
    size = dict(zip(targets, sizes(targets), strict=True))
    for topic in subject.counts:
        readers = [each for each, topics in subject.subscriptions.items() if topic in topics]
        for member_id in readers:
            if targets[member_id].get(topic):
                assert all(size[member_id] <= size[other] + 1 for other in readers)


@given(subjects(alike=True), st.sampled_from("abcdefgh"))
def test_uniform_moves_no_more_than_it_must(subject: Subject, other: str) -> None:
    """When one member goes only its partitions move; when one comes, only what it gets."""
    before = assign_uniformly(subject)
    names = set(before) ^ {other}
    if not names:
        return
    every = frozenset(subject.counts)
    after = assign_uniformly(Subject(dict.fromkeys(sorted(names), every), {}, subject.counts, before))
    for member_id in names & set(before):
        kept = sum(
            len(before[member_id].get(topic, frozenset()) & after[member_id].get(topic, frozenset())) for topic in every
        )
        had = sum(map(len, before[member_id].values()))
        least = sum(subject.counts.values()) // len(names)
        assert kept >= (had if other in before else min(had, least))


def test_range_gives_rows_and_the_same_rows_of_topics_that_are_alike() -> None:
    subject = Subject(
        dict.fromkeys(["b", "a", "c"], frozenset(TOPICS[:2])), {"c": "first"}, dict.fromkeys(TOPICS[:2], 7), {}
    )
    targets = assign_ranges(subject)
    assert targets == {
        "c": dict.fromkeys(TOPICS[:2], frozenset({0, 1, 2})),
        "a": dict.fromkeys(TOPICS[:2], frozenset({3, 4})),
        "b": dict.fromkeys(TOPICS[:2], frozenset({5, 6})),
    }
