"""Java's producer and topics that demand schemas: which record of a batch is to blame; nothing of it is stored."""

from __future__ import annotations

import json

import pytest

from penstock.testing import Broker
from tests.conformance.confluent import producer, read_from_start, send_well
from tests.kafka_peer import Tool, java_tool
from tests.schema_topic.records import schema

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.client]

FITS = "\0\0\0\1\1text"
"""The id 257: bytes that are text, too, as the console's producer reads lines."""


@pytest.mark.parametrize("idempotent", ["true", "false"])
def test_it_hears_which_record_of_a_batch_does_not_fit(broker: Broker, name: str, idempotent: str) -> None:
    broker.create_topic(name, penstock_value_schema_validation="id")
    key, value = schema(f"{name}-value", 1, 257, json.dumps({"type": "string"}))
    client = producer(broker)
    if "_schemas" not in client.list_topics(timeout=10).topics:
        broker.create_topic("_schemas", cleanup_policy="compact")
    send_well(client, "_schemas", value, key=key)
    lines = [FITS + "1", "plain", FITS + "2"]
    options = ("--command-property", f"enable.idempotence={idempotent}")
    server = ("--bootstrap-server", broker.bootstrap)
    done = java_tool(Tool.CONSOLE_PRODUCER, *server, "--topic", name, *options, input="\n".join(lines))
    said = done.stdout + done.stderr
    assert "part of a batch which had one more more invalid records" in said, said
    assert "InvalidRecordException: its value does not begin with a zero byte and the id of a schema" in said, said
    send_well(client, name, FITS.encode())
    (found,) = read_from_start(broker, name, 1)
    assert (found.offset(), found.value()) == (0, FITS.encode())
