"""Avro's values as columns: types, evolution, and wrong bytes, without Spark's JVM."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from penstock.schemas.model import Format, SchemaError
from penstock.schemas.typed.wire import frame
from penstock.spark.typed.batches import VALUE_HEADER
from tests.spark.typed.worlds import World, faults, rows


def order(*fields: Any, name: str = "Order") -> dict[str, Any]:
    written = [{"name": each, "type": "string"} if isinstance(each, str) else each for each in fields]
    return {"type": "record", "name": name, "fields": written}


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


NOTE = field("note", ["null", "string"], default=None)
CITY = field("city", "string", default="Rome")


@pytest.fixture
def world() -> World:
    return World(Format.AVRO)


def test_each_type_has_its_column(world: World) -> None:
    moment = {"type": "long", "logicalType": "timestamp-millis"}
    price = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}
    schema = order(
        "id",
        field("at", moment),
        field("day", {"type": "int", "logicalType": "date"}),
        field("local", {"type": "long", "logicalType": "local-timestamp-micros"}),
        field("price", price),
        field("kind", {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}),
        field("tags", {"type": "array", "items": ["null", "string"]}),
        field("counts", {"type": "map", "values": "long"}),
        field("where", ["null", order(field("lat", "double"), field("seen", moment), name="Place")]),
        field("number", ["null", "int", "long"]),
        field("raw", {"type": "fixed", "name": "Two", "size": 2}),
    )
    id = world.add(schema)
    value = {"id": "o1", "at": 1_700_000_000_123, "day": 19_000, "local": 1_700_000_000_000_001, "price": "\x04\xd2"}
    value |= {"kind": "B", "tags": ["x", None], "counts": {"a": 1}, "where": {"lat": 1.5, "seen": 0}}
    decoder = world.decoder(schema)

    (row,) = rows(decoder, [world.written(id, value | {"number": 5, "raw": "ab"})])

    assert decoder.fields.simpleString() == (
        "struct<id:string,at:timestamp,day:date,local:timestamp_ntz,price:decimal(6,2),kind:string,tags:array<string>,"
        "counts:map<string,bigint>,where:struct<lat:double,seen:timestamp>,number:bigint,raw:binary>"
    )
    assert [each.name for each in decoder.fields.fields if each.nullable] == ["where", "number"]
    assert row == {
        "id": "o1",
        "at": datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC),
        "day": date(2022, 1, 8),
        "local": datetime(2023, 11, 14, 22, 13, 20, 1),
        "price": Decimal("12.34"),
        "kind": "B",
        "tags": ["x", None],
        "counts": [("a", 1)],
        "where": {"lat": 1.5, "seen": datetime(1970, 1, 1, tzinfo=UTC)},
        "number": 5,
        "raw": b"ab",
    }


def test_records_of_several_writers_become_one_readers_rows(world: World) -> None:
    """Fields that came and went, numbers that grew, and names that changed, in one batch."""
    first = world.add(order("id", field("total", "int"), "gone"))
    second = world.add(order("id", field("total", "int"), NOTE))
    third = world.add(order("id", field("sum", "int")))
    decoder = world.decoder(order("id", field("total", "double", aliases=["sum"]), NOTE, CITY))
    values: list[bytes | None] = [
        world.written(first, {"id": "a", "total": 1, "gone": "x"}),
        world.written(second, {"id": "b", "total": 2, "note": "n"}),
        None,
        world.written(third, {"id": "c", "sum": 3}),
    ]

    found = rows(decoder, values)

    assert found[0] == {"id": "a", "total": 1.0, "note": None, "city": "Rome"}
    assert found[1] == {"id": "b", "total": 2.0, "note": "n", "city": "Rome"}
    assert set(found[2].values()) == {None}
    assert found[3] == {"id": "c", "total": 3.0, "note": None, "city": "Rome"}


def test_the_quick_way_and_fastavros_own_say_the_same(world: World) -> None:
    """A reader that differs in fields only is filled in; a nested difference leaves it all to fastavro."""
    inner = order(field("lat", "int"), name="Place")
    wider = order(field("lat", "long"), name="Place")
    id = world.add(order("id", field("where", inner), "gone"))
    value = world.written(id, {"id": "a", "where": {"lat": 3}, "gone": "x"})

    quick = rows(world.decoder(order("id", field("where", inner), CITY)), [value])
    slow = rows(world.decoder(order("id", field("where", wider), CITY)), [value])

    assert quick == slow == [{"id": "a", "where": {"lat": 3}, "city": "Rome"}]


def test_wrong_bytes_have_a_reason_each(world: World) -> None:
    id = world.add(order("id"))
    good = world.written(id, {"id": "a"})
    decoder = world.decoder(order("id"))
    values = [
        good,
        b"",
        b"{}",
        good[:-1],
        good + b"x",
        frame(7, b""),
        b"\x01" + bytes(20),
        frame(id, b"\x02\xff"),
        good,
    ]

    found = faults(decoder, *values)

    assert sorted(found) == [1, 2, 3, 4, 5, 6, 7]
    assert found[1] == found[2] == found[6] == "no id of a schema stands in front: a zero and four bytes"
    assert "Expected 1 bytes, read 0" in found[3]
    assert found[4] == "1 bytes are left behind the value"
    assert found[5] == "the registry has no schema with the id 7"
    assert "utf-8" in found[7]


def test_a_writer_that_cannot_be_resolved_is_a_reason(world: World) -> None:
    other = world.add(order(field("id", "int")))
    without = world.add(order("name"))
    decoder = world.decoder(order("id"))

    found = faults(decoder, world.written(other, {"id": 3}), world.written(without, {"name": "x"}))

    assert "Schema mismatch" in found[0]
    assert "No default value for field id" in found[1]


def test_a_time_that_no_column_holds_is_a_fault_of_its_own(world: World) -> None:
    schema = order(field("at", {"type": "long", "logicalType": "timestamp-millis"}))
    id = world.add(schema)
    values = [world.written(id, {"at": at}) for at in (1, 1 << 62, 2)]

    found = world.decoder(schema).decode(values)

    assert list(found.faults) == [1]
    assert [at is None for at in found.columns[0].to_pylist()] == [False, True, False]


def test_a_guid_in_a_header_names_the_schema(world: World) -> None:
    id = world.add(order("id"))
    bare = world.written(id, {"id": "a"})[5:]
    headers = [[{"key": VALUE_HEADER, "value": b"\x01" + bytes(16)}]]

    assert rows(world.decoder(order("id")), [bare], headers=headers) == [{"id": "a"}]


def test_each_writer_is_asked_for_once(world: World) -> None:
    id = world.add(order("id"))
    decoder = world.decoder(order("id"))
    for _ in range(3):
        rows(decoder, [world.written(id, {"id": "a"})] * 5)

    assert world.asked == 1


def test_what_is_no_record_is_one_column(world: World) -> None:
    id = world.add("long")

    assert rows(world.decoder("long"), [world.written(id, 5)]) == [{"value": 5}]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (["int", "string"], "a union of several types"),
        (order(field("next", ["null", "Node"]), name="Node"), "refers to itself"),
    ],
)
def test_what_has_no_column_is_refused(world: World, kind: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        world.decoder(order(field("it", kind)))
