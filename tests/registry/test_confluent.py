"""Confluent's own serialisers and client, of all three formats, against our registry."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from google.protobuf.type_pb2 import Type

from tests.registry.world import Rest

pytestmark = pytest.mark.client

ORDER = """
{"type": "record", "name": "Order", "fields": [
  {"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": null}]}
"""
ORDER_JSON = """
{"$schema": "http://json-schema.org/draft-07/schema#", "title": "Order", "type": "object",
 "properties": {"id": {"type": "integer"}, "note": {"type": "string"}}, "required": ["id"]}
"""


@pytest.fixture
def client(rest: Rest) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": rest.url}) as client:
        yield client


@pytest.fixture
def context() -> SerializationContext:
    return SerializationContext(f"orders-{uuid.uuid4()}", MessageField.VALUE)


def test_avro(client: SchemaRegistryClient, context: SerializationContext) -> None:
    order = {"id": 7, "note": None}
    data = AvroSerializer(client, ORDER)(order, context)
    assert data is not None
    assert data[0] == 0
    client.clear_caches()
    assert AvroDeserializer(client)(data, context) == order
    latest = client.get_latest_version(f"{context.topic}-value")
    assert int.from_bytes(data[1:5]) == latest.schema_id


def test_json_schema(client: SchemaRegistryClient, context: SerializationContext) -> None:
    order = {"id": 7, "note": "x"}
    data = JSONSerializer(ORDER_JSON, client)(order, context)
    assert JSONDeserializer(None, schema_registry_client=client)(data, context) == order


@pytest.mark.parametrize("message", [Timestamp(seconds=5), Struct(), Type(name="x")])
def test_protobuf_with_what_it_imports(
    client: SchemaRegistryClient, context: SerializationContext, message: Any
) -> None:
    """The serialiser sends descriptors in base64, and registers what they import first."""
    kind = type(message)
    data = ProtobufSerializer(kind, client, {"use.deprecated.format": False})(message, context)
    assert ProtobufDeserializer(kind, {"use.deprecated.format": False})(data, context) == message
    latest = client.get_latest_version(f"{context.topic}-value")
    assert latest.schema.schema_type == "PROTOBUF"
    assert 'syntax = "proto3"' in str(latest.schema.schema_str)


def test_what_the_client_can_ask(client: SchemaRegistryClient, context: SerializationContext) -> None:
    subject = f"{context.topic}-value"
    first = Schema(ORDER, "AVRO")
    id = client.register_schema(subject, first)
    assert client.lookup_schema(subject, first).version == 1
    assert client.get_schema(id, subject).schema_type == "AVRO"
    assert subject in client.get_subjects()
    assert client.get_versions(subject) == [1]
    other = Schema('{"type": "record", "name": "Order", "fields": [{"name": "x", "type": "int"}]}', "AVRO")
    assert not client.test_compatibility(subject, other)
    with pytest.raises(SchemaRegistryError) as refused:
        client.register_schema(subject, other)
    assert (refused.value.http_status_code, refused.value.error_code) == (409, 40901)
    client.set_compatibility(subject, "NONE")
    assert client.get_compatibility(subject) == "NONE"
    second = client.register_schema(subject, other)
    assert second != id
    assert client.delete_version(subject, 1) == 1
    assert client.delete_subject(subject) == [2]
    assert client.delete_subject(subject, permanent=True) == [1, 2]


def test_references(client: SchemaRegistryClient, context: SerializationContext) -> None:
    line = '{"type": "record", "name": "Line", "fields": [{"name": "n", "type": "int"}]}'
    client.register_schema(f"{context.topic}-line", Schema(line, "AVRO"))
    whole = '{"type": "record", "name": "Bill", "fields": [{"name": "first", "type": "Line"}]}'
    schema = Schema(whole, "AVRO", [SchemaReference("Line", f"{context.topic}-line", 1)])
    bill = {"first": {"n": 3}}
    data = AvroSerializer(client, schema)(bill, context)
    assert AvroDeserializer(client)(data, context) == bill
