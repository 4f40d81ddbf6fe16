"""What a request passes before its handler: who asks, whether it may, and for how long its client must rest."""

from __future__ import annotations

import struct
from functools import partial
from typing import Any

import pytest

from penstock.core.apis.table import load_apis
from penstock.core.base.errors import ErrorCode
from penstock.core.node.serving.access import CLUSTER_NAME, Operation, Resource
from penstock.core.node.serving.api import Api
from penstock.core.node.serving.context import Principal, RequestContext
from penstock.core.node.serving.dispatching import Dispatcher
from penstock.core.node.serving.gates import Anonymous, Asked, Unlimited
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.api_versions import ApiVersionsRequest
from penstock.core.wire.api.envelope import EnvelopeRequest
from penstock.core.wire.api.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from penstock.core.wire.api.metadata import MetadataRequest
from penstock.core.wire.api.produce import ProduceRequest
from penstock.core.wire.frames import encode_request_header, parse_response_header
from penstock.core.wire.refusals import codes_in
from penstock.core.wire.schema import Request
from penstock.core.wire.stored.principal import DefaultPrincipalData
from tests.apis.test_refusals import sample
from tests.node.world import Client, World, produce

ALICE = Principal("User", "alice")
PRODUCE = ProduceRequest.KEY


class Strangers(Anonymous):
    """An authenticator that nobody has answered yet."""

    def principal(self, listener: str, address: str, certified: str | None) -> Principal | None:
        return None

    def frame_bytes_max(self, listener: str) -> int:
        return 100_000


class Forbids:
    """An authorizer that allows all but some, and keeps what it was asked."""

    def __init__(self, *forbidden: tuple[Operation, Resource, str]) -> None:
        self.forbidden = forbidden
        self.asked: list[tuple[RequestContext, Operation, Resource, str]] = []

    def allows(self, context: RequestContext, operation: Operation, resource: Resource, name: str) -> bool:
        self.asked.append((context, operation, resource, name))
        return (operation, resource, name) not in self.forbidden

    def allows_some(self, context: RequestContext, operation: Operation, resource: Resource) -> bool:
        return True

    @property
    def edition(self) -> object:
        return self


class Rests(Unlimited):
    """A quota manager that lets whoever uses some API rest."""

    def __init__(self, key: int, throttle_ms: int) -> None:
        self.key = key
        self.ms = throttle_ms
        self.bytes = 0

    def throttle_ms(self, context: RequestContext, api: Asked, size_bytes: int) -> int:
        self.bytes += size_bytes
        return self.ms if api.key == self.key else 0


def a_world(**gates: Any) -> World:
    world = World()
    world.create("t")
    world.node.gates = world.node.gates._replace(**gates)
    return world


def on_both_ways(world: World) -> list[Client]:
    """A client whose produce requests take the fast path, and one whose do not."""
    api = world.node.apis[PRODUCE]
    fast = world.client()
    world.instead[PRODUCE] = Api(api.request, api.versions, api.handle, api.touches)
    return [fast, world.client()]


def test_a_stranger_may_ask_for_versions_only() -> None:
    world = a_world(authenticator=Strangers())
    client = world.client()
    assert client.ask(ApiVersionsRequest(client_software_name="c", client_software_version="1")).error_code == 0
    assert not client.connection.closing
    client.send(MetadataRequest())
    assert client.connection.closing
    assert not client.replies()
    assert "before it was known who asks" in world.notes[-1][1]
    stranger = world.client()
    stranger.send(produce("t", b"v"), 9)
    assert stranger.connection.closing, "no fast path leads past the gate"
    assert world.node.replicas.get("t", 0).log.end_offset == 0


def test_who_has_said_who_asks_is_that_from_then_on() -> None:
    world = a_world(authenticator=Strangers(), authorizer=(authorizer := Forbids()))
    client = world.client("10.0.0.7")
    client.connection.authenticate(ALICE)
    assert client.ask(produce("t", b"v"), 9).responses[0].partition_responses[0].error_code == 0
    context = RequestContext(ALICE, "PLAINTEXT", "10.0.0.7", "test")
    assert authorizer.asked == [(context, Operation.WRITE, Resource.TOPIC, "t")]


OF_THE_CLUSTER = [
    api
    for api in load_apis().values()
    if api.touches and all(each.resource is Resource.CLUSTER for each in api.touches) and not api.touches[0].unless
]


@pytest.mark.parametrize("api", OF_THE_CLUSTER, ids=lambda api: api.name)
def test_what_is_about_the_cluster_alone_is_refused_before_its_handler(api: Api[Any]) -> None:
    (touches,) = api.touches
    world = a_world(authorizer=Forbids((touches.operation, Resource.CLUSTER, CLUSTER_NAME)))
    client = world.client()
    for version in api.versions:
        request, slot = sample(api.request, version), a_slot(client, api, version)
        answer = world.node.dispatcher.answer(request, slot, 100)
        assert ErrorCode.CLUSTER_AUTHORIZATION_FAILED in codes_in(answer)


def a_slot(client: Client, api: Api[Any], version: int) -> Slot:
    return Slot(client.connection, api, version, 1, client.connection.context, 0)


def test_both_ways_of_a_produce_request_pass_the_authorizer() -> None:
    world = a_world(authorizer=Forbids((Operation.WRITE, Resource.TOPIC, "t")))
    for client in on_both_ways(world):
        result = client.ask(produce("t", b"v"), 9).responses[0].partition_responses[0]
        assert result.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    world.node.gates = world.node.gates._replace(
        authorizer=Forbids((Operation.WRITE, Resource.TRANSACTIONAL_ID, "mine"))
    )
    for client in on_both_ways(world):
        request = produce("t", b"v")
        request.transactional_id = "mine"
        result = client.ask(request, 9).responses[0].partition_responses[0]
        assert result.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert world.node.replicas.get("t", 0).log.end_offset == 0


def test_an_envelope_is_judged_by_who_sent_what_is_in_it() -> None:
    """The broker in between may forward; whether its client may do what it asks is another question."""
    world = a_world(authorizer=(authorizer := Forbids()))
    answer = enveloped(world)
    assert answer.error_code == ErrorCode.NONE
    (broker, *_), (context, *asked) = authorizer.asked
    assert broker.address == "10.0.0.1"
    assert context == RequestContext(ALICE, "PLAINTEXT", "10.0.0.9", "alices-tool", is_forwarded=True)
    assert asked == [Operation.DESCRIBE, Resource.CLUSTER, CLUSTER_NAME]
    world.node.gates = world.node.gates._replace(
        authorizer=Forbids((Operation.DESCRIBE, Resource.CLUSTER, CLUSTER_NAME))
    )
    assert enveloped(world).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def enveloped(world: World) -> Any:
    """What the controller says to a request of Alice's that a broker forwards."""
    client, api = world.client(), world.node.apis[EnvelopeRequest.KEY]
    client.connection.apis = {**client.connection.apis, api.key: api}
    request: Request = ListPartitionReassignmentsRequest(timeout_ms=1000, topics=None)
    envelope = EnvelopeRequest(
        request_data=encode_request_header(request.KEY, 0, 7, "alices-tool") + request.encode(0),
        request_principal=struct.pack(">h", 0) + DefaultPrincipalData(type="User", name="alice").encode(0),
        client_host_address=bytes((10, 0, 0, 9)),
    )
    outer = client.ask(envelope)
    assert outer.error_code == ErrorCode.NONE
    _, position = parse_response_header(outer.response_data, request.KEY, 0)
    return ListPartitionReassignmentsResponse.decode(outer.response_data, 0, position)


@pytest.mark.parametrize("version", [3, 8, 9, 12])
def test_who_is_over_its_quota_is_told_so_and_not_listened_to_for_as_long(version: int) -> None:
    world = a_world(quotas=(quotas := Rests(PRODUCE, 700)))
    sent_bytes = 0
    for client in on_both_ways(world):
        frames = [client.frame(produce("t", b"v"), version), client.frame(MetadataRequest())]
        sent_bytes += sum(map(len, frames)) - 2 * 4
        world.turn(partial(client.connection.feed, b"".join(frames)))
        (answer,) = client.replies()
        assert answer.throttle_time_ms == 700
        assert answer.responses[0].partition_responses[0].error_code == 0
        assert not client.connection.reading
        world.pass_time(699)
        assert not client.replies()
        world.pass_time(1)
        (answer,) = client.replies()
        assert answer.brokers
        assert client.connection.reading
    assert quotas.bytes == sent_bytes


def test_who_rests_is_told_so_where_a_reply_waits_too() -> None:
    world = a_world(quotas=Rests(PRODUCE, 700))
    for client in on_both_ways(world):
        world.hold()
        world.turn(partial(client.connection.feed, client.frame(produce("t", b"v"), 9)))
        assert not client.replies()
        world.release()
        assert [answer.throttle_time_ms for answer in client.replies()] == [700]
        world.pass_time(700)
        assert client.connection.reading


def test_a_client_that_goes_while_it_rests_leaves_nothing_behind() -> None:
    world = a_world(quotas=Rests(PRODUCE, 700))
    client = world.client()
    client.send(produce("t", b"v"), 9)
    client.close()
    world.pass_time(1000)
    assert client.connection not in world.node.connections


def test_the_dispatcher_asks_in_order() -> None:
    """Nobody learns from a quota whether something is allowed, and nothing is done before both have been asked."""
    order: list[str] = []

    class Gate(Unlimited):
        def allows(self, *_: Any) -> bool:
            order.append("authorize")
            return True

        def allows_some(self, *_: Any) -> bool:
            return True

        @property
        def edition(self) -> object:
            return self

        def throttle_ms(self, *_: Any) -> int:
            order.append("throttle")
            return 0

    world = a_world(authorizer=Gate(), quotas=Gate())
    api = world.node.apis[ListPartitionReassignmentsRequest.KEY]

    def handle(*arguments: Any) -> Any:
        order.append("handle")
        return api.handle(*arguments)

    instead: Api[Any] = Api(api.request, api.versions, handle, api.touches)
    client = world.client()
    dispatcher: Dispatcher[Any] = world.node.dispatcher
    dispatcher.answer(sample(api.request, 0), a_slot(client, instead, 0), 100)
    assert order == ["authorize", "throttle", "handle"]
