"""What new topics must be like, and how many partitions a tenant may have."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.image import BROKER_RESOURCE
from penstock.core.wire.api.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from tests.node.world import World
from tests.settings_act.trial import alter

VIOLATION, NONE = ErrorCode.POLICY_VIOLATION, ErrorCode.NONE
TENANTS = "penstock.tenants"


def a_world(name: str, value: str) -> World:
    world = World()
    assert alter(world, BROKER_RESOURCE, "", {name: value}) == NONE
    return world


def create(world: World, *wanted: tuple[str, int], copies: int = 1, validate_only: bool = False) -> list[int]:
    topics = [CreatableTopic(name=name, num_partitions=count, replication_factor=copies) for name, count in wanted]
    answer = world.client().ask(CreateTopicsRequest(topics=topics, timeout_ms=1000, validate_only=validate_only))
    codes: dict[str, int] = {topic.name: topic.error_code for topic in answer.topics}
    return [codes[name] for name, _ in wanted]


def grow(world: World, name: str, count: int) -> Any:
    topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
    return world.client().ask(CreatePartitionsRequest(topics=[topic], timeout_ms=1000)).results[0]


def test_a_tenant_has_so_many_partitions_and_no_more() -> None:
    world = a_world(TENANTS, "a:a.:10,b:b.:3")
    assert create(world, ("a.x", 6), ("a.y", 4), ("a.z", 1), ("b.x", 3), ("c", 100)) == [0, 0, VIOLATION, 0, 0]
    refused = grow(world, "b.x", 4)
    assert (refused.error_code, refused.error_message) == (VIOLATION, "Tenant b may have 3 partitions: 0 are left.")
    assert grow(world, "c", 101).error_code == NONE


def test_looking_takes_nothing_away() -> None:
    world = a_world(TENANTS, "a:a.:10")
    assert create(world, ("a.x", 10), validate_only=True) == [NONE]
    assert create(world, ("a.x", 10)) == [NONE]
    assert create(world, ("a.y", 1), validate_only=True) == [VIOLATION]


def test_a_tenant_whose_limit_is_lowered_keeps_what_it_has() -> None:
    world = a_world(TENANTS, "a:a.:10")
    assert create(world, ("a.x", 10)) == [NONE]
    assert alter(world, BROKER_RESOURCE, "", {TENANTS: "a:a.:5"}) == NONE
    assert "0 are left" in grow(world, "a.x", 11).error_message
    assert world.node.image.topic("a.x") is not None


@pytest.mark.parametrize("value", ["a", "a:b", "a:b:c", ":p:1", "a::1", "a:p:1,a:q:1", "a:p:1,b:pq:1", "a:pq:1,b:p:1"])
def test_tenants_that_cannot_be_are_refused(value: str) -> None:
    assert alter(World(), BROKER_RESOURCE, "", {TENANTS: value}) == ErrorCode.INVALID_REQUEST


def test_names_are_matched_from_end_to_end() -> None:
    world = a_world("penstock.policy.topic.name.pattern", "[a-z]+(-[a-z]+)*")
    assert create(world, ("orders", 1), ("orders-late", 1), ("Orders", 1), ("orders-", 1)) == [
        0,
        0,
        VIOLATION,
        VIOLATION,
    ]
    assert create(world, ("__ours", 1)) == [NONE]


def test_an_expression_that_is_none_is_refused() -> None:
    assert alter(World(), BROKER_RESOURCE, "", {"penstock.policy.topic.name.pattern": "("}) == ErrorCode.INVALID_REQUEST


def test_copies_and_partitions_have_bounds() -> None:
    world = a_world("penstock.policy.replication.factor.min", "2")
    assert create(world, ("t", 1)) == [VIOLATION]
    world = a_world("penstock.policy.topic.partitions.max", "4")
    assert create(world, ("t", 4), ("u", 5)) == [NONE, VIOLATION]
    assert grow(world, "t", 5).error_code == VIOLATION
