"""The language of filters: what is taken, what is refused, and that nothing takes long."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.services.console.filtering import FILTER_LENGTH_MAX, filter_of
from penstock.services.console.mistakes import Mistake

RECORD: dict[str, Any] = {
    "partition": 3,
    "offset": 17,
    "timestamp": 1_700_000_000_000,
    "size": 40,
    "key": "eu-7",
    "value": {"total": 12.5, "items": [{"sku": "a b"}, {"sku": "c"}], "paid": True, "note": None, "odd name": 1},
    "headers": {"trace": "x-1"},
}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "value.total > 12",
        "value.total <= 12.5 and value.total >= 12.5",
        'key startswith "eu-"',
        "key startswith 'eu-' and not key == 'eu-8'",
        'value.items[1].sku == "c"',
        'value.items[-1].sku == "c"',
        'value["odd name"] == 1',
        'value.items contains "a b"',
        "value.paid == true and value.note == null",
        "headers.trace exists",
        "headers.trace",
        "not headers.other exists",
        "headers.other != 'x'",
        "partition == 3 and offset < 18 and size > 1 and timestamp > 0",
        "(value.total > 100 or partition == 3) and not (offset == 0)",
        "value contains 'paid'",
        'key == "eu-\\u0037"',
    ],
)
def test_what_is_so(text: str) -> None:
    assert filter_of(text)(RECORD)


@pytest.mark.parametrize(
    "text",
    [
        "value.total > 'a'",
        "value.total.deeper == 1",
        "value.items[9].sku == 'c'",
        "value.missing == null",
        "key < 3",
        "key contains 3",
        "not (key exists or value)",
        "value.total == 1 or value.total == 2",
    ],
)
def test_what_is_not_so(text: str) -> None:
    assert not filter_of(text)(RECORD)


@pytest.mark.parametrize(
    "text",
    [
        "other == 1",
        "value.total >",
        "value.total > > 1",
        "(key exists",
        "key exists)",
        "key == eu",
        "key ==",
        "value[",
        "value[1.5].x == 1",
        "false == value.paid",
        'key == "a',
        'key == "\\x"',
        "key ~ 'x'",
        "__import__('os')",
        "key exists and",
        "(" * 100 + "key" + ")" * 100,
        "not " * 200 + "key",
        "k" * (FILTER_LENGTH_MAX + 1),
    ],
)
def test_what_is_no_filter_is_said(text: str) -> None:
    with pytest.raises(Mistake):
        filter_of(text)


def test_a_record_that_is_no_json_has_no_fields() -> None:
    assert not filter_of("value.total exists")(RECORD | {"value": "text"})
    assert filter_of("value contains 'ex'")(RECORD | {"value": "text"})
