"""What nobody should send: a clear error, in bounded time and memory, and others are served meanwhile."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path

import pytest

from penstock.core.schemas.records import SCHEMA, Key, key_bytes, value_bytes
from penstock.testing.broker import Broker
from tests.registry.world import Rest, registry

SECONDS_MAX = 20.0
"""Bounds that were forgotten would be minutes; this machine may do much else."""
MEMORY_MB_MAX = 300


def nested(opening: str, closing: str, depth: int, inner: str) -> str:
    return opening * depth + inner + closing * depth


BAD = {
    "an Avro schema that is nested deeply": ("AVRO", nested('{"type":"array","items":', "}", 5000, '"int"')),
    "JSON that is nested deeply": ("JSON", nested('{"not":', "}", 20_000, "{}")),
    "lists that are nested deeply": ("JSON", nested("[", "]", 200_000, "")),
    "a Protobuf file that is nested deeply": ("PROTOBUF", 'syntax = "proto3";' + nested("message M {", "}", 5000, "")),
    "a Protobuf option that is nested deeply": ("PROTOBUF", f"option (x) = {nested('{a:', '}', 3000, '1')};"),
    "more than a megabyte": ("AVRO", json.dumps({"type": "enum", "name": "E", "symbols": ["A" * 2_000_000]})),
    "many objects": ("JSON", json.dumps({"properties": {str(at): {} for at in range(60_000)}})),
    "a regular expression that is too large": ("JSON", json.dumps({"pattern": "((a{999}){999}){999}"})),
    "a regular expression of a megabyte": ("JSON", json.dumps({"pattern": "(a|" * 100_000})),
    "base64 that is none": ("PROTOBUF", "AAAA=AAAA"),
    "base64 of nothing known": ("PROTOBUF", base64.b64encode(bytes(range(256)) * 100).decode()),
    "base64 of messages in messages": ("PROTOBUF", base64.b64encode(b"\x22\x7f" * 5000).decode()),
    "a number of a million digits": ("JSON", f'{{"maximum": {"9" * 1_000_000}}}'),
    "half a character": ("JSON", '{"title": "\ud800", "type": 7}'),
    "a draft somewhere in the network": ("JSON", '{"$schema": "http://127.0.0.1:9/x", "type": 7}'),
    "references to nothing": ("JSON", '{"$ref": "http://127.0.0.1:9/x"}'),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_refused(rest: Rest, what: str) -> None:
    type, text = BAD[what]
    begin = time.monotonic()
    answer = rest.register("bad-input", text, schemaType=type)
    assert answer.code in (42201, 42209), answer
    assert len(answer.body["message"]) < 1_000
    assert time.monotonic() - begin < SECONDS_MAX


def test_a_body_that_is_too_large(rest: Rest) -> None:
    assert rest.ask("POST", "/subjects/s/versions", b" " * (5 << 20)).code == 42209


def test_an_expression_that_explodes_costs_little(rest: Rest) -> None:
    """It is accepted, and matched against names when schemas are compared."""
    closed = {"type": "object", "additionalProperties": False}
    rest.register("explodes", {**closed, "properties": {"x" * 300: {}}}, schemaType="JSON")
    begin = time.monotonic()
    answer = rest.register("explodes", {**closed, "patternProperties": {"(x+x+)+y": {}}}, schemaType="JSON")
    assert answer.code == 40901
    assert time.monotonic() - begin < SECONDS_MAX


def test_unions_of_unions_are_given_up_in_time(rest: Rest) -> None:
    def union(kind: str) -> str:
        branches = [
            {"type": "record", "name": f"{kind}{at}", "fields": [{"name": kind, "type": "int"}]} for at in range(500)
        ]
        return json.dumps({"type": "record", "name": "U", "fields": [{"name": "u", "type": branches}]})

    rest.register("unions", union("A"))
    begin = time.monotonic()
    assert rest.register("unions", union("B")).code in (40901, 42201)
    assert time.monotonic() - begin < SECONDS_MAX


def test_references_in_a_circle(registry_broker: Broker) -> None:
    """Nobody can register such, but somebody may have written it: the topic is not ours alone."""
    from penstock.client.blocking import Client
    from penstock.client.producing import Producer
    from tests.registry.world import record

    topic = "schemas-in-a-circle"
    with registry(registry_broker.bootstrap, "--topic", topic, "--group", topic) as running:
        rest = running.rest
        with Client(registry_broker.bootstrap) as client, Producer(client) as producer:
            for number, (name, other) in enumerate((("a", "b"), ("b", "a")), 1):
                reference = {"name": other.upper(), "subject": other, "version": 1}
                text = json.dumps(record(name.upper(), {"name": "x", "type": other.upper()}))
                value = {"subject": name, "version": 1, "id": number, "schema": text, "references": [reference]}
                producer.send(topic, key_bytes(Key(SCHEMA, name, 1)), value_bytes(value), partition=0)
            producer.send(topic, b"\xff\xfe", b"no record of a registry", partition=0)
        reference = {"name": "A", "subject": "a", "version": 1}
        answer = rest.register("c", record("C", {"name": "x", "type": "A"}), references=[reference])
        assert (answer.code, "circle" in answer.body["message"]) == (42201, True)
        assert sorted(rest.get("/subjects").body) == ["a", "b"], "what is there is served all the same"
        lines = Path(f"/proc/{running.process.pid}/status").read_text().splitlines()
        assert next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) < MEMORY_MB_MAX * 1024
