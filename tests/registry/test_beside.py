"""On Apache Kafka as on our nodes, and on a topic that other registries have written."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import edges
from penstock.client.producing import Producer
from penstock.client.reading import Reader
from penstock.services.registry.topic import Writer
from penstock.testing.broker import Broker
from tests.cli.running import run_process
from tests.kafka_peer import KafkaPeer
from tests.ports import free_base_port
from tests.registry.world import Rest, optional, record, registry
from tests.schema_topic.records import about, schema
from tests.waiting import wait_until

KARAPACE = b'{"subject": "old", "version": 1, "magic": 1, "keytype": "SCHEMA"}'
"""The order of members in keys that another registry once wrote."""


@pytest.mark.java
def test_on_apache_kafka() -> None:
    with (
        KafkaPeer(properties={"group.initial.rebalance.delay.ms": "0"}) as peer,
        registry(peer.bootstrap) as first,
        registry(peer.bootstrap) as second,
    ):
        made = first.rest.register("s", record("A", "a")).body
        assert second.rest.register("s", record("A", "a", optional("b"))).body["id"] == made["id"] + 1
        # The first has written none of them, perhaps: what another one did it reads when Kafka has made it visible.
        wait_until(lambda: first.rest.get("/subjects/s/versions").body == [1, 2], what="both versions are read")
        assert second.rest.delete("/subjects/s").body == [1, 2]
        assert first.rest.delete("/subjects/s?permanent=true").body == [1, 2]


@pytest.fixture
def mirrored(registry_broker: Broker, penstock_topic: str) -> Iterator[tuple[Rest, str, Broker]]:
    """A topic with records of other registries, and ours on it."""
    text = json.dumps(record("Old", "a"))
    records = [
        (KARAPACE, schema("old", 1, 7, text)[1]),
        (b'{"keytype":"CONFIG","subject":null,"magic":0}', b'{"compatibilityLevel":"FULL"}'),
        (b'{"keytype":"NOOP","magic":0}', None),
        schema("theirs", 3, 100_001, '"string"', md5="x", schemaTags=[], ts=5),
        about("MODE", "frozen", mode="READONLY"),
        (b'{"keytype":"ASSOC","tenant":"default"}', b'{"guid":"x"}'),
        (b"\x00\x01", b"nobody's"),
    ]
    with registry(registry_broker.bootstrap, "--topic", penstock_topic, "--group", penstock_topic) as running:
        with Client(registry_broker.bootstrap) as client, Producer(client) as producer:
            for key, value in records:
                producer.send(penstock_topic, key, value, partition=0)
        yield running.rest, penstock_topic, registry_broker


def test_a_topic_of_other_registries(mirrored: tuple[Rest, str, Broker]) -> None:
    rest, topic, broker = mirrored
    assert rest.register("new", record("New", "a")).body["id"] == 100_002, "the highest id counts, whoever gave it"
    assert rest.get("/subjects").body == ["new", "old", "theirs"]
    assert rest.get("/subjects/theirs/versions").body == [3]
    assert rest.get("/config").body == {"compatibilityLevel": "FULL"}
    assert rest.register("frozen", record("F", "a")).code == 42205
    assert rest.delete("/subjects/old/versions/1").body == 1
    assert rest.delete("/subjects/old/versions/1?permanent=true").body == 1
    where = TopicPartition(topic, 0)
    with Client(broker.bootstrap) as client:
        first, end = edges(client, [where])[where]
        reader = Reader(client, {where: first}, until={where: end})
        written = [each for chunk in reader for each in chunk.records if each.key is not None and b"old" in each.key]
    assert {each.key for each in written} == {KARAPACE}, "a tombstone under another key would not be one"
    assert written[-1].value is None


def test_who_takes_over_fences_who_wrote_before(registry_broker: Broker, penstock_topic: str) -> None:
    def writer() -> Writer:
        return Writer(Client(registry_broker.bootstrap), penstock_topic, penstock_topic)

    first, second = writer(), writer()
    try:
        begin = first.take_over()
        assert first.write([schema("s", 1, 1)]) > begin
        assert second.take_over() > begin
        with pytest.raises(ClientError):
            first.write([schema("s", 2, 2, '"long"')])
        assert second.write([schema("s", 2, 2, '"int"')]) > begin
    finally:
        first.close()
        second.close()


def test_what_cannot_become_a_registry_says_so(registry_broker: Broker, penstock_topic: str, tmp_path: Path) -> None:
    with Client(registry_broker.bootstrap) as client:
        Admin(client).create_topic(penstock_topic, 3)
    at, port = ("-b", registry_broker.bootstrap), str(free_base_port())
    for words, said in (
        ((*at, "--topic", penstock_topic), "has 3 partitions"),
        (("-b", "127.0.0.1:1"), "no broker answers at 127.0.0.1:1"),
        ((*at, "--compatibility", "sideways"), "sideways is no level"),
        ((*at, "--authorize"), "--users"),
        ((*at, "--users", str(tmp_path / "none")), "No such file"),
        ((*at, "--tls-cert", str(tmp_path / "none")), "certificate cannot be used"),
    ):
        done = run_process("registry", "--port", port, *words)
        assert done.returncode in (1, 2), done
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_a_protobuf_file_as_its_descriptor(rest: Rest) -> None:
    text = 'syntax = "proto3"; package p; message M { optional string a = 1; map<string, int64> b = 2; }'
    made = rest.register("described", text, schemaType="PROTOBUF").body
    answer = rest.get(f"/schemas/ids/{made['id']}?format=serialized").body
    file = FileDescriptorProto.FromString(base64.b64decode(answer["schema"]))
    assert [(each.name, each.number) for each in file.message_type[0].field] == [("a", 1), ("b", 2)]
    again = rest.register("described-too", answer["schema"], schemaType="PROTOBUF")
    assert again.status == 200
    check = rest.post("/compatibility/subjects/described/versions", answer["schema"], schemaType="PROTOBUF")
    assert check.body == {"is_compatible": True}


def test_an_answer_is_called_what_the_client_asked_for(rest: Rest) -> None:
    from http.client import HTTPConnection

    for accept, expected in (
        ("application/json", "application/json"),
        ("application/vnd.schemaregistry+json; q=0.9, */*", "application/vnd.schemaregistry+json"),
        ("*/*", "application/vnd.schemaregistry.v1+json"),
    ):
        connection = HTTPConnection("127.0.0.1", rest.port)
        connection.request("GET", "/subjects", headers={"accept": accept})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        assert answer.getheader("content-type") == expected


@pytest.mark.parametrize(
    ("type", "written", "normal"),
    [
        ("JSON", '{"type": "object", "maxProperties": 3}', '{"maxProperties":3,"type":"object"}'),
        ("AVRO", '{"type": "array", "items": {"type": "int"}}', '{"items":"int","type":"array"}'),
    ],
)
def test_what_is_normalized(rest: Rest, type: str, written: str, normal: str) -> None:
    subject = f"normalized-{type}"
    made = rest.ask("POST", f"/subjects/{subject}/versions?normalize=true", {"schema": written, "schemaType": type})
    assert made.body["schema"] == normal
    again = rest.ask("POST", f"/subjects/{subject}?normalize=true", {"schema": normal, "schemaType": type})
    assert again.body["id"] == made.body["id"]
