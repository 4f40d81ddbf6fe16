"""JSON values as columns: types, validity, and wrong text, without Spark's JVM."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from penstock.schemas.model import Format, SchemaError
from penstock.schemas.typed.wire import frame
from tests.spark.typed.worlds import World, faults, rows


def order(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required or []}


TEXT = {"type": "string"}


@pytest.fixture
def world() -> World:
    return World(Format.JSON)


def test_each_type_has_its_column(world: World) -> None:
    schema = order(
        ["id", "total", "maybe"],
        id=TEXT,
        total={"type": "number"},
        count={"type": "integer"},
        at={"type": "string", "format": "date-time"},
        day={"type": "string", "format": "date"},
        maybe={"oneOf": [{"type": "null"}, {"$ref": "#/definitions/place"}]},
        tags={"type": "array", "items": {"type": ["string", "null"]}},
        counts={"type": "object", "additionalProperties": {"type": "integer"}},
        kind={"enum": ["A", "B"]},
    ) | {"definitions": {"place": order(["lat"], lat={"type": "number"})}}
    decoder = world.decoder(schema)
    value = {"id": "a", "total": 1, "count": 2, "at": "2023-11-14T22:13:20Z", "day": "2022-01-08", "kind": "B"}
    value |= {"maybe": {"lat": 1.5}, "tags": ["x", None], "counts": {"a": 1}, "unknown": [1]}

    (row,) = rows(decoder, [world.written(world.add(schema), value)])

    assert decoder.fields.simpleString() == (
        "struct<id:string,total:double,count:bigint,at:timestamp,day:date,maybe:struct<lat:double>,tags:array<string>,"
        "counts:map<string,bigint>,kind:string>"
    )
    assert [each.name for each in decoder.fields.fields if not each.nullable] == ["id", "total"]
    assert row == {
        "id": "a",
        "total": 1.0,
        "count": 2,
        "at": datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
        "day": date(2022, 1, 8),
        "maybe": {"lat": 1.5},
        "tags": ["x", None],
        "counts": [("a", 1)],
        "kind": "B",
    }


def test_whoever_wrote_a_value_it_is_valid_by_the_readers_schema(world: World) -> None:
    first = world.add(order(id=TEXT, gone=TEXT))
    second = world.add(order(id={"type": ["string", "integer"]}))
    decoder = world.decoder(order(["id"], id=TEXT, note=TEXT))

    assert rows(decoder, [world.written(first, {"id": "a", "gone": "x"})]) == [{"id": "a", "note": None}]
    found = faults(decoder, world.written(second, {"id": 3}), world.written(first, {}), frame(first, b"{"))

    assert found[0].startswith("id: 3 is not of type")
    assert found[1].startswith('the value: "id" is a required property')
    assert "is no JSON" in found[2]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"oneOf": [TEXT, {"type": "integer"}]}, "choice of several types"),
        ({"$ref": "#"}, "refers to itself"),
        (True, "say its type"),
        ({"type": "array"}, "of what type its items are"),
        ({"type": "object"}, "has its properties"),
    ],
)
def test_what_has_no_column_is_refused(world: World, part: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        world.decoder(order(it=part))
