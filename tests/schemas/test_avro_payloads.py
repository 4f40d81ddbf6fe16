"""Avro payloads: what a library writes fits, what cannot be read does not, and no bytes are dangerous."""

from __future__ import annotations

import io
import json
from random import Random
from typing import Any

import fastavro
import pytest

from penstock.core.records.schema_ids import Check, Misfit, SchemaText
from penstock.schemas.payloads.making import make_check

ITEM = {"type": "record", "name": "Item", "fields": [{"name": "sku", "type": "string"}, {"name": "n", "type": "int"}]}
ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": "string"},
        {"name": "amount", "type": "double"},
        {"name": "weight", "type": "float"},
        {"name": "paid", "type": "boolean"},
        {"name": "items", "type": {"type": "array", "items": ITEM}},
        {"name": "labels", "type": {"type": "map", "values": "bytes"}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "DONE"]}},
        {"name": "mark", "type": {"type": "fixed", "name": "Mark", "size": 3}},
        {"name": "note", "type": ["null", "string", "Item"]},
    ],
}
CHAIN = {"type": "record", "name": "Chain", "fields": [{"name": "next", "type": ["null", "Chain"]}]}
LIES = "has a block of another size than it says"
ARRAY = {"type": "array"}
PARSED = fastavro.parse_schema(ORDER)


def check_of(schema: Any, *references: tuple[str, Any]) -> Check:
    texts = tuple((name, json.dumps(each)) for name, each in references)
    return make_check(SchemaText("AVRO", json.dumps(schema), texts))


def written(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def an_order(random: Random) -> dict[str, Any]:
    return {
        "id": random.randrange(-(1 << random.randrange(1, 63)), 1 << random.randrange(1, 63)),
        "customer": random.choice(["", "c", "Zoë", "x" * random.randrange(200)]),
        "amount": random.random(),
        "weight": 0.5,
        "paid": random.random() < 0.5,
        "items": [
            {"sku": "s" * random.randrange(3), "n": random.randrange(-(1 << 31), 1 << 31)}
            for _ in range(random.randrange(3))
        ],
        "labels": {str(number): random.randbytes(number) for number in range(random.randrange(3))},
        "state": random.choice(["NEW", "DONE"]),
        "mark": random.randbytes(3),
        "note": random.choice([None, "note", {"sku": "a", "n": 1}]),
    }


def test_what_the_library_writes_fits_and_ends_nowhere_else() -> None:
    random, check = Random(1), check_of(ORDER)
    for _ in range(300):
        payload = written(ORDER, an_order(random))
        assert check(payload) is None
        assert check(payload[:-1]) is not None
        assert check(payload + b"\0") == Misfit("", "1 bytes follow")


def test_of_bytes_that_were_changed_nothing_fits_that_the_library_cannot_read() -> None:
    random, check = Random(2), check_of(ORDER)
    fitting = 0
    for _ in range(5_000):
        payload = bytearray(written(ORDER, an_order(random)))
        for _ in range(random.randrange(1, 3)):
            payload[random.randrange(len(payload))] = random.randrange(256)
        if check(bytes(payload)) is None:
            fitting += 1
            data = io.BytesIO(payload)
            fastavro.schemaless_reader(data, PARSED, None)
            assert data.tell() == len(payload)
    assert 1_000 < fitting < 4_500


@pytest.mark.parametrize(
    ("schema", "payload", "misfit"),
    [
        ("int", b"\xff\xff\xff\xff\x0f", None),
        ("int", b"\x80\x80\x80\x80\x10", Misfit("", "is 2147483648, which is no int")),
        ("long", b"\xff" * 9 + b"\x01", None),
        ("long", b"\xff" * 9 + b"\x02", Misfit("", "is a number of more than 64 bits")),
        ("long", b"\xff" * 30, Misfit("", "is a number of more than 64 bits")),
        ("boolean", b"\2", Misfit("", "is 2, which is no boolean")),
        ("string", b"\x02\xff", Misfit("", "is no text of UTF-8")),
        ("string", b"\x01", Misfit("", "has a size of -1, and 0 bytes follow")),
        ("bytes", b"\x06ab", Misfit("", "has a size of 3, and 2 bytes follow")),
        (["null", "string"], b"\x01\x02a", Misfit("", "is branch -1 of 2")),
        (["null", "string"], b"\x04\x02a", Misfit("", "is branch 2 of 2")),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x01", Misfit("", "is symbol -1 of 1")),
        ({**ARRAY, "items": "int"}, b"\x03\x04\x02\x02\x00", None),
        ({**ARRAY, "items": "int"}, b"\x03\x02\x02\x02\x00", Misfit("", LIES)),
        ({**ARRAY, "items": "int"}, b"\x04\x02", Misfit("[1]", "ends too early")),
        ({**ARRAY, "items": "null"}, b"\x04\x00", None),
        ({**ARRAY, "items": "null"}, b"\xfe\xff\xff\xff\x0f\x00", Misfit("", "claims 2147483647 items of no bytes")),
        (CHAIN, b"\x02" * 50 + b"\x00", None),
        (CHAIN, b"", Misfit("next", "ends too early")),
    ],
)  # fmt: skip
def test_cases(schema: Any, payload: bytes, misfit: Misfit | None) -> None:
    assert check_of(schema)(payload) == misfit


def test_the_field_is_named_by_its_path() -> None:
    payload = bytearray(written({"type": "array", "items": ITEM}, [{"sku": "ok", "n": 1}, {"sku": "bad", "n": 2}]))
    payload[payload.index(b"bad")] = 0xFF
    assert check_of({"type": "array", "items": ITEM})(bytes(payload)) == Misfit("[1].sku", "is no text of UTF-8")


def test_depth_is_bounded_and_what_went_deep_leaves_nothing_behind() -> None:
    check = check_of(CHAIN)
    for _ in range(3):
        misfit = check(b"\x02" * 1_000_000)
        assert misfit is not None
        assert misfit.reason == "is nested deeper than 100"
    assert check(b"\x02" * 50 + b"\x00") is None


def test_references_define_what_the_schema_names() -> None:
    order = {"type": "record", "name": "Order", "fields": [{"name": "item", "type": "Item"}]}
    check = check_of(order, ("Item", ITEM))
    assert check(b"\x02a\x02") is None
    with pytest.raises(ValueError, match="Item"):
        check_of(order)


def test_what_nobody_can_read_is_said_each_time() -> None:
    for schema in (SchemaText("AVRO", "{"), SchemaText("THRIFT", "struct A {}")):
        for _ in range(2):
            with pytest.raises(ValueError, match=r"JSON|THRIFT"):
                make_check(schema)
