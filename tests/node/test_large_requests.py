"""A request with many elements gets a turn of its own, others are served between two of them, and one with too many
closes its connection."""

from __future__ import annotations

from typing import Any

from penstock.core.node.serving.limits import ELEMENTS_PER_TURN_MAX, NAMED_ELEMENTS_MAX
from penstock.core.wire.api.api_versions import ApiVersionsRequest
from penstock.core.wire.api.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from penstock.core.wire.api.describe_groups import DescribeGroupsRequest
from penstock.core.wire.api.metadata import MetadataRequest, MetadataRequestTopic
from penstock.core.wire.schema import Request
from tests.node.world import Client, World


def groups(count: int) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(groups=[f"g-{number}" for number in range(count)])


def large(world: World, client: Client, request: Request) -> Any:
    client.send(request)
    world.pass_time(0)
    (answer,) = client.replies()
    return answer


def test_too_many_elements_close_their_connection_only() -> None:
    world = World()
    hostile, good = world.client(), world.client()
    hostile.send(groups(NAMED_ELEMENTS_MAX + 1))
    world.pass_time(0)
    assert hostile.connection.closing
    assert world.node.metrics.malformed == 1
    assert len(large(world, good, groups(NAMED_ELEMENTS_MAX)).groups) == NAMED_ELEMENTS_MAX


def test_a_bound_below_a_turn_s_share_acts() -> None:
    world = World({"penstock.request.elements.max": "1000"})
    client = world.client()
    assert len(large(world, client, groups(1_000)).groups) == 1_000
    client.send(groups(1_001))
    world.pass_time(0)
    assert client.connection.closing


def test_answers_of_large_and_small_requests_keep_their_order() -> None:
    world = World()
    client = world.client()
    asked = [groups(1), groups(ELEMENTS_PER_TURN_MAX + 1), groups(2), groups(ELEMENTS_PER_TURN_MAX + 2), groups(3)]
    frames = b"".join(client.frame(each) for each in asked)
    world.turn(lambda: client.connection.feed(frames))
    world.pass_time(0)
    assert [len(each.groups) for each in client.replies()] == [len(each.groups) for each in asked]


def test_a_small_request_of_another_does_not_wait_for_a_large_one() -> None:
    world = World()
    hostile, good = world.client(), world.client()
    hostile.send(groups(ELEMENTS_PER_TURN_MAX + 1))
    assert not hostile.replies()
    good.send(ApiVersionsRequest(client_software_name="x", client_software_version="1"))
    assert len(good.replies()) == 1
    world.pass_time(0)
    assert len(hostile.replies()) == 1


def test_what_is_named_again_is_answered_once() -> None:
    world = World()
    world.create("t")
    topics = [MetadataRequestTopic(name="t")] * 100
    assert len(world.client().ask(MetadataRequest(topics=topics)).topics) == 1
    resources = [DescribeConfigsResource(resource_type=2, resource_name="t", configuration_keys=None)] * 100
    assert len(large(world, world.client(), DescribeConfigsRequest(resources=resources)).results) == 1


def test_many_topics_are_described_over_several_turns() -> None:
    world = World()
    resources = [DescribeConfigsResource(resource_type=2, resource_name=f"t-{number}") for number in range(300)]
    answer = large(world, world.client(), DescribeConfigsRequest(resources=resources))
    assert [each.resource_name for each in answer.results] == [each.resource_name for each in resources]
