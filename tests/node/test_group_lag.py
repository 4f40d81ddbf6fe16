"""How far groups are behind: known to the coordinator, whoever leads what they read."""

from __future__ import annotations

import pytest

from penstock.core.node.group_lag import ENDS_MAX, LOOK_MS, WANTED_MS, Ends, GroupLag
from penstock.core.node.links.purposes import ENDS
from penstock.core.wire.api.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest
from tests.node.controller.nodes import Nodes
from tests.node.test_coordinators import commit
from tests.node.world import World, produce


def test_a_group_is_behind_since_the_record_came_that_it_has_not_read() -> None:
    ends = Ends()
    for at_ms, offset in ((0, 10), (2_000, 10), (4_000, 30), (6_000, 50)):
        ends.saw(offset, at_ms)
    assert ends.behind_ms(5, 10_000) == 10_000, "at least since anybody looked"
    assert ends.behind_ms(10, 10_000) == 6_000
    assert ends.behind_ms(29, 10_000) == 6_000
    assert ends.behind_ms(30, 10_000) == 4_000
    assert ends.behind_ms(50, 10_000) == 0


def test_looks_of_the_past_are_bounded_and_reach_back_as_far_as_a_group_is_behind() -> None:
    ends = Ends()
    for number in range(1, 1_001):
        ends.saw(number, number * 1_000)
        assert len(ends._looks) <= ENDS_MAX
    for committed in (1, 500, 900):
        behind_ms = (1_000 - committed) * 1_000
        assert ends.behind_ms(committed, 1_000_000) == pytest.approx(behind_ms, abs=1_000_000 / 20)
    ends.forget_below(990)
    for number in range(1_001, 1_031):
        ends.saw(number, number * 1_000)
    assert ends.behind_ms(1_020, 1_030_000) == pytest.approx(10_000, abs=1_000), "what was read makes nothing coarse"


def test_a_partition_that_was_cut_begins_anew() -> None:
    ends = Ends()
    ends.saw(100, 0)
    ends.saw(60, 1_000)
    assert ends.offset == 60
    assert ends.behind_ms(50, 3_000) == 2_000


def test_a_group_catches_up_and_nobody_looks_who_is_not_asked() -> None:
    world = World()
    world.create("t")
    client = world.client()
    client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["readers"]), 4)
    lag = GroupLag(world.node)

    def now() -> list[tuple[str, int, int, int]]:
        world.turn(lag.want)
        world.settle()
        world.pass_time(LOOK_MS)
        return [(each.group_id, each.committed, each.records, each.behind_ms) for each in lag.lags()]

    client.ask(commit("readers", 1), 8)
    client.ask(produce("t", b"a", b"b", b"c", b"d"), 9)
    assert now() == [("readers", 1, 3, LOOK_MS)]
    client.ask(commit("readers", 4), 8)
    assert now() == [("readers", 4, 0, 0)]
    world.pass_time(WANTED_MS + 2 * LOOK_MS)
    assert list(lag.lags()) == [], "nobody has asked for long"


def test_leaders_elsewhere_are_asked() -> None:
    nodes = Nodes(**{"offsets.topic.num.partitions": "1", "offsets.topic.replication.factor": "1"})
    nodes.ask(1, FindCoordinatorRequest(key_type=0, coordinator_keys=["readers"]), version=4)
    nodes.wait(lambda: _has_coordinator(nodes))
    found = nodes.ask(1, FindCoordinatorRequest(key_type=0, coordinator_keys=["readers"]), version=4)
    coordinator = found.coordinators[0].node_id
    elsewhere = next(number for number in (1, 2, 3) if number != coordinator)
    placed = [CreatableReplicaAssignment(partition_index=0, broker_ids=[elsewhere])]
    wanted = CreatableTopic(name="t", num_partitions=-1, replication_factor=-1, assignments=placed)
    assert nodes.ask(1, CreateTopicsRequest(topics=[wanted], timeout_ms=20_000)).topics[0].error_code == 0
    nodes.wait(lambda: nodes.node(elsewhere).replicas.get("t", 0) is not None)
    nodes.wait(lambda: nodes.node(coordinator).image.topic("t") is not None)
    assert nodes.ask(elsewhere, produce("t", b"a", b"b"), version=9).responses[0].partition_responses[0].error_code == 0
    assert nodes.ask(coordinator, commit("readers", 0), version=8).topics[0].partitions[0].error_code == 0
    lag = GroupLag(nodes.node(coordinator))
    lag.want()
    nodes.wait(lambda: bool(list(lag.lags())))
    (only,) = lag.lags()
    assert (only.group_id, only.topic, only.committed, only.records) == ("readers", "t", 0, 2)
    assert any(purpose == ENDS for _, purpose in nodes.node(coordinator).links._links)


def _has_coordinator(nodes: Nodes) -> bool:
    return any(list(nodes.node(number).coordinators.groups) for number in (1, 2, 3))
