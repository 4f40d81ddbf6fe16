"""What a node of a cluster answers to the question whether clients should be sent to it."""

from __future__ import annotations

from penstock.core.node.health_check import health
from tests.node.controller.nodes import NODES, Nodes


def reasons(cluster: Nodes, number: int) -> list[str]:
    found = health(cluster.node(number))
    assert found["ready"] is not bool(found["reasons"])
    return list(found["reasons"])


def test_a_node_that_is_left_alone_says_that_there_is_no_quorum_until_there_is_one() -> None:
    cluster = Nodes()
    alone, *others = NODES
    assert [reasons(cluster, each) for each in NODES] == [[], [], []]
    for each in others:
        cluster.world.sites[each].pause()
    cluster.wait(lambda: bool(reasons(cluster, alone)))
    assert reasons(cluster, alone) == [
        "there is no quorum: no controller is elected; a majority of the controllers (nodes 1, 2, 3) must run"
    ]
    for each in others:
        cluster.world.sites[each].resume()
    cluster.wait(lambda: not any(reasons(cluster, each) for each in NODES))


def test_a_broker_that_was_away_for_too_long_says_that_it_is_fenced() -> None:
    cluster = Nodes()
    victim = cluster.other
    cluster.world.sites[victim].pause()
    cluster.wait(lambda: cluster.node(cluster.controller).image.brokers[victim].fenced)
    cluster.world.sites[victim].resume()
    cluster.wait(
        lambda: "this broker is fenced: the controller does not let it lead or be in sync" in reasons(cluster, victim)
    )
    cluster.wait(lambda: not reasons(cluster, victim))


def test_a_full_disk_is_a_reason() -> None:
    cluster = Nodes()
    cluster.node(1).disk_full = True
    assert reasons(cluster, 1) == ["the disk of /data is full: writes are refused until there is room again"]
