"""Does a value have the declared shape? A Spark schema becomes one function that answers, or says where not.

`Shape.fit` gives a value ready for Arrow or raises `WrongSchema` with the path to the first thing that is wrong:
`items[2].price: expected double, found string`. Values are those of JSON or of Python; nothing is guessed: text is not
a number and 1.5 is not an integer. Times are ISO 8601, in UTC unless they say otherwise; bytes in JSON are base64.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import types as spark

from penstock.spark.pipelines.declaration import Misdeclared

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

# Deeper than any record that people write, and far from Python's own limit.
DEPTH_MAX: Final = 64

_INTEGERS: Final[Mapping[type[DataType], tuple[int, Any]]] = {
    spark.ByteType: (8, pa.int8()),
    spark.ShortType: (16, pa.int16()),
    spark.IntegerType: (32, pa.int32()),
    spark.LongType: (64, pa.int64()),
}
_FLOAT_MAX: Final = 3.4028234663852886e38


class WrongSchema(ValueError):
    """The value is well formed, and not what was declared."""


@dataclass(frozen=True)
class Shape:
    """`fit(value, path)` checks a value; `arrow` is the type that its results have."""

    fit: Callable[[Any, str], Any]
    arrow: Any


def row_shape(schema: StructType) -> Shape:
    """The shape of a whole row."""
    return _shape(schema, 0)


def _shape(kind: DataType, depth: int) -> Shape:
    if depth > DEPTH_MAX:
        raise Misdeclared(f"a schema is at most {DEPTH_MAX} levels deep")
    if isinstance(kind, spark.StructType):
        return _struct(kind, depth)
    if isinstance(kind, spark.ArrayType):
        return _array(kind, depth)
    if isinstance(kind, spark.MapType):
        return _map(kind, depth)
    if isinstance(kind, spark.DecimalType):
        return _decimal(kind)
    if type(kind) in _INTEGERS:
        return _integer(kind)
    if type(kind) in _PLAIN:
        return _PLAIN[type(kind)]
    raise Misdeclared(f"a record cannot be decoded into a field of type {kind.simpleString()}")


def _wrong(path: str, expected: str, value: Any) -> WrongSchema:
    return WrongSchema(f"{path or 'the value'}: expected {expected}, found {_found(value)}")


_NAMES: Final[Mapping[type, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}


def _found(value: Any) -> str:
    return _NAMES.get(type(value), type(value).__name__)


def _optional(shape: Shape, nullable: bool) -> Callable[[Any, str], Any]:
    fit = shape.fit
    if not nullable:

        def required(value: Any, path: str) -> Any:
            if value is None:
                raise WrongSchema(f"{path}: is missing or null")
            return fit(value, path)

        return required
    return lambda value, path: None if value is None else fit(value, path)


def _struct(kind: StructType, depth: int) -> Shape:
    shapes = [(field.name, _shape(field.dataType, depth + 1), field.nullable) for field in kind.fields]
    parts = [(name, f".{name}", shape.fit, nullable) for name, shape, nullable in shapes]

    def fit(value: Any, path: str) -> dict[str, Any]:
        if type(value) is not dict and not isinstance(value, Mapping):
            raise _wrong(path, "object", value)
        get = value.get
        fitted = {}
        # This is where decoding spends its time, so nulls are looked at here and not in a function for each field.
        for name, dotted, part, nullable in parts:
            found = get(name)
            # The path of a field of the row itself is its bare name.
            place = path + dotted if path else name
            if found is not None:
                fitted[name] = part(found, place)
            elif nullable:
                fitted[name] = None
            else:
                raise WrongSchema(f"{place}: is missing or null")
        return fitted

    return Shape(fit, pa.struct([pa.field(name, shape.arrow, nullable) for name, shape, nullable in shapes]))


def _array(kind: spark.ArrayType, depth: int) -> Shape:
    inner = _shape(kind.elementType, depth + 1)
    part = _optional(inner, kind.containsNull)

    def fit(value: Any, path: str) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise _wrong(path, "array", value)
        return [part(element, f"{path}[{index}]") for index, element in enumerate(value)]

    return Shape(fit, pa.list_(pa.field("element", inner.arrow, kind.containsNull)))


def _map(kind: spark.MapType, depth: int) -> Shape:
    keys, values = _shape(kind.keyType, depth + 1), _shape(kind.valueType, depth + 1)
    part = _optional(values, kind.valueContainsNull)

    def fit(value: Any, path: str) -> dict[Any, Any]:
        if not isinstance(value, Mapping):
            raise _wrong(path, "object", value)
        return {keys.fit(key, f"{path} key"): part(one, f"{path}[{key!r}]") for key, one in value.items()}

    return Shape(fit, pa.map_(keys.arrow, pa.field("value", values.arrow, kind.valueContainsNull)))


def _integer(kind: DataType) -> Shape:
    bits, arrow = _INTEGERS[type(kind)]
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    name = kind.simpleString()

    def fit(value: Any, path: str) -> int:
        if type(value) is not int:
            raise _wrong(path, name, value)
        if not least <= value <= most:
            raise WrongSchema(f"{path}: the number does not fit {name}")
        return value

    return Shape(fit, arrow)


def _decimal(kind: spark.DecimalType) -> Shape:
    name = kind.simpleString()
    whole_digits_max = kind.precision - kind.scale

    def fit(value: Any, path: str) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
            raise _wrong(path, name, value)
        try:
            number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        except InvalidOperation:
            raise WrongSchema(f"{path}: the text is not a number") from None
        if not number.is_finite():
            raise WrongSchema(f"{path}: the number does not fit {name}")
        places = -int(number.as_tuple().exponent)
        if (number and number.adjusted() >= whole_digits_max) or places > kind.scale:
            raise WrongSchema(f"{path}: the number does not fit {name}")
        return number

    return Shape(fit, pa.decimal128(kind.precision, kind.scale))


def _text(value: Any, path: str) -> str:
    if type(value) is not str:
        raise _wrong(path, "string", value)
    if not value.isascii():
        # JSON can spell half of a surrogate pair, which no encoding can.
        try:
            value.encode()
        except UnicodeEncodeError:
            raise WrongSchema(f"{path}: the text has a lone surrogate") from None
    return value


def _boolean(value: Any, path: str) -> bool:
    if type(value) is not bool:
        raise _wrong(path, "boolean", value)
    return value


def _double(value: Any, path: str) -> float:
    if type(value) is float:
        return value
    if type(value) is not int:
        raise _wrong(path, "double", value)
    try:
        return float(value)
    except OverflowError:
        raise WrongSchema(f"{path}: the number does not fit double") from None


def _float(value: Any, path: str) -> float:
    number = _double(value, path)
    if math.isfinite(number) and abs(number) > _FLOAT_MAX:
        raise WrongSchema(f"{path}: the number does not fit float")
    return number


def _bytes(value: Any, path: str) -> bytes:
    if isinstance(value, bytes):
        return value
    if type(value) is not str:
        raise _wrong(path, "binary", value)
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise WrongSchema(f"{path}: the text is not base64") from None


def _date(value: Any, path: str) -> date:
    if type(value) is date:
        return value
    if type(value) is not str:
        raise _wrong(path, "date", value)
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise WrongSchema(f"{path}: the text is not a date") from None


def _moment(value: Any, path: str) -> datetime:
    if type(value) is not str and not isinstance(value, datetime):
        raise _wrong(path, "timestamp", value)
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise WrongSchema(f"{path}: the text is not a time") from None


def _wall_time(value: Any, path: str) -> datetime:
    if type(value) is not str and not isinstance(value, datetime):
        raise _wrong(path, "timestamp_ntz", value)
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except ValueError:
        raise WrongSchema(f"{path}: the text is not a time") from None
    if moment.tzinfo is not None:
        raise WrongSchema(f"{path}: a time without a zone was declared, and this one has a zone")
    return moment


_PLAIN: Final[Mapping[type[DataType], Shape]] = {
    spark.StringType: Shape(_text, pa.string()),
    spark.BooleanType: Shape(_boolean, pa.bool_()),
    spark.DoubleType: Shape(_double, pa.float64()),
    spark.FloatType: Shape(_float, pa.float32()),
    spark.BinaryType: Shape(_bytes, pa.binary()),
    spark.DateType: Shape(_date, pa.date32()),
    spark.TimestampType: Shape(_moment, pa.timestamp("us", tz="UTC")),
    spark.TimestampNTZType: Shape(_wall_time, pa.timestamp("us")),
}
