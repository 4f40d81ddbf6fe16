"""What clients push: OpenTelemetry's metrics in Protobuf, as far as clients of Kafka use them.

A reader of the few messages that matter: gauges and sums of numbers, their attributes, and those of the client. It
stops at bounds, lets pass what it does not know, and answers what is no Protobuf with an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from penstock.core.base.errors import PenstockError
from penstock.core.base.ports import Pause, Steps

METRICS_PER_TURN_MAX: Final = 64
FIELDS_MAX: Final = 4_000
"""Of one message: a millisecond or two of work."""
POINTS_MAX: Final = 1_000
"""Numbers of one push."""
TEXT_BYTES_MAX: Final = 256
ATTRIBUTES_MAX: Final = 16
DELTA: Final = 1
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DOUBLE: Final = Struct("<d")
_SIGNED: Final = Struct("<q")
_SHIFT_MAX: Final = 63

Value = int | memoryview
Labels = tuple[tuple[str, str], ...]


class NotTelemetry(PenstockError):
    """The bytes are not what they claim to be."""


class Point(NamedTuple):
    """One number of a client."""

    name: str
    labels: Labels
    value: float
    is_counter: bool
    is_delta: bool


def points(data: memoryview) -> Steps[list[Point]]:
    """All numbers of a push, up to the bound."""
    found: list[Point] = []
    try:
        for resource in _messages(data, 1):
            for scope in _messages(resource, 2):
                for count, metric in enumerate(_messages(scope, 2), 1):
                    found += _of_metric(metric)
                    if len(found) >= POINTS_MAX:
                        return found[:POINTS_MAX]
                    if count % METRICS_PER_TURN_MAX == 0:
                        yield Pause()
                yield Pause()
    except (IndexError, UnicodeDecodeError) as error:
        raise NotTelemetry(f"this is no Protobuf: {error}") from None
    return found


def _of_metric(metric: memoryview) -> Iterator[Point]:
    """Histograms and summaries are let pass: no client of Kafka sends them."""
    name, data, is_sum = "", None, False
    for number, value in _fields(metric):
        if number == 1:
            name = _text(value)
        elif number in (5, 7):
            data, is_sum = _message(value), number == 7
    if not name or data is None:
        return
    numbers: list[memoryview] = []
    temporality = monotonic = 0
    for number, value in _fields(data):
        if number == 1:
            numbers.append(_message(value))
        elif number == 2 and is_sum:
            temporality = _number(value)
        elif number == 3 and is_sum:
            monotonic = _number(value)
    for each in numbers:
        labels, amount = _of_point(each)
        if amount is not None:
            yield Point(name, labels, amount, bool(monotonic), temporality == DELTA)


def _of_point(point: memoryview) -> tuple[Labels, float | None]:
    labels: dict[str, str] = {}
    amount: float | None = None
    for number, value in _fields(point):
        if number == 4:
            amount = _DOUBLE.unpack(_fixed(value))[0]
        elif number == 6:
            amount = _SIGNED.unpack(_fixed(value))[0]
        elif number == 7 and len(labels) < ATTRIBUTES_MAX:
            key, text = _attribute(_message(value))
            labels[key] = text
    return tuple(sorted(labels.items())), amount


def _attribute(pair: memoryview) -> tuple[str, str]:
    key, text = "", ""
    for number, value in _fields(pair):
        if number == 1:
            key = _text(value)
        elif number == 2:
            text = _any(_message(value))
    return key, text


def _any(value: memoryview) -> str:
    for number, inner in _fields(value):
        if number == 1:
            return _text(inner)
        if number == 2:
            return "true" if _number(inner) else "false"
        if number == 3:
            found = _number(inner)
            return str(found - (1 << 64) if found >> 63 else found)
        if number == 4:
            return repr(_DOUBLE.unpack(_fixed(inner))[0])
    return ""


# Protobuf


def _messages(data: memoryview, wanted: int) -> Iterator[memoryview]:
    for number, value in _fields(data):
        if number == wanted:
            yield _message(value)


def _fields(data: memoryview) -> Iterator[tuple[int, Value]]:
    """Numbers and values of a message, one after the other."""
    at, end, left = 0, len(data), FIELDS_MAX
    while at < end:
        left -= 1
        if left < 0:
            raise NotTelemetry(f"a message has more than {FIELDS_MAX} fields")
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind == _BYTES:
            size, at = _varint(data, at)
        elif kind == _FIXED64:
            size = 8
        elif kind == _FIXED32:
            size = 4
        else:
            raise NotTelemetry(f"wire type {kind} is not known")
        if size > end - at:
            raise NotTelemetry("a field is longer than its message")
        yield number, data[at : at + size]
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > _SHIFT_MAX:
            raise NotTelemetry("a number is too long")


def _message(value: Value) -> memoryview:
    if isinstance(value, int):
        raise NotTelemetry("a number stands where a message should")
    return value


def _fixed(value: Value) -> memoryview:
    if isinstance(value, int) or len(value) != _DOUBLE.size:
        raise NotTelemetry("eight bytes should stand here")
    return value


def _number(value: Value) -> int:
    if not isinstance(value, int):
        raise NotTelemetry("a number should stand here")
    return value


def _text(value: Value) -> str:
    return str(_message(value)[:TEXT_BYTES_MAX], "utf-8", "replace")
