"""Protobuf's messages as columns: types, presence, evolution, and wrong bytes, without Spark's JVM."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from penstock.schemas.model import Format, SchemaError
from penstock.schemas.typed.wire import frame
from tests.spark.typed.worlds import World, faults, rows

HEAD = 'syntax = "proto3"; package shop; '
FIRST = HEAD + "message Order { string id = 1; int32 total = 2; string gone = 3; }"
ALL = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message Order {
  enum Kind { NONE = 0; FAST = 1; }
  message Place { double lat = 1; }
  string id = 1;
  optional int32 count = 2;
  uint32 wide = 3;
  uint64 wider = 4;
  bytes raw = 5;
  Kind kind = 6;
  repeated Place places = 7;
  map<string, int64> counts = 8;
  google.protobuf.Timestamp at = 9;
  google.protobuf.StringValue maybe = 10;
  Place where = 11;
  oneof choice { bool yes = 12; float much = 13; }
}
message Other { string id = 1; }
"""


@pytest.fixture
def world() -> World:
    return World(Format.PROTOBUF)


def test_each_type_has_its_column(world: World) -> None:
    id, decoder = world.add(ALL), world.decoder(ALL)
    value = {"id": "a", "wide": 3_000_000_000, "wider": 1 << 63, "raw": "AAE=", "kind": "FAST", "yes": True}
    value |= {"places": [{"lat": 1.5}], "counts": {"x": 1}, "at": "2023-11-14T22:13:20.000001Z", "maybe": "m"}

    full, empty = rows(decoder, [world.written(id, value), world.written(id, {})])

    assert decoder.fields.simpleString() == (
        "struct<id:string,count:int,wide:bigint,wider:decimal(20,0),raw:binary,kind:string,places:array<struct<lat:double>>,"
        "counts:map<string,bigint>,at:timestamp,maybe:string,where:struct<lat:double>,yes:boolean,much:float>"
    )
    assert full == {
        "id": "a",
        "count": None,
        "wide": 3_000_000_000,
        "wider": Decimal(1 << 63),
        "raw": b"\x00\x01",
        "kind": "FAST",
        "places": [{"lat": 1.5}],
        "counts": [("x", 1)],
        "at": datetime(2023, 11, 14, 22, 13, 20, 1, tzinfo=UTC),
        "maybe": "m",
        "where": None,
        "yes": True,
        "much": None,
    }
    assert (empty["id"], empty["kind"], empty["places"], empty["at"]) == ("", "NONE", [], None)


def test_fields_come_and_go_by_their_numbers(world: World) -> None:
    first = world.add(FIRST)
    second = world.add(HEAD + "message Order { string name = 1; int64 total = 2; bool paid = 4; }")
    decoder = world.decoder(HEAD + "message Order { string name = 1; int64 total = 2; bool paid = 4; }")

    found = rows(
        decoder,
        [
            world.written(first, {"id": "a", "total": 1, "gone": "x"}),
            world.written(second, {"name": "b", "total": 1 << 40, "paid": True}),
        ],
    )

    assert found == [{"name": "a", "total": 1, "paid": False}, {"name": "b", "total": 1 << 40, "paid": True}]


def test_a_message_is_chosen_by_its_name(world: World) -> None:
    id = world.add(ALL)
    decoder = world.decoder(ALL, message="shop.Other")

    # The indexes of the second message: one of them, and it is one.
    assert rows(decoder, [frame(id, b"\x02\x02\x0a\x01a")]) == [{"id": "a"}]
    found = faults(
        decoder, world.written(id, {}), frame(id, b"\x02\x02\x0a\x05a"), frame(id, b"\x02\x08"), frame(id, b"")
    )
    assert found[0] == "it is a message shop.Order, not shop.Other"
    assert "DecodeError" in found[1]
    assert found[2] == "the schema has no message [4]"
    assert found[3] == "the value does not say which message it is"
    with pytest.raises(SchemaError, match="no message Nobody: it has Order, Other"):
        world.decoder(ALL, message="Nobody")


def test_what_refers_to_itself_has_no_columns(world: World) -> None:
    with pytest.raises(SchemaError, match="refers to itself"):
        world.decoder(HEAD + "message Node { Node next = 1; }")
