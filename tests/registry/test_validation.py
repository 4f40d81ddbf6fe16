"""Topics that demand schemas, Confluent's serialisers, and a registry: what they write is taken, what others write is
not, whatever guarantees a producer asks for."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from penstock.testing import Broker
from tests.conformance.confluent import read_from_start, send, send_well
from tests.registry.world import Rest
from tests.schema_topic.records import schema

pytestmark = pytest.mark.client

Serialise = Callable[[Any], tuple[bytes, list[tuple[str, bytes]]]]
AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "sku", "type": "string"}],
}
JSON = {"title": "Order", "type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
_COUNT = itertools.count()


@pytest.fixture
def topic(registry_broker: Broker) -> str:
    name = f"validated-{next(_COUNT)}"
    registry_broker.create_topic(name, penstock_value_schema_validation="payload")
    return name


@pytest.fixture
def registry_client(rest: Rest) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": rest.url}) as client:
        yield client
        # It leaves its connections to the garbage collector.
        client._rest_client.session.close()


def a_message() -> Any:
    """A generated class, as protoc would make it."""
    file = descriptor_pb2.FileDescriptorProto(name="order.proto", package="shop", syntax="proto3")
    order = file.message_type.add(name="Order")
    order.field.add(name="id", number=1, type=3, label=1)
    order.field.add(name="sku", number=2, type=9, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


def serialiser(serialise: Any, topic: str) -> Serialise:
    def both(value: Any) -> tuple[bytes, list[tuple[str, bytes]]]:
        headers: list[tuple[str, bytes]] = []
        return serialise(value, SerializationContext(topic, MessageField.VALUE, headers)), headers

    return both


def producer(broker: Broker, **settings: Any) -> Producer:
    named = {key.replace("_", "."): value for key, value in settings.items()}
    return Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, **named})


def begin_again(client: Producer, write: Callable[[], None]) -> None:
    """As applications do. librdkafka goes on with the sequences behind the batch that was refused, and gets another
    epoch only once that fails."""
    for _ in range(3):
        client.begin_transaction()
        write()
        try:
            client.commit_transaction(20)
        except KafkaException:
            client.abort_transaction(20)
        else:
            return
    raise AssertionError("no transaction came through")


def refused(message: Message) -> bool:
    error = message.error()
    return error is not None and error.code() == KafkaError.INVALID_RECORD


def test_avro(registry_broker: Broker, registry_client: SchemaRegistryClient, topic: str) -> None:
    serialise = serialiser(AvroSerializer(registry_client, json.dumps(AVRO)), topic)
    client = producer(registry_broker)
    value, _ = serialise({"id": 1, "sku": "a"})
    send_well(client, topic, value)
    assert refused(send(client, topic, b"plain"))
    assert refused(send(client, topic, value[:-1]))
    assert refused(send(client, topic, b"\0\0\0\x7f\x7f" + value[5:]))
    send_well(client, topic, None)
    assert [each.value() for each in read_from_start(registry_broker, topic, 2)] == [value, None]


def test_the_guid_in_a_header(registry_broker: Broker, registry_client: SchemaRegistryClient, topic: str) -> None:
    settings = {"schema.id.serializer": header_schema_id_serializer}
    serialise = serialiser(AvroSerializer(registry_client, json.dumps(AVRO), conf=settings), topic)
    client = producer(registry_broker)
    value, headers = serialise({"id": 1, "sku": "a"})
    send_well(client, topic, value, headers=headers)
    assert refused(send(client, topic, value + b"x", headers=headers))
    assert refused(send(client, topic, value))


def test_json_of_a_schema_that_somebody_else_has_registered(registry_broker: Broker, rest: Rest, topic: str) -> None:
    """Written into the topic by hand, as a mirror would."""
    assert rest.get("/subjects").status == 200  # The topic is there.
    client = producer(registry_broker)
    key, value = schema(f"{topic}-value", 1, 70_000, json.dumps(JSON), schemaType="JSON")
    send_well(client, "_schemas", value, key=key)
    prefix = b"\0" + (70_000).to_bytes(4, "big")
    send_well(client, topic, prefix + b'{"id": 1}')
    assert refused(send(client, topic, prefix + b'{"id": "one"}'))


def test_protobuf(registry_broker: Broker, registry_client: SchemaRegistryClient, topic: str) -> None:
    order = a_message()
    serialise = serialiser(ProtobufSerializer(order, registry_client, {"use.deprecated.format": False}), topic)
    client = producer(registry_broker)
    value, _ = serialise(order(id=1, sku="a"))
    send_well(client, topic, value)
    assert refused(send(client, topic, value[:6] + b"\x12\x01\xff"))
    assert refused(send(client, topic, value[:5] + b"\x02\x06" + value[6:]))


def test_an_idempotent_producer_goes_on_after_a_refusal(
    registry_broker: Broker, registry_client: SchemaRegistryClient, topic: str
) -> None:
    serialise = serialiser(AvroSerializer(registry_client, json.dumps(AVRO)), topic)
    client = producer(registry_broker, enable_idempotence=True, acks="all")
    values = [serialise({"id": number, "sku": "a"})[0] for number in range(20)]
    for number, value in enumerate(values):
        send_well(client, topic, value)
        if number % 5 == 0:
            assert refused(send(client, topic, b"plain"))
    assert [each.value() for each in read_from_start(registry_broker, topic, 20)] == values


def test_a_transaction_with_a_record_that_does_not_fit_is_aborted(
    registry_broker: Broker, registry_client: SchemaRegistryClient, topic: str
) -> None:
    serialise = serialiser(AvroSerializer(registry_client, json.dumps(AVRO)), topic)
    client = producer(registry_broker, transactional_id=topic)
    value, _ = serialise({"id": 1, "sku": "a"})
    client.init_transactions(20)
    client.begin_transaction()
    client.produce(topic, value)
    client.produce(topic, b"plain")
    with pytest.raises(KafkaException):
        client.commit_transaction(20)
    client.abort_transaction(20)
    begin_again(client, lambda: client.produce(topic, value))
    (found,) = read_from_start(registry_broker, topic, 1, isolation_level="read_committed")
    assert found.value() == value


def test_who_registers_and_produces_at_once_is_not_too_fast(
    registry_broker: Broker, registry_client: SchemaRegistryClient, rest: Rest
) -> None:
    """The registry's answer comes before the broker has folded the schema."""
    for number in range(10):
        name = f"at-once-{number}"
        registry_broker.create_topic(name, penstock_value_schema_validation="id")
        client = producer(registry_broker)
        send(client, name, None)  # It is connected.
        id = rest.register(f"{name}-value", AVRO | {"name": f"Order{number}"}).body["id"]
        began_s = time.monotonic()
        send_well(client, name, b"\0" + id.to_bytes(4, "big"))
        assert time.monotonic() - began_s < 5
