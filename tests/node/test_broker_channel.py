"""A broker asks a broker by its id: another one, itself, one that is gone, one that never was."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.node.links.purposes import MARKERS, VERIFY
from penstock.core.wire.api.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from penstock.core.wire.api.list_groups import ListGroupsRequest, ListGroupsResponse
from penstock.core.wire.api.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from penstock.core.wire.schema import Request, Response
from penstock.sim.cluster import ClusterNodes
from tests.node.towns import Town

EPOCH = OffsetForLeaderEpochRequest(
    topics=[
        OffsetForLeaderTopic(topic="t", partitions=[OffsetForLeaderPartition(partition=0, leader_epoch=0)]),
    ]
)


def town_of(machines: int = 3) -> Town:
    town = Town(machines, ClusterNodes(machines))
    town.boot(*range(1, machines + 1))
    town.wait(lambda: all(len(town.node(each).image.brokers) == machines for each in range(1, machines + 1)))
    return town


def send(town: Town, by: int, to: int, request: Request, timeout_ms: int | None = None) -> Response | ErrorCode:
    answers: list[Response | ErrorCode] = []
    node, site, is_inside = town.node(by), town.world.sites[by], True

    def then(answer: Response | ErrorCode) -> None:
        assert not is_inside, "the asker is told inside its own call"
        answers.append(answer)

    def ask() -> None:
        nonlocal is_inside
        node.cluster.brokers.send(to, VERIFY, request, then, timeout_ms)
        is_inside = False

    site.machine.turn(lambda _: ask())
    town.wait(lambda: bool(answers))
    town.pass_time(1)
    assert len(answers) == 1
    return answers[0]


def test_a_broker_is_asked_by_its_id() -> None:
    town = town_of()
    assert town.create(1, "t", 3) == ErrorCode.NONE
    for to in (1, 2, 3):
        assert isinstance(send(town, 1, to, EPOCH), OffsetForLeaderEpochResponse)


def test_a_broker_that_asks_itself_dials_nobody() -> None:
    town = town_of(1)
    assert isinstance(send(town, 1, 1, DescribeClusterRequest()), DescribeClusterResponse)
    assert isinstance(send(town, 1, 1, ListGroupsRequest()), ListGroupsResponse)


def test_nobody_is_told_by_a_code() -> None:
    town = town_of()
    assert send(town, 1, 77, EPOCH) is ErrorCode.BROKER_NOT_AVAILABLE
    town.world.sites[3].machine.crash()
    assert send(town, 1, 3, EPOCH, timeout_ms=2_000) is ErrorCode.NETWORK_EXCEPTION


def test_purposes_do_not_wait_for_each_other() -> None:
    town, answers = town_of(), list[Response | ErrorCode]()
    node = town.node(1)

    def ask() -> None:
        for purpose in (MARKERS, VERIFY):
            for _ in range(100):
                node.cluster.brokers.send(2, purpose, EPOCH, answers.append)

    town.world.sites[1].machine.turn(lambda _: ask())
    town.wait(lambda: len(answers) == 200)
    assert all(isinstance(answer, OffsetForLeaderEpochResponse) for answer in answers)
