"""JSON payloads, by their schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.core.records.schema_ids import Check, Misfit, SchemaText
from penstock.schemas.payloads.making import make_check

ORDER = {
    "title": "Order",
    "type": "object",
    "properties": {"id": {"type": "integer"}, "lines": {"type": "array", "items": {"$ref": "line.json"}}},
    "required": ["id"],
}
LINE = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}


def check_of(schema: Any, *references: tuple[str, Any]) -> Check:
    return make_check(
        SchemaText("JSON", json.dumps(schema), tuple((name, json.dumps(each)) for name, each in references))
    )


@pytest.mark.parametrize("schema", [ORDER, {**ORDER, "$id": "http://example.com/schemas/order.json"}])
def test_what_fits_and_what_does_not(schema: Any) -> None:
    check = check_of(schema, ("line.json", LINE))
    assert check(b'{"id": 1, "lines": [{"n": 2}]}') is None
    assert check(b'{"id": 1, "lines": [{"n": 2}, {"n": 0}]}') == Misfit("lines.1.n", "0 is less than the minimum of 1")
    assert check(b"{}") == Misfit("", '"id" is a required property')
    for payload in (b"", b"\xff\xfe\xff", b"{", b"nonsense"):
        misfit = check(payload)
        assert misfit is not None
        assert misfit.reason.startswith("is no JSON")


def test_nothing_is_fetched() -> None:
    with pytest.raises(ValueError, match="no reference has that name"):
        check_of({"$ref": "http://127.0.0.1:9/x.json"})


def test_expressions_that_explode_are_bounded() -> None:
    for pattern in ("(a+)+$", "^(?=a)(a+)+$"):
        assert check_of({"type": "string", "pattern": pattern})(json.dumps("a" * 5_000 + "b").encode()) is not None


def test_depth_is_bounded() -> None:
    check = check_of({})
    assert check(b"[" * 90 + b"]" * 90) is None
    for depth in (200, 500_000):
        assert check(b"[" * depth + b"]" * depth) is not None
