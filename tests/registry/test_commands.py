"""The commands that work with a registry, and typed values in and out."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import pytest

from penstock import Schemas, frame, unframe
from penstock.schemas.model import SchemaError
from penstock.testing.broker import Broker
from tests.cli.running import run_process
from tests.registry.world import Rest, optional, record

PROTO = 'syntax = "proto3"; message Order { int64 id = 1; repeated string tags = 2; }'
JSON_SCHEMA = '{"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}'


def run(rest: Rest, *words: str, input: str = "") -> tuple[int, str, str]:
    done = run_process(*words, "--registry", rest.url, input=input)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_a_schema_through_the_commands(rest: Rest, tmp_path: Path) -> None:
    first, second, bad = (tmp_path / name for name in ("1.avsc", "2.avsc", "3.avsc"))
    for file, schema in ((first, record("C", "a")), (second, record("C", "a", optional("b"))), (bad, record("C", "x"))):
        file.write_text(json.dumps(schema))
    code, id, _ = run(rest, "schema", "register", "commands-value", str(first))
    assert code == 0
    assert json.loads(run(rest, "schema", "get", id.strip())[1]) == record("C", "a")
    assert run(rest, "schema", "check", str(second), "--subject", "commands-value")[0] == 0
    code, out, _ = run(rest, "schema", "check", str(bad), "--subject", "commands-value")
    assert code == 1
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in out
    assert run(rest, "schema", "register", "commands-value", str(bad))[0] == 1
    run(rest, "schema", "register", "commands-value", str(second))
    assert run(rest, "schema", "list", "commands-value")[1].split() == ["1", "2"]
    assert "commands-value" in run(rest, "schema", "list")[1]
    assert run(rest, "schema", "delete", "commands-value", "--version", "1")[1] == "1\n"
    assert rest.get("/subjects/commands-value/versions").body == [1, 2], "nothing is deleted without --execute"
    run(rest, "schema", "delete", "commands-value", "--version", "1", "--execute")
    assert rest.get("/subjects/commands-value/versions").body == [2]


def test_what_is_said_when_no_registry_answers() -> None:
    done = run_process("schema", "list", "--registry", "http://127.0.0.1:1")
    assert done.returncode == 1
    assert "no registry answers at http://127.0.0.1:1" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "schema", "value"),
    [
        ("o.avsc", json.dumps(record("Order", "id")), {"id": 7}),
        ("o.json", JSON_SCHEMA, {"id": 7}),
        ("o.proto", PROTO, {"id": "7", "tags": ["x"]}),
    ],
)
def test_typed_values_go_in_and_come_out(
    rest: Rest, registry_broker: Broker, tmp_path: Path, name: str, schema: str, value: dict[str, object]
) -> None:
    topic, file = f"typed-{name}", tmp_path / name
    file.write_text(schema)
    at = ("-b", registry_broker.bootstrap)
    code, _, said = run(rest, "produce", topic, "--schema", str(file), *at, input=json.dumps(value))
    assert code == 0, said
    assert run(rest, "produce", topic, "--schema", "latest", *at, input=json.dumps(value))[0] == 0
    out = run(rest, "consume", topic, "--schema", *at)[1]
    assert [json.loads(line) for line in out.splitlines()] == [value, value]
    code, out, said = run(rest, "query", f'select id, count(*) n from "{topic}" group by 1', *at, "-o", "json")
    assert (code, said, json.loads(out)) == (0, "", {"id": value["id"], "n": 2})
    code, _, said = run(rest, "produce", topic, "--schema", "latest", *at, input='{"id": "not a number"}')
    assert code == 1
    assert "does not fit its schema" in said


def test_the_python_api(rest: Rest) -> None:
    schemas = Schemas(rest.url)
    serialize = schemas.serializer("api-value", json.dumps(record("Api", "a")))
    data = serialize({"a": 5})
    assert data is not None
    id, payload = unframe(data)
    assert frame(id, payload) == data
    assert Schemas(rest.url).deserialize(data) == {"a": 5}
    assert schemas.deserialize(None) is None
    guid = rest.get("/subjects/api-value/versions/1").body["guid"]
    for named in (b"\x01" + UUID(guid).bytes, data[:5]):
        assert Schemas(rest.url).deserialize(payload, [("__value_schema_id", named)]) == {"a": 5}
    with pytest.raises(SchemaError, match="names no schema"):
        schemas.deserialize(payload, [("__value_schema_id", b"?")])
    with pytest.raises(SchemaError, match="no id"):
        unframe(b"plain")
    with pytest.raises(SchemaError, match="does not fit"):
        serialize({"a": "text"})
