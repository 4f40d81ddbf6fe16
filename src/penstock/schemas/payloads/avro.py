"""Avro's binary encoding, stepped over: nothing is built of it but the proof that it is there.

A schema becomes functions from bytes and a position to the position behind; a record's is a loop over its fields'.
Avro's libraries read such data for programs that trust it: they take indexes from the end where these are negative, and
recurse as deep as data says, which ends the process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from penstock.core.records.schema_ids import Check, Misfit
from penstock.schemas.avro.schema import parse_avro
from penstock.schemas.model import Reference
from penstock.schemas.payloads.unfit import NESTING_MAX, Unfit, unfit

if TYPE_CHECKING:
    from avro.schema import Schema

EMPTY_ITEMS_MAX: Final = 1_000_000
"""Items that take no bytes: data of a few bytes may claim any number of them."""

Skip = Callable[[bytes, int], int]


def avro_check(text: str, references: Sequence[Reference]) -> Check:
    skip = _Maker().skip(parse_avro(text, references).parsed)

    def check(payload: bytes) -> Misfit | None:
        try:
            end = skip(payload, 0)
        except (Unfit, IndexError) as failure:
            return unfit(failure).misfit()
        if end == len(payload):
            return None
        left = len(payload) - end
        return Misfit("", f"{left} bytes follow" if left > 0 else "ends too early")

    return check


# Numbers


def _number(data: bytes, p: int) -> tuple[int, int]:
    """Zigzag, seven bits in a byte."""
    n = data[p]
    p += 1
    if n > 127:
        n &= 127
        shift = 7
        while (byte := data[p]) > 127:
            n |= (byte & 127) << shift
            shift += 7
            p += 1
            if shift > 63:
                raise Unfit("is a number of more than 64 bits")
        n |= byte << shift
        p += 1
        if n >> 64:
            raise Unfit("is a number of more than 64 bits")
    return n >> 1 ^ -(n & 1), p


def _long(data: bytes, p: int) -> int:
    return p + 1 if data[p] < 128 else _number(data, p)[1]


def _int(data: bytes, p: int) -> int:
    if data[p] < 128:
        return p + 1
    n, p = _number(data, p)
    if not -(1 << 31) <= n < 1 << 31:
        raise Unfit(f"is {n}, which is no int")
    return p


def _null(data: bytes, p: int) -> int:
    return p


def _boolean(data: bytes, p: int) -> int:
    if data[p] > 1:
        raise Unfit(f"is {data[p]}, which is no boolean")
    return p + 1


# What has a size. Bytes that are not there are found out at the end, or by what is read behind them.


def _bytes(data: bytes, p: int) -> int:
    size, p = _number(data, p)
    if size < 0 or size > len(data) - p:
        raise Unfit(f"has a size of {size}, and {max(len(data) - p, 0)} bytes follow")
    return p + size


def _string(data: bytes, p: int) -> int:
    n = data[p]
    if n < 128 and not n & 1 and (end := p + 1 + (n >> 1)) <= len(data):
        text = data[p + 1 : end]
    else:
        end = _bytes(data, p)
        text = data[_number(data, p)[1] : end]
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError:
            raise Unfit("is no text of UTF-8") from None
    return end


def _fixed(size: int) -> Skip:
    def skip(data: bytes, p: int) -> int:
        if size > len(data) - p:
            raise Unfit(f"takes {size} bytes, and {max(len(data) - p, 0)} follow")
        return p + size

    return skip


_PRIMITIVES: Final[dict[str, Skip]] = {
    "null": _null,
    "boolean": _boolean,
    "int": _int,
    "long": _long,
    "float": _fixed(4),
    "double": _fixed(8),
    "bytes": _bytes,
    "string": _string,
}

# What is made of others


def _enum(symbols: int) -> Skip:
    def skip(data: bytes, p: int) -> int:
        at, p = _number(data, p)
        if not 0 <= at < symbols:
            raise Unfit(f"is symbol {at} of {symbols}")
        return p

    return skip


def _union(branches: list[Skip]) -> Skip:
    count = len(branches)

    def skip(data: bytes, p: int) -> int:
        n = data[p]
        if n < 128 and not n & 1 and n >> 1 < count:
            return branches[n >> 1](data, p + 1)
        at, p = _number(data, p)
        if not 0 <= at < count:
            raise Unfit(f"is branch {at} of {count}")
        return branches[at](data, p)

    return skip


def _blocks(item: Skip) -> Skip:
    """Blocks of items, each with its count; a negative one is followed by the size of the block."""

    def skip(data: bytes, p: int) -> int:
        while True:
            count, p = _number(data, p)
            if count == 0:
                return p
            end = -1
            if count < 0:
                size, p = _number(data, p)
                count, end = -count, p + size
            p = _items(item, count, data, p)
            if end not in (-1, p):
                raise Unfit("has a block of another size than it says")

    return skip


def _items(item: Skip, count: int, data: bytes, p: int) -> int:
    try:
        for at in range(min(count, len(data) + 1)):  # noqa: B007  # it says where, when it breaks off
            before, p = p, item(data, p)
            if p == before:
                break
    except (Unfit, IndexError) as failure:
        raise unfit(failure).within(f"[{at}]") from None
    if count and p == before and count > EMPTY_ITEMS_MAX:
        raise Unfit(f"claims {count} items of no bytes")
    if p != before and count > len(data) + 1:
        raise Unfit("ends too early")
    return p


class _Maker:
    """Makes the functions of one schema. Types that have names are made once, and may contain themselves."""

    def __init__(self) -> None:
        self._made: dict[str, Skip] = {}
        self._depth = 0

    def skip(self, schema: Schema) -> Skip:
        kind: Any = schema
        if schema.type in _PRIMITIVES:
            return _PRIMITIVES[schema.type]
        if schema.type in ("record", "error"):
            return self._made.get(kind.fullname) or self._record(kind)
        if schema.type == "enum":
            return _enum(len(kind.symbols))
        if schema.type == "fixed":
            return _fixed(kind.size)
        if schema.type == "array":
            return _blocks(self.skip(kind.items))
        if schema.type == "map":
            value = self.skip(kind.values)
            return _blocks(lambda data, p: value(data, _string(data, p)))
        return _union([self.skip(each) for each in kind.schemas])

    def _record(self, schema: Any) -> Skip:
        self._made[schema.fullname] = lambda data, p: self._deeper(skip, data, p)
        fields = [(field.name, self.skip(field.type)) for field in schema.fields]

        def skip(data: bytes, p: int) -> int:
            try:
                for name, field in fields:  # noqa: B007  # it says where, when it breaks off
                    p = field(data, p)
            except (Unfit, IndexError) as failure:
                raise unfit(failure).within(name) from None
            return p

        return skip

    def _deeper(self, skip: Skip, data: bytes, p: int) -> int:
        """A record within one of its kind, or a second use of it."""
        self._depth += 1
        try:
            if self._depth > NESTING_MAX:
                raise Unfit(f"is nested deeper than {NESTING_MAX}")
            return skip(data, p)
        finally:
            self._depth -= 1
