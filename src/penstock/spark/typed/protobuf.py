"""Protobuf's values as rows. Fields are known by their numbers, so bytes of any writer are read with the reader's
message; the writer's schema says which message they are."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import types as t

from penstock.schemas.model import Format, SchemaError
from penstock.schemas.typed.protobuf import ProtobufCodec
from penstock.spark.typed.pinned import Text
from penstock.spark.typed.reader import DEPTH_MAX, PARTS_MAX, Kind, Read, Unfit, array_kind, map_kind, record_kind

_TEXT: Final = Kind(t.StringType(), pa.string())
_LONG: Final = Kind(t.LongType(), pa.int64())
_SCALARS: Final = {
    1: Kind(t.IntegerType(), pa.int32()),
    2: _LONG,
    3: _LONG,
    # What has no sign needs twice the room.
    4: Kind(t.DecimalType(20, 0), pa.decimal128(20, 0)),
    5: Kind(t.DoubleType(), pa.float64()),
    6: Kind(t.FloatType(), pa.float32()),
    7: Kind(t.BooleanType(), pa.bool_()),
    8: _TEXT,
    9: _TEXT,
}
"""By the types that values have in memory; an enum's is its symbol."""
_ENUM, _STRING, _MESSAGE, _BYTES_TYPE = 8, 9, 10, 12
_BYTES: Final = Kind(t.BinaryType(), pa.binary())
_TIMESTAMP: Final = "google.protobuf.Timestamp"
_WRAPPERS: Final = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
Get = Callable[[Any], Any]


class ProtobufReader:
    def __init__(self, text: Text) -> None:
        from google.protobuf import message_factory

        self._codec = ProtobufCodec(text.text, text.references)
        self._message = self._codec.message(text.message)
        self._class = message_factory.GetMessageClass(self._message)
        columns = _Columns()
        kind, self._get = columns.record(self._message, 0)
        assert isinstance(kind.spark, t.StructType), "a message is a row"
        self.fields = kind.spark
        self.arrow = kind.arrow

    def of(self, written: Text) -> Read:
        if written.format is not Format.PROTOBUF:
            raise SchemaError(f"{written.name} is one of {written.format}, not of protobuf")
        writer, wanted = ProtobufCodec(written.text, written.references), self._message.full_name
        make, get = self._class, self._get

        def read(payload: bytes) -> dict[str, Any]:
            message, at = writer.named(payload)
            if message.full_name != wanted:
                raise Unfit(f"it is a message {message.full_name}, not {wanted}")
            found = make()
            found.ParseFromString(payload[at:])
            row: dict[str, Any] = get(found)
            return row

        return read


class _Columns:
    """The column of each field, and what gets its value out of a message."""

    def __init__(self) -> None:
        self._parts = 0

    def record(self, message: Any, depth: int) -> tuple[Kind, Get]:
        self._parts += 1
        if depth > DEPTH_MAX or self._parts > PARTS_MAX:
            raise SchemaError("the message refers to itself, or is too deep or too large for columns")
        found = [(field.name, *self._field(field, depth + 1)) for field in message.fields]
        parts = [(name, get) for name, _, get in found]
        kind = record_kind([(name, kind) for name, kind, _ in found])
        return kind, lambda value: {name: get(value) for name, get in parts}

    def _field(self, field: Any, depth: int) -> tuple[Kind, Get]:
        name = field.name
        if field.is_repeated:
            if field.message_type is not None and field.message_type.GetOptions().map_entry:
                return self._map(field, depth)
            kind, convert = self._one(field, depth)
            if convert is None:
                return array_kind(kind), lambda message: list(getattr(message, name))
            return array_kind(kind), lambda message: [convert(each) for each in getattr(message, name)]
        kind, convert = self._one(field, depth)
        plain: Get = attrgetter(name)
        get = plain if convert is None else (lambda message: convert(getattr(message, name)))
        if not field.has_presence or field.is_required:
            return kind, get
        return kind._replace(nullable=True), lambda message: get(message) if message.HasField(name) else None

    def _map(self, field: Any, depth: int) -> tuple[Kind, Get]:
        entry, name = field.message_type.fields_by_name, field.name
        (key, _), (value, convert) = self._one(entry["key"], depth), self._one(entry["value"], depth)
        kind = map_kind(key, value)
        if convert is None:
            return kind, lambda message: list(getattr(message, name).items())
        return kind, lambda message: [(at, convert(each)) for at, each in getattr(message, name).items()]

    def _one(self, field: Any, depth: int) -> tuple[Kind, Get | None]:
        """Of a single value; None where it is taken as it is."""
        if field.cpp_type == _MESSAGE:
            return self._inner(field.message_type, depth)
        if field.cpp_type == _ENUM:
            symbols = {number: each.name for number, each in field.enum_type.values_by_number.items()}
            # What a later schema added is told by its number.
            return _TEXT, lambda number: symbols.get(number) or str(number)
        return (_BYTES if field.type == _BYTES_TYPE else _SCALARS[field.cpp_type]), None

    def _inner(self, message: Any, depth: int) -> tuple[Kind, Get | None]:
        if message.full_name == _TIMESTAMP:
            return Kind(t.TimestampType(), pa.timestamp("us", "UTC")), _micros
        if message.full_name in _WRAPPERS:
            kind, _ = self._one(message.fields_by_name["value"], depth)
            return kind, lambda wrapper: wrapper.value
        return self.record(message, depth)


def _micros(moment: Any) -> int:
    return int(moment.seconds * 1_000_000 + moment.nanos // 1_000)
