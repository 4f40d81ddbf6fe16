"""Plans that even out replicas and leaders: nothing is lost, nothing stands closer together, they end, and what is left
to improve is nothing. The twin of the planner's arithmetic here is as naive as can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.metadata.balancing import Aim, Layout, Planner, Shift, Site

Topics = dict[str, list[tuple[int, ...]]]
BUNCH = 3
ROUNDS_MAX = 500

SITES = st.lists(
    st.tuples(
        st.sampled_from([None, "a", "b", "c"]), st.sampled_from([None, "x", "y"]), st.sampled_from([True] * 4 + [False])
    ),
    min_size=1,
    max_size=7,
).map(lambda found: [Site(number, *each) for number, each in enumerate(found, 1)])


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Site], Topics]:
    """Any brokers, and any replicas on them: also ones that nobody would have placed there."""
    sites = draw(SITES)
    ids = [site.id for site in sites]
    numbers = st.integers(0, len(ids) - 1)
    # The first broker, the distance to the next one, and how many: quicker to draw than a permutation.
    sets = st.tuples(numbers, numbers, st.integers(1, min(4, len(ids)))).map(lambda drawn: _replicas(ids, *drawn))
    topics = draw(st.dictionaries(st.sampled_from(["t", "u", "v"]), st.lists(sets, min_size=1, max_size=6), max_size=3))
    return sites, topics


def _replicas(ids: list[int], first: int, distance: int, count: int) -> tuple[int, ...]:
    rest = ids[first:] + ids[:first]
    return (rest[0], *(rest[1:][distance:] + rest[1:][:distance])[: count - 1])


def layouts(topics: Topics) -> list[Layout]:
    return [Layout(name, sets) for name, sets in topics.items()]


def carried_out(topics: Topics, shifts: Sequence[Shift]) -> Topics:
    after = {name: list(sets) for name, sets in topics.items()}
    for shift in shifts:
        assert after[shift.topic][shift.number] == shift.before
        after[shift.topic][shift.number] = shift.after
    return after


def all_sets(topics: Topics) -> list[tuple[int, ...]]:
    return [replicas for sets in topics.values() for replicas in sets]


def loads(sites: Sequence[Site], topics: Topics) -> dict[int, int]:
    counts = Counter(replica for replicas in all_sets(topics) for replica in replicas)
    return {site.id: counts[site.id] for site in sites}


def leads(sites: Sequence[Site], topics: Topics) -> dict[int, int]:
    counts = Counter(replicas[0] for replicas in all_sets(topics))
    return {site.id: counts[site.id] for site in sites}


def crowding(sites: Sequence[Site], replicas: Sequence[int]) -> tuple[int, int]:
    """Pairs that share a rack, pairs that share a host."""
    by_id = {site.id: site for site in sites}
    pairs = [(by_id[one], by_id[other]) for one in replicas for other in replicas if one < other]
    racks = [(one, other) for one, other in pairs if (one.rack or "") == (other.rack or "")]
    return len(racks), len([1 for one, other in racks if one.host is not None and one.host == other.host])


def possible_moves(
    sites: Sequence[Site], topics: Topics, tolerance: float = 0
) -> list[tuple[tuple[int, ...], int, int]]:
    """What could still be made more even without standing closer together."""
    held = loads(sites, topics)
    takers = [site.id for site in sites if site.takes]
    enough = sum(held.values()) * (1 - tolerance) / len(sites) if tolerance else float("inf")
    return [
        (replicas, giver, taker)
        for replicas in all_sets(topics)
        for giver, taker in product(replicas, takers)
        if taker not in replicas
        and held[giver] >= held[taker] + 2
        and held[taker] < enough
        and crowding(sites, [taker if each == giver else each for each in replicas]) <= crowding(sites, replicas)
    ]


def check_moves(sites: Sequence[Site], shifts: Sequence[Shift]) -> None:
    takers = {site.id for site in sites if site.takes}
    for shift in shifts:
        assert len(shift.after) == len(shift.before), "a replica was lost"
        assert len(set(shift.after)) == len(shift.after), "two replicas on one node"
        assert set(shift.coming) <= takers
        assert crowding(sites, shift.after) <= crowding(sites, shift.before)


@given(clusters())
def test_a_plan_keeps_every_replica_and_leaves_nothing_to_improve(cluster: tuple[list[Site], Topics]) -> None:
    sites, topics = cluster
    planner = Planner(sites, Aim())
    shifts = planner.plan(layouts(topics))
    check_moves(sites, shifts)
    after = carried_out(topics, shifts)
    assert possible_moves(sites, after) == [], "it is not even yet"
    assert {**planner.loads} == loads(sites, after)
    assert {**planner.leads} == leads(sites, after)
    assert Planner(sites, Aim()).plan(layouts(after)) == [], "the next plan goes on moving"


@given(clusters())
def test_leaders_are_as_even_as_the_order_of_replicas_can_make_them(cluster: tuple[list[Site], Topics]) -> None:
    sites, topics = cluster
    after = carried_out(topics, Planner(sites, Aim()).plan(layouts(topics)))
    led = leads(sites, after)
    takers = {site.id for site in sites if site.takes}
    assert all(
        led[replicas[0]] < led[other] + 2 for replicas in all_sets(after) for other in replicas[1:] if other in takers
    )


@given(clusters(), st.sampled_from([0.0, 0.1, 0.3]))
def test_bunch_after_bunch_ends_and_never_goes_back(cluster: tuple[list[Site], Topics], tolerance: float) -> None:
    sites, topics = cluster
    aim = Aim(tolerance, copies_max=BUNCH, reorders_max=BUNCH)
    seen = [topics]
    for _ in range(ROUNDS_MAX):
        shifts = Planner(sites, aim).plan(layouts(topics))
        if not shifts:
            break
        check_moves(sites, shifts)
        assert sum(len(shift.coming) for shift in shifts) <= BUNCH
        before = sum(load**2 for load in loads(sites, topics).values())
        topics = carried_out(topics, shifts)
        after = sum(load**2 for load in loads(sites, topics).values())
        assert after < before or not any(shift.coming for shift in shifts)
        assert topics not in seen, "it was like that before"
        seen.append(topics)
    else:
        raise AssertionError("there is no end to it")
    assert possible_moves(sites, topics, tolerance) == []


@given(clusters())
def test_everything_leaves_a_broker_that_others_can_stand_in_for(cluster: tuple[list[Site], Topics]) -> None:
    sites, topics = cluster
    leaving = sites[0].id
    shifts = Planner(sites, Aim(), [leaving]).plan(layouts(topics))
    takers = {site.id for site in sites if site.takes} - {leaving}
    assert all(len(set(shift.after)) == len(shift.before) and leaving in shift.before for shift in shifts)
    assert all(set(shift.coming) <= takers for shift in shifts)
    for replicas in all_sets(carried_out(topics, shifts)):
        assert leaving not in replicas or takers <= set(replicas)


@given(clusters(), st.integers(1, 5))
def test_the_number_of_replicas_changes_as_far_as_there_are_brokers(
    cluster: tuple[list[Site], Topics], factor: int
) -> None:
    sites, topics = cluster
    planner = Planner(sites, Aim())
    planner.survey(layouts(topics))
    for replicas in all_sets(topics):
        after = planner.resize(replicas, factor)
        takers = {site.id for site in sites if site.takes} | set(replicas)
        assert after[0] == replicas[0]
        assert len(set(after)) == len(after) == min(factor, max(len(takers), len(replicas)))
        assert set(after) <= set(replicas) or set(replicas) <= set(after)


def regular(brokers: int, partitions: int, factor: int = 3) -> list[tuple[int, ...]]:
    return [tuple((start + each) % brokers + 1 for each in range(factor)) for start in range(partitions)]


@pytest.mark.parametrize(("partitions", "copies"), [(12, 9), (100, 75), (1, 0)])
def test_a_fourth_broker_gets_a_quarter_and_no_more_is_moved(partitions: int, copies: int) -> None:
    topics = {"t": regular(3, partitions)}
    sites = [Site(number) for number in (1, 2, 3, 4)]
    shifts = Planner(sites, Aim()).plan(layouts(topics))
    assert sum(len(shift.coming) for shift in shifts) == copies
    assert all(shift.coming in ((), (4,)) for shift in shifts)
    held = loads(sites, carried_out(topics, shifts))
    assert max(held.values()) - min(held.values()) <= 1
    led = leads(sites, carried_out(topics, shifts))
    assert max(led.values()) - min(led.values()) <= 1


def test_every_topic_gives_its_part() -> None:
    topics = {name: regular(3, 8) for name in ("a", "b", "c", "d")}
    sites = [Site(number) for number in (1, 2, 3, 4)]
    after = carried_out(topics, Planner(sites, Aim()).plan(layouts(topics)))
    assert [loads(sites, {name: sets})[4] for name, sets in after.items()] == [6, 6, 6, 6]


def test_within_the_tolerance_nothing_moves() -> None:
    topics = {"t": regular(4, 100)}
    topics["t"][0] = topics["t"][3] = topics["t"][7] = (1, 2, 3)
    sites = [Site(number) for number in (1, 2, 3, 4)]
    assert Planner(sites, Aim(tolerance=0.1)).plan(layouts(topics)) == []
    assert Planner(sites, Aim()).plan(layouts(topics)) != []


def test_a_broker_of_a_rack_takes_from_its_rack_only() -> None:
    sites = [Site(1, "a"), Site(2, "b"), Site(3, "c"), Site(4, "a")]
    topics = {"t": regular(3, 20)}
    held = loads(sites, carried_out(topics, Planner(sites, Aim()).plan(layouts(topics))))
    assert held == {1: 10, 2: 20, 3: 20, 4: 10}


def test_replicas_move_apart_only_when_asked_to() -> None:
    sites = [Site(1, "a"), Site(2, "a"), Site(3, "b")]
    topics = {"t": [(1, 2)], "u": [(3, 1)], "v": [(2, 3)]}
    assert Planner(sites, Aim()).plan(layouts(topics)) == []
    shifts = Planner(sites, Aim(improve_spread=True)).plan(layouts(topics))
    (moved,) = [shift for shift in shifts if shift.coming]
    assert (moved.topic, moved.coming) == ("t", (3,))


def test_what_is_considered_first_moves_first() -> None:
    sets = regular(3, 12)
    sites = [Site(number) for number in (1, 2, 3, 4)]
    order = list(reversed(range(12)))
    shifts = Planner(sites, Aim(copies_max=2)).plan([Layout("t", sets, order)])
    assert [shift.number for shift in shifts] == [11, 10]


def test_who_takes_nothing_gets_nothing() -> None:
    sites = [Site(1), Site(2), Site(3), Site(4, takes=False)]
    assert Planner(sites, Aim()).plan(layouts({"t": regular(3, 12)})) == []


def test_a_replica_never_goes_to_one_that_has_only_one_less() -> None:
    """The lightest has a replica of the first partition already, and the next one would gain nothing by it."""
    sites = [Site(1), Site(2), Site(3)]
    shifts = Planner(sites, Aim()).plan(layouts({"a": [(1, 3)], "b": [(1, 2)], "c": [(1, 2)]}))
    assert [(shift.topic, shift.going, shift.coming) for shift in shifts if shift.coming] == [("b", (1,), (3,))]
