"""Clients push metrics of their own (KIP-714): what they are asked for, when they may, and what becomes of it."""

from __future__ import annotations

import struct
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.steps import at_once
from penstock.core.metadata.client_metrics import ClientFacts, Subscription, subscription, wanted
from penstock.core.metadata.configs import APPEND, DELETE, SET
from penstock.core.metadata.image import CLIENT_METRICS_RESOURCE
from penstock.core.node.observing.otlp import FIELDS_MAX, POINTS_MAX, NotTelemetry, Point, points
from penstock.core.node.observing.telemetry import INSTANCES_MAX, SERIES_PER_CLIENT_MAX, ClientTelemetry
from penstock.core.records.codecs import Codec, compress
from penstock.core.wire.api.api_versions import ApiVersionsRequest
from penstock.core.wire.api.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from penstock.core.wire.api.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from penstock.core.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.core.wire.api.push_telemetry import PushTelemetryRequest
from penstock.shell.exposition.rendering import Exposition
from tests.node.world import Client, World

FACTS = ClientFacts("id", "orders-1", "librdkafka", "2.16.0", "10.0.0.1", "40000")
NONE = ErrorCode.NONE


# A Protobuf writer, as small as can be.


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: bytes | int | float) -> bytes:
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    return varint(number << 3) + varint(value)


def attribute(key: str, text: str) -> bytes:
    return field(7, field(1, key.encode()) + field(2, field(1, text.encode())))


def gauge(name: str, value: float, *attributes: bytes) -> bytes:
    return field(1, name.encode()) + field(3, b"ms") + field(5, field(1, field(4, value) + b"".join(attributes)))


def total(name: str, value: int, temporality: int, monotonic: int = 1) -> bytes:
    point = varint(6 << 3 | 1) + struct.pack("<q", value)
    return field(1, name.encode()) + field(7, field(1, point) + field(2, temporality) + field(3, monotonic))


def pushed(*metrics: bytes) -> bytes:
    scope = field(1, b"") + b"".join(field(2, each) for each in metrics)
    return field(1, field(1, b"") + field(2, scope))


def read(data: bytes) -> list[Point]:
    found: list[Point] = at_once(points(memoryview(data)))
    return found


def test_gauges_and_sums_are_read() -> None:
    data = pushed(gauge("lag", 2.5, attribute("topic", "t")), total("sent", 7, 2), total("delta", -7, 1, 0))
    assert read(data) == [
        Point("lag", (("topic", "t"),), 2.5, False, False),
        Point("sent", (), 7, True, False),
        Point("delta", (), -7, False, True),
    ]


def test_what_is_cut_off_or_no_protobuf_is_refused_and_costs_little() -> None:
    data = pushed(gauge("lag", 2.5, attribute("topic", "t")), total("sent", 7, 2))
    for end in range(1, len(data)):
        with pytest.raises(NotTelemetry):
            read(data[:end])
    with pytest.raises(NotTelemetry):
        read(b"\xff" * 100)
    with pytest.raises(NotTelemetry):
        read(field(9, 1) * (FIELDS_MAX + 1))
    assert len(read(pushed(*[gauge(f"m{number}", 1.0) for number in range(POINTS_MAX + 50)]))) == POINTS_MAX


@pytest.mark.parametrize("seed", range(200))
def test_any_bytes_are_read_or_refused(seed: int) -> None:
    random, data = Random(seed), bytearray(pushed(gauge("lag", 2.5, attribute("topic", "t")), total("sent", 7, 2)))
    for _ in range(random.randrange(1, 6)):
        data[random.randrange(len(data))] = random.randrange(256)
    with suppress(NotTelemetry):
        read(bytes(data))


# What is asked for


def test_all_subscriptions_that_fit_count_together() -> None:
    java = subscription(
        "java", {"match": "client_software_name=apache-kafka-java", "metrics": "a", "interval.ms": "100"}
    )
    rd = subscription("rd", {"match": "client_software_name=lib.*,client_id=orders-[0-9]", "metrics": "b,c"})
    often = subscription("often", {"metrics": "d", "interval.ms": "1000"})
    assert wanted([java, rd, often], FACTS) == (("b", "c", "d"), 1_000)
    assert wanted([java, rd], FACTS) == (("b", "c"), 300_000)
    assert wanted([rd, subscription("all", {"metrics": "*"})], FACTS).metrics == ("*",)
    assert wanted([], FACTS) == ((), 300_000)
    assert not rd.fits(FACTS._replace(client_id="orders-12")), "from end to end"


# In a node


def alter(world: World, *operations: tuple[int, str, str | None], name: str = "all") -> int:
    configs = [AlterableConfig(name=key, config_operation=each, value=value) for each, key, value in operations]
    resource = AlterConfigsResource(resource_type=CLIENT_METRICS_RESOURCE, resource_name=name, configs=configs)
    answer = world.client().ask(IncrementalAlterConfigsRequest(resources=[resource]))
    return int(answer.responses[0].error_code)


def subscribed(interval_ms: int = 10_000) -> tuple[World, Client]:
    world = World()
    assert alter(world, (SET, "metrics", "org.apache.kafka"), (SET, "interval.ms", str(interval_ms))) == NONE
    client = world.client()
    client.ask(ApiVersionsRequest(client_software_name="test", client_software_version="1.0"), 4)
    return world, client


def asked(client: Client, instance_id: bytes = bytes(16)) -> Any:
    return client.ask(GetTelemetrySubscriptionsRequest(client_instance_id=instance_id))


def push(client: Client, known: Any, data: bytes = b"", codec: int = 0, *, last: bool = False, add: int = 0) -> int:
    request = PushTelemetryRequest(
        client_instance_id=known.client_instance_id,
        subscription_id=known.subscription_id + add,
        terminating=last,
        compression_type=codec,
        metrics=data,
    )
    return int(client.ask(request).error_code)


def told(world: World, start: str = "org_apache_kafka") -> list[str]:
    text = b"".join(at_once(Exposition(world.node).render(is_full=True))).decode()
    return [line for line in text.splitlines() if line.startswith(start)]


@pytest.mark.parametrize("codec", Codec)
def test_what_a_client_pushes_is_told(codec: Codec) -> None:
    world, client = subscribed()
    known = asked(client)
    assert (known.error_code, known.push_interval_ms) == (NONE, 10_000)
    assert known.requested_metrics == ["org.apache.kafka"]
    assert known.accepted_compression_types == [4, 3, 1, 2]
    assert known.telemetry_max_bytes == 1 << 20
    data = pushed(gauge("org.apache.kafka.producer.x", 1.5, attribute("topic", "t")), total("org.apache.kafka.y", 3, 2))
    packed = data if codec is Codec.NONE else bytes(compress(codec, data))
    assert push(client, known, packed, codec) == NONE
    (x, y) = told(world)
    assert x.startswith("org_apache_kafka_producer_x{")
    assert x.endswith(" 1.5")
    for label in ('topic="t"', 'client_software="test 1.0"'):
        assert label in x
    assert y.startswith("org_apache_kafka_y_total{")
    assert y.endswith(" 3")


def test_the_apis_are_advertised_while_somebody_has_subscribed() -> None:
    world = World()
    ask = ApiVersionsRequest(client_software_name="test", client_software_version="1.0")

    def advertised() -> set[int]:
        return {each.api_key for each in world.client().ask(ask, 4).api_keys} & {71, 72}

    assert advertised() == set()
    assert alter(world, (SET, "metrics", "*")) == NONE
    assert advertised() == {71, 72}
    assert alter(world, (DELETE, "metrics", None)) == NONE
    assert advertised() == set()


def test_differences_add_up() -> None:
    world, client = subscribed()
    known = asked(client)
    for _ in range(3):
        assert push(client, known, pushed(total("org.apache.kafka.y", 3, 1))) == NONE
        world.pass_time(10_000)
    (y,) = told(world)
    assert y.endswith(" 9")


def test_each_mistake_has_its_code() -> None:
    world, client = subscribed()
    known = asked(client)
    assert asked(client, known.client_instance_id).error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert push(client, known, add=1) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert asked(client, known.client_instance_id).error_code == NONE, "who was told so asks anew at once"
    assert push(client, known) == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    world.pass_time(10_000)
    assert push(client, known, codec=9) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    world.pass_time(10_000)
    assert push(client, known, b"x" * ((1 << 20) + 1)) == ErrorCode.TELEMETRY_TOO_LARGE
    world.pass_time(10_000)
    bomb = bytes(compress(Codec.GZIP, bytes(2 << 20)))
    assert push(client, known, bomb, Codec.GZIP) == ErrorCode.TELEMETRY_TOO_LARGE
    world.pass_time(10_000)
    assert push(client, known, b"\xff\xff") == ErrorCode.INVALID_RECORD
    world.pass_time(10_000)
    assert push(client, known, b"garbage", Codec.ZSTD) == ErrorCode.INVALID_RECORD
    assert push(client, known, last=True) == NONE, "the last may come at any time"
    assert push(client, known) == ErrorCode.INVALID_REQUEST, "and nothing after it"
    for reserved in (0, 1):
        request = PushTelemetryRequest(client_instance_id=reserved.to_bytes(16, "big"), metrics=b"")
        assert client.ask(request).error_code == ErrorCode.INVALID_REQUEST
    refused = world.node.metrics.telemetry.refused
    assert (refused["UNKNOWN_SUBSCRIPTION_ID"], refused["TELEMETRY_TOO_LARGE"]) == (1, 2)


def test_another_subscription_asks_for_something_else_at_once() -> None:
    world, client = subscribed()
    known = asked(client)
    assert alter(world, (SET, "metrics", "other"), name="more") == NONE
    again = asked(client, known.client_instance_id)
    assert (again.error_code, again.requested_metrics) == (NONE, ["org.apache.kafka", "other"])
    assert again.subscription_id != known.subscription_id
    assert push(client, known) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID


def test_who_goes_takes_what_he_said_along() -> None:
    world, client = subscribed()
    assert push(client, asked(client), pushed(total("org.apache.kafka.y", 3, 2))) == NONE
    assert len(told(world)) == 1
    world.turn(client.connection.closed)
    assert told(world) == []
    assert world.node.metrics.telemetry._series == 0


def test_clients_and_their_numbers_are_bounded() -> None:
    telemetry = ClientTelemetry()
    telemetry.subscribe([Subscription("all", ("*",), 1_000, ())])
    first = telemetry.meet(b"first", FACTS, 0)
    for number in range(SERIES_PER_CLIENT_MAX + 5):
        telemetry._keep(first, Point(f"m{number}", (), 1.0, False, False))
    assert len(first.numbers) == telemetry._series == SERIES_PER_CLIENT_MAX
    for number in range(INSTANCES_MAX):
        telemetry.meet(number.to_bytes(16, "big"), FACTS, 1)
    assert len(telemetry.instances) == INSTANCES_MAX
    assert b"first" not in telemetry.instances
    assert telemetry._series == 0
    telemetry.expire(100_000_000)
    assert len(telemetry.instances) < INSTANCES_MAX


@pytest.mark.parametrize(
    ("configs", "code"),
    [
        ([(SET, "interval.ms", "50")], ErrorCode.INVALID_REQUEST),
        ([(SET, "interval.ms", "3600001")], ErrorCode.INVALID_REQUEST),
        ([(SET, "interval.ms", "often")], ErrorCode.INVALID_CONFIG),
        ([(SET, "colour", "red")], ErrorCode.INVALID_REQUEST),
        ([(SET, "match", "client_id")], ErrorCode.INVALID_CONFIG),
        ([(SET, "match", "colour=red")], ErrorCode.INVALID_CONFIG),
        ([(SET, "match", "client_id=[")], ErrorCode.INVALID_CONFIG),
        ([(APPEND, "interval.ms", "5")], ErrorCode.INVALID_CONFIG),
        ([(APPEND, "metrics", "a")], ErrorCode.INVALID_CONFIG),
        ([(SET, "metrics", "a"), (SET, "match", "client_id=b.*,client_source_port=1")], NONE),
    ],
)
def test_subscriptions_are_checked(configs: list[tuple[int, str, str]], code: ErrorCode) -> None:
    assert alter(World(), *configs) == code


def test_a_subscription_is_described_and_goes_with_its_last_setting() -> None:
    world, _ = subscribed()

    def described() -> dict[str, tuple[str | None, int]]:
        resource = DescribeConfigsResource(resource_type=CLIENT_METRICS_RESOURCE, resource_name="all")
        (result,) = world.client().ask(DescribeConfigsRequest(resources=[resource]), 4).results
        return {each.name: (each.value, each.config_source) for each in result.configs}

    assert described() == {"interval.ms": ("10000", 7), "match": ("", 5), "metrics": ("org.apache.kafka", 7)}
    assert alter(world, (DELETE, "metrics", None), (DELETE, "interval.ms", None)) == NONE
    assert described()["interval.ms"] == ("300000", 5)
    assert alter(world, (SET, "metrics", "a"), name="") == ErrorCode.INVALID_REQUEST
