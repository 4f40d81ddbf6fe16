"""Protobuf payloads: what a library writes fits, what it cannot read does not."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from penstock.core.records.schema_ids import Check, Misfit, SchemaText
from penstock.schemas.payloads.making import make_check

TEXT = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Line { string sku = 1; sint32 n = 2; }
message Order {
  int64 id = 1;
  string customer = 2;
  double amount = 3;
  repeated Line lines = 4;
  repeated int32 codes = 5;
  map<string, Line> by_name = 6;
  fixed32 mark = 7;
  oneof by { bool cash = 8; bytes card = 9; }
  State state = 10;
  enum State { NEW = 0; DONE = 1; }
  google.protobuf.Timestamp at = 11;
  message Inner { uint64 x = 1; }
  Inner inner = 12;
}
"""
SECOND, FIRST, INNER = b"\x02\x02", b"\x00", b"\x04\x02\x02"
"""Indexes: of `Order`, of `Line`, and of `Inner`, which stands behind the entry of the map."""


def check_of(text: str, *references: tuple[str, str]) -> Check:
    return make_check(SchemaText("PROTOBUF", text, references))


def a_class() -> Any:
    """The same message as `Order`, as far as the wire is concerned, for the library that reads it."""
    file = descriptor_pb2.FileDescriptorProto(name="t.proto", package="t", syntax="proto3")
    line = file.message_type.add(name="Line")
    line.field.add(name="sku", number=1, type=9, label=1)
    line.field.add(name="n", number=2, type=17, label=1)
    order = file.message_type.add(name="Order")
    plain = (("id", 1, 3, 1), ("customer", 2, 9, 1), ("amount", 3, 1, 1), ("codes", 5, 5, 3), ("mark", 7, 7, 1))
    for name, number, kind, label in (*plain, ("card", 9, 12, 1)):
        order.field.add(name=name, number=number, type=kind, label=label)
    order.field.add(name="lines", number=4, type=11, label=3, type_name=".t.Line")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Order"))


ORDER = a_class()


def an_order(random: Random) -> bytes:
    order = ORDER(
        id=random.randrange(-(1 << 62), 1 << 62),
        customer=random.choice(["", "Zoë", "x" * random.randrange(200)]),
        amount=random.random(),
        codes=[random.randrange(1 << 31) for _ in range(random.randrange(4))],
        mark=random.randrange(1 << 32),
        card=random.randbytes(random.randrange(4)),
    )
    for _ in range(random.randrange(3)):
        order.lines.add(sku="s", n=random.randrange(-100, 100))
    data: bytes = order.SerializeToString()
    return data


def test_what_the_library_writes_fits() -> None:
    random, check = Random(1), check_of(TEXT)
    for _ in range(200):
        assert check(SECOND + an_order(random)) is None


def test_of_bytes_that_were_changed_nothing_fits_that_the_library_cannot_read() -> None:
    random, check = Random(2), check_of(TEXT)
    fitting = 0
    for _ in range(4_000):
        payload = bytearray(an_order(random) or b"\x08\x01")
        payload[random.randrange(len(payload))] = random.randrange(256)
        if check(SECOND + bytes(payload)) is None:
            fitting += 1
            ORDER().ParseFromString(bytes(payload))
    assert fitting > 500


@pytest.mark.parametrize(
    ("payload", "misfit"),
    [
        (FIRST + b"\x0a\x01a\x10\x03", None),
        (SECOND + b"\x08\x01\x20\x01", Misfit("lines", "is a varint, and shop.Line is a sized field")),
        (SECOND + b"\x22\x03\x0a\x01\xff", Misfit("lines.sku", "is no text of UTF-8")),
        (SECOND + b"\x2a\x02\x01\x02", None),
        (SECOND + b"\x28\x01\x28\x02", None),
        (SECOND + b"\x32\x07\x0a\x01a\x12\x02\x10\x02", None),
        (SECOND + b"\x32\x05\x0a\x01a\x10\x02", Misfit("by_name.value", "is a varint, and shop.Line is a sized field")),
        (SECOND + b"\x5a\x02\x08\x01", None),
        (SECOND + b"\xf8\x7f\x01", None),
        (SECOND + b"\xfb\x7f\x08\x01\xfc\x7f", None),
        (SECOND + b"\x00\x01", Misfit("", "has a field of number 0")),
        (INNER + b"\x08\x01", None),
        (b"\x04\x02\x00\x08\x01", Misfit("", "says that it is an entry of a map")),
        (b"\x02\x0a", Misfit("", "says that it is message [5], which the schema does not have")),
        (b"\x01", Misfit("", "does not say which message it is")),
        (b"", Misfit("", "ends too early")),
    ],
)
def test_cases(payload: bytes, misfit: Misfit | None) -> None:
    assert check_of(TEXT)(payload) == misfit


def test_required_fields_are_demanded_and_groups_are_read() -> None:
    check = check_of(
        'syntax = "proto2"; message A { required int32 a = 1; repeated group G = 2 { optional int32 n = 1; } }'
    )
    assert check(b"\x00\x08\x01\x13\x08\x02\x14") is None
    assert check(b"\x00\x13\x14") == Misfit("a", "is required")
    assert check(b"\x00\x08\x01\x13\x08\x02") == Misfit("g", "ends too early")


def test_depth_is_bounded() -> None:
    check = check_of('syntax = "proto3"; message A { A a = 1; }')
    payload = b""
    for _ in range(300):
        size, prefix = len(payload), bytearray()
        while size > 127:
            prefix.append(size & 127 | 128)
            size >>= 7
        payload = b"\x0a" + bytes([*prefix, size]) + payload
    misfit = check(b"\x00" + payload)
    assert misfit is not None
    assert misfit.reason == "is nested deeper than 100"
    with pytest.raises(DecodeError):
        ORDER().ParseFromString(b"\x0b" * 300)
    assert check(b"\x00" + b"\x13" * 300) is not None


def test_files_that_are_imported_are_references() -> None:
    text = 'syntax = "proto3"; import "line.proto"; message Order { shop.Line line = 1; }'
    line = 'syntax = "proto3"; package shop; message Line { string sku = 1; }'
    assert check_of(text, ("line.proto", line))(b"\x00\x0a\x03\x0a\x01\xff") == Misfit(
        "line.sku", "is no text of UTF-8"
    )
