"""Protobuf's wire format, by what `schemas/protobuf` says of a file: each field that the message knows has to be of its
type. Fields that it does not know are passed over, as every reader does.

In front stands which message of the file it is, as indexes from the outside in, or a zero for the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from penstock.core.records.schema_ids import Check, Misfit
from penstock.schemas.model import Reference
from penstock.schemas.payloads.unfit import NESTING_MAX, Unfit, unfit
from penstock.schemas.protobuf.defining import NUMBER_MAX
from penstock.schemas.protobuf.schema import ProtobufSchema, parse_protobuf
from penstock.schemas.protobuf.types import Field, FieldType, File, Message

VARINT, FIXED64, SIZED, GROUP, GROUP_END, FIXED32 = range(6)
_WIRE_TYPES: Final = {
    **dict.fromkeys(("string", "bytes"), SIZED),
    **dict.fromkeys(("fixed32", "sfixed32", "float"), FIXED32),
    **dict.fromkeys(("fixed64", "sfixed64", "double"), FIXED64),
}
_NAMES: Final = ("a varint", "eight bytes", "a sized field", "a group", "the end of a group", "four bytes")

Skip = Callable[[bytes, int, int], int]
"""From bytes, a position and the end of what may be read to the position behind."""


def protobuf_check(text: str, references: Sequence[Reference]) -> Check:
    schema = parse_protobuf(text, references)
    maker, tree = _Maker(schema.file), _tree(schema)

    def check(payload: bytes) -> Misfit | None:
        try:
            name, p = _message(tree, payload)
            maker.message(name, 0)(payload, p, len(payload))
        except (Unfit, IndexError) as failure:
            return unfit(failure).misfit()
        return None

    return check


# Which message it is

_Tree = list[tuple[str, Any]]


def _tree(schema: ProtobufSchema) -> _Tree:
    return _nested(schema.syntax.file_elements, schema.file.package)


def _nested(elements: Iterable[Any], within: str) -> _Tree:
    """Messages in the order in which a descriptor has them: groups and maps make some, too."""
    from proto_schema_parser.ast import Group, MapField, Message, OneOf

    found: _Tree = []
    for each in elements:
        if isinstance(each, OneOf):
            found += _nested(each.elements, within)
        elif isinstance(each, MapField):
            found.append(("", []))
        elif isinstance(each, Message | Group):
            name = f"{within}.{each.name}" if within else each.name
            found.append((name, _nested(each.elements, name)))
    return found


def _message(tree: _Tree, payload: bytes) -> tuple[str, int]:
    count, p = _varint(payload, 0, len(payload))
    path = [0]
    if count:
        if count & 1 or count >> 1 > NESTING_MAX:
            raise Unfit("does not say which message it is")
        path = []
        for _ in range(count >> 1):
            n, p = _varint(payload, p, len(payload))
            path.append(-1 if n & 1 else n >> 1)
    name = ""
    for at in path:
        if not 0 <= at < len(tree):
            raise Unfit(f"says that it is message {path}, which the schema does not have")
        name, tree = tree[at]
    if not name:
        raise Unfit("says that it is an entry of a map")
    return name, p


# The wire


def _varint(data: bytes, p: int, end: int) -> tuple[int, int]:
    n = shift = 0
    while True:
        if p >= end:
            raise Unfit("ends too early")
        byte = data[p]
        p += 1
        n |= (byte & 127) << shift
        if byte < 128:
            return n, p
        shift += 7
        if shift > 63:
            raise Unfit("has a varint of more than ten bytes")


def _sized(data: bytes, p: int, end: int) -> tuple[int, int]:
    """Where what has a size begins, and where it ends."""
    size, p = _varint(data, p, end)
    if size > end - p:
        raise Unfit(f"has a size of {size}, and {end - p} bytes follow")
    return p, p + size


def _fixed(size: int) -> Skip:
    def skip(data: bytes, p: int, end: int) -> int:
        if size > end - p:
            raise Unfit("ends too early")
        return p + size

    return skip


def _skip_varint(data: bytes, p: int, end: int) -> int:
    return _varint(data, p, end)[1]


def _skip_sized(data: bytes, p: int, end: int) -> int:
    return _sized(data, p, end)[1]


def _string(data: bytes, p: int, end: int) -> int:
    start, p = _sized(data, p, end)
    text = data[start:p]
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError:
            raise Unfit("is no text of UTF-8") from None
    return p


_SKIPS: Final[dict[int, Skip]] = {
    VARINT: _skip_varint,
    FIXED64: _fixed(8),
    SIZED: _skip_sized,
    FIXED32: _fixed(4),
}


def _tag(data: bytes, p: int, end: int) -> tuple[int, int, int]:
    """The number of a field, its wire type, and the position behind."""
    tag, p = _varint(data, p, end)
    if not 0 < tag >> 3 <= NUMBER_MAX:
        raise Unfit(f"has a field of number {tag >> 3}")
    return tag >> 3, tag & 7, p


def _pass_over(number: int, wire_type: int, data: bytes, p: int, end: int, depth: int) -> int:
    """A field that nobody knows."""
    if wire_type in _SKIPS:
        return _SKIPS[wire_type](data, p, end)
    if wire_type != GROUP:
        raise Unfit(f"has a field of wire type {wire_type}")
    if depth >= NESTING_MAX:
        raise Unfit(f"is nested deeper than {NESTING_MAX}")
    while True:
        inner, wire_type, p = _tag(data, p, end)
        if (inner, wire_type) == (number, GROUP_END):
            return p
        p = _pass_over(inner, wire_type, data, p, end, depth + 1)


# Messages


class _Maker:
    """Reads messages by their definitions."""

    def __init__(self, file: File) -> None:
        self._file = file

    def message(self, name: str, depth: int, group: int = 0) -> Skip:
        """`group`: the number of the field that is a group, whose end ends the message."""
        known = self._file.messages.get(name)
        if known is None:
            # What everybody has is not looked into.
            known = Message()
        required = {number for number, field in known.fields.items() if field.label == "required"}
        return lambda data, p, end: self._read(known, required, depth, group, data, p, end)

    def _read(self, message: Message, required: set[int], depth: int, group: int, data: bytes, p: int, end: int) -> int:
        if depth > NESTING_MAX:
            raise Unfit(f"is nested deeper than {NESTING_MAX}")
        seen = set[int]()
        while p < end:
            number, wire_type, p = _tag(data, p, end)
            if wire_type == GROUP_END and number == group:
                break
            field = message.fields.get(number)
            if field is None:
                p = _pass_over(number, wire_type, data, p, end, depth)
                continue
            seen.add(number)
            try:
                p = self._field(field, wire_type, depth, data, p, end)
            except Unfit as failure:
                raise failure.within(field.name) from None
        else:
            if group:
                raise Unfit("ends too early")
        if not required <= seen:
            lacks = message.fields[min(required - seen)].name
            raise Unfit("is required").within(lacks)
        return p

    def _field(self, field: Field, wire_type: int, depth: int, data: bytes, p: int, end: int) -> int:
        kind = field.type.kind
        if kind == "map":
            return self._map(field.type, wire_type, depth, data, p, end)
        expected = _wire_type(field.type)
        if wire_type == SIZED and expected != SIZED and field.label == "repeated":
            start, stop = _sized(data, p, end)
            while start < stop:
                start = self._value(field.type, expected, depth, data, start, stop)
            return stop
        if kind == "message" and wire_type == GROUP:
            return self.message(field.type.name, depth + 1, field.number)(data, p, end)
        if wire_type != expected:
            found = _NAMES[wire_type] if wire_type < len(_NAMES) else f"of wire type {wire_type}"
            raise Unfit(f"is {found}, and {field.type.name} is {_NAMES[expected]}")
        return self._value(field.type, expected, depth, data, p, end)

    def _value(self, type: FieldType, wire_type: int, depth: int, data: bytes, p: int, end: int) -> int:
        if type.kind == "message":
            start, stop = _sized(data, p, end)
            self.message(type.name, depth + 1)(data, start, stop)
            return stop
        return _string(data, p, end) if type.name == "string" else _SKIPS[wire_type](data, p, end)

    def _map(self, type: FieldType, wire_type: int, depth: int, data: bytes, p: int, end: int) -> int:
        """An entry is a message with a key and a value."""
        if wire_type != SIZED:
            raise Unfit("is no entry of a map")
        assert type.key is not None, "a map has keys"
        assert type.value is not None, "and values"
        fields = {1: Field("key", 1, type.key, "", None), 2: Field("value", 2, type.value, "", None)}
        start, stop = _sized(data, p, end)
        self._read(Message(fields), set(), depth + 1, 0, data, start, stop)
        return stop


def _wire_type(type: FieldType) -> int:
    return SIZED if type.kind == "message" else _WIRE_TYPES.get(type.name, VARINT)
