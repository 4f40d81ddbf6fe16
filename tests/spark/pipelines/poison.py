"""Twelve ways in which a record can be bad, each with the reason that its dead letter must give."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from penstock.spark.pipelines import Json

FIELDS = "order_id STRING NOT NULL, total DOUBLE, items ARRAY<STRUCT<name: STRING, count: INT>>, placed_at TIMESTAMP"


class Poison(NamedTuple):
    value: bytes | None
    error_class: str
    message: str


class Refused(Exception):
    """What the per-record function raises."""


def refine(fields: dict[str, Any]) -> dict[str, Any]:
    """The declared per-record function: it refuses negative totals."""
    if fields["total"] < 0:
        raise Refused(f"order {fields['order_id']} costs {fields['total']}")
    return fields


DECODE = Json(FIELDS, then=refine)


def order(number: int, **changes: Any) -> bytes:
    fields = {
        "order_id": f"order-{number}",
        "total": number / 4,
        "items": [{"name": "tea", "count": number % 7}],
        "placed_at": "2026-01-31T12:00:00Z",
    }
    return json.dumps({**fields, **changes}).encode()


def poisons(number: int) -> list[Poison]:
    """One of each kind."""
    item = [{"name": "tea", "count": "two"}]
    return [
        Poison(None, "Undecodable", "the value is null"),
        Poison(b"", "Undecodable", "not JSON: Expecting value: line 1 column 1 (char 0)"),
        Poison(b"\xff\xfe{}", "Undecodable", "not UTF-8: invalid start byte at byte 0"),
        Poison(
            order(number)[:-1],
            "Undecodable",
            f"not JSON: Expecting ',' delimiter: line 1 column {len(order(number))} (char {len(order(number)) - 1})",
        ),
        Poison(b"[1, 2]", "Undecodable", "not a JSON object"),
        Poison(b"[" * 100_000, "Undecodable", "not JSON: nested too deeply"),
        Poison(order(number, total=float("nan")), "Undecodable", "not JSON: NaN is no number in JSON"),
        Poison(order(number, order_id=None), "WrongSchema", "order_id: is missing or null"),
        Poison(order(number, total="much"), "WrongSchema", "total: expected double, found string"),
        Poison(order(number, items=item), "WrongSchema", "items[0].count: expected int, found string"),
        Poison(order(number, placed_at="now"), "WrongSchema", "placed_at: the text is not a time"),
        Poison(order(number, total=-1), "Refused", f"order order-{number} costs -1.0"),
    ]
