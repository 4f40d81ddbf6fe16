"""Placement: apart by rack, then by host, then by broker; evenly; never led by somebody who is fenced."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.brokers import BrokerImage
from penstock.core.metadata.placement import Placer, check_assignment


def broker(broker_id: int, rack: str | None = None, host: str | None = None, *, fenced: bool = False) -> BrokerImage:
    return BrokerImage(broker_id, 0, b"", (), rack=rack, host=host, fenced=fenced)


def regular(racks: int, hosts: int, nodes: int) -> list[BrokerImage]:
    """Racks of equally many hosts of equally many brokers."""
    places = list(product(range(racks), range(hosts), range(nodes)))
    return [broker(number, f"r{rack}", f"h{rack}.{host}") for number, (rack, host, _) in enumerate(places)]


BROKERS = st.lists(
    st.tuples(st.sampled_from([None, "a", "b", "c"]), st.sampled_from([None, "x", "y", "z"]), st.booleans()),
    min_size=1,
    max_size=9,
).map(lambda sites: [broker(number, rack, host, fenced=fenced) for number, (rack, host, fenced) in enumerate(sites)])


def spread(counts: Counter[int], members: list[int]) -> int:
    found = [counts[member] for member in members]
    return max(found) - min(found)


@given(BROKERS, st.integers(1, 5), st.integers(1, 12), st.integers(0, 20))
def test_no_two_replicas_stand_together_while_there_is_another_place(
    brokers: list[BrokerImage], factor: int, partitions: int, start: int
) -> None:
    by_id = {each.id: each for each in brokers}
    unfenced = [each.id for each in brokers if not each.fenced]
    placer = Placer(brokers, start)
    if not unfenced or factor > len(brokers):
        with pytest.raises(ApiError, match="INVALID_REPLICATION_FACTOR"):
            placer.place(partitions, factor)
        return
    for replicas in placer.place(partitions, factor):
        assert len(set(replicas)) == factor
        assert not by_id[replicas[0]].fenced
        racks = Counter(by_id[replica].rack for replica in replicas)
        sizes = Counter(each.rack for each in brokers)
        for rack, count in racks.items():
            # A rack has one more than another only if the other is full.
            assert all(count <= racks[other] + 1 or racks[other] == sizes[other] for other in sizes if other != rack)
            _check_hosts(brokers, rack, [by_id[replica] for replica in replicas if by_id[replica].rack == rack])


def _check_hosts(brokers: list[BrokerImage], rack: str | None, chosen: list[BrokerImage]) -> None:
    def host(each: BrokerImage) -> str:
        return f"broker {each.id}" if each.host is None else each.host

    sizes = Counter(host(each) for each in brokers if each.rack == rack)
    counts = Counter(host(each) for each in chosen)
    for name, count in counts.items():
        assert all(count <= counts[other] + 1 or counts[other] == sizes[other] for other in sizes if other != name)


@given(st.integers(1, 12), st.integers(1, 5), st.integers(1, 40), st.integers(0, 20))
def test_brokers_that_are_alike_get_equally_much(count: int, factor: int, partitions: int, start: int) -> None:
    members = list(range(count))
    placed = list(Placer([broker(member) for member in members], start).place(partitions, min(factor, count)))
    assert spread(Counter(replica for replicas in placed for replica in replicas), members) <= 1
    assert spread(Counter(replicas[0] for replicas in placed), members) <= 1


def test_regular_clusters_are_loaded_evenly() -> None:
    """Leaders always differ by at most one; replicas do too but for a few layouts at a few sizes."""
    layouts = uneven = 0
    for racks, hosts, nodes in product(range(1, 4), range(1, 4), range(1, 4)):
        brokers = regular(racks, hosts, nodes)
        members = [each.id for each in brokers]
        for factor in range(1, min(5, len(members)) + 1):
            layouts += 1
            replicas, leaders, worst = Counter[int](), Counter[int](), 0
            for placed in Placer(brokers, factor).place(2 * len(members) + 1, factor):
                replicas.update(placed)
                leaders[placed[0]] += 1
                assert spread(leaders, members) <= 1
                worst = max(worst, spread(replicas, members))
            assert worst <= 2
            uneven += worst > 1
    print(f"\n{uneven} of {layouts} regular layouts had replica counts that differed by two at some size")
    assert uneven <= layouts // 50


def test_what_a_broker_led_is_shared_by_many() -> None:
    heirs: dict[int, Counter[int]] = {}
    for replicas in Placer([broker(number) for number in range(6)], 0).place(120, 3):
        heirs.setdefault(replicas[0], Counter())[replicas[1]] += 1
    assert all(len(found) >= 3 and max(found.values()) <= 10 for found in heirs.values()), heirs


def test_partitions_that_are_added_go_where_the_topic_has_least() -> None:
    placed = list(Placer([broker(1), broker(2), broker(3)], 0, [[1, 2], [1, 2]]).place(2, 2))
    counts = Counter(replica for replicas in [*placed, [1, 2], [1, 2]] for replica in replicas)
    assert counts[3] == 2
    assert placed[0][0] == 3


def test_a_broker_that_shuts_down_or_is_full_takes_nothing() -> None:
    leaving = BrokerImage(1, 0, b"", (), fenced=False, in_controlled_shutdown=True)
    full = BrokerImage(2, 0, b"", (), fenced=False, directories=(b"d",), cordoned=(b"d",))
    assert list(Placer([leaving, full, broker(3)], 0).place(2, 1)) == [[3], [3]]
    with pytest.raises(ApiError, match="only 1 broker"):
        Placer([leaving, full, broker(3)], 0).place(1, 2)
    with pytest.raises(ApiError, match="fenced or in controlled shutdown"):
        Placer([leaving], 0).place(1, 1)


@pytest.mark.parametrize(
    ("replicas", "expected", "words"),
    [
        ([], None, "empty replica list"),
        ([1, 1], None, "more than once"),
        ([1, 9], None, "no such broker"),
        ([1, 2], 3, "not consistent"),
        ([3], None, "cordoned"),
    ],
)
def test_a_manual_assignment_must_make_sense(replicas: list[int], expected: int | None, words: str) -> None:
    full = BrokerImage(3, 0, b"", (), directories=(b"d",), cordoned=(b"d",))
    with pytest.raises(ApiError, match=words) as refused:
        check_assignment(replicas, {1: broker(1), 2: broker(2), 3: full}, expected)
    assert refused.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
