"""Values that Confluent's own serialisers wrote, with ids in front and with GUIDs in headers, by a real registry."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from confluent_kafka.schema_registry import (
    SchemaRegistryClient,
    header_schema_id_serializer,
    prefix_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.spark.typed.batches import decoder_of
from penstock.spark.typed.declaration import FormatName, Registry
from penstock.spark.typed.pinned import pinned
from penstock.testing import Broker
from tests.registry.world import registry

pytestmark = [pytest.mark.client, pytest.mark.slow]

ORDER = {"id": "a", "total": 3}
AVRO = {"type": "record", "name": "O", "fields": [{"name": "id", "type": "string"}, {"name": "total", "type": "int"}]}
JSON = {
    "title": "O",
    "type": "object",
    "properties": {"id": {"type": "string"}, "total": {"type": "integer"}},
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with Broker() as broker, registry(broker.bootstrap) as running:
        yield running.rest.url


@pytest.mark.parametrize("format", ["avro", "json"])
@pytest.mark.parametrize("place", ["prefix", "header"])
def test_what_confluents_serialisers_wrote_is_read(url: str, format: FormatName, place: str) -> None:
    where = {"prefix": prefix_schema_id_serializer, "header": header_schema_id_serializer}[place]
    conf = {"schema.id.serializer": where}
    topic = f"orders-{format}"
    headers: list[tuple[str, str | bytes | None]] = []
    context = SerializationContext(topic, MessageField.VALUE, headers)
    with SchemaRegistryClient({"url": url}) as client:
        if format == "avro":
            value = AvroSerializer(client, json.dumps(AVRO), conf=conf)(ORDER, context)
        else:
            value = JSONSerializer(json.dumps(JSON), client, conf=conf)(ORDER, context)

    decoder = decoder_of(url, pinned(Registry(url, format), [topic]))
    found = decoder.decode([value], [[{"key": key, "value": each} for key, each in headers]])

    assert not found.faults
    assert bool(headers) is (place == "header")
    assert [column.to_pylist() for column in found.columns] == [["a"], [3]]
