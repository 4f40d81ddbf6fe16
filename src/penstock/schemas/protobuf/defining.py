"""From the syntax of a .proto file to its messages and enums: names resolved, numbers checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from penstock.schemas.model import SchemaError
from penstock.schemas.protobuf.types import SCALARS, Field, FieldType, Message

if TYPE_CHECKING:
    from proto_schema_parser import ast

NUMBER_MAX: Final = (1 << 29) - 1
RESERVED_BY_PROTOBUF: Final = range(19_000, 20_000)


@dataclass(slots=True)
class Definitions:
    """All that is known of a file and what it imports, by full names."""

    messages: dict[str, Message] = field(default_factory=dict)
    enums: dict[str, dict[int, str]] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Own:
    """What one file defines."""

    package: str
    names: list[str]


def define(syntax: ast.File, found: Definitions) -> Own:
    """First all names, then the fields, which may use any of them."""
    from proto_schema_parser.ast import Package

    package = next((each.name for each in syntax.file_elements if isinstance(each, Package)), "")
    declared = list(_declared(syntax.file_elements, package))
    for name, each in declared:
        if name in found.messages or name in found.enums:
            raise SchemaError(f"{name} is defined twice")
        if type(each).__name__ == "Enum":
            found.enums[name] = _values(name, each)
        else:
            found.messages[name] = Message()
    for name, each in declared:
        if name in found.messages:
            _fill(name, each, found, syntax.syntax)
    return Own(package, [name for name, _ in declared])


def _declared(elements: list[Any], within: str) -> Iterator[tuple[str, Any]]:
    """Messages, groups and enums with their full names, from the outside in."""
    from proto_schema_parser.ast import Enum, Group, Message, OneOf

    for each in elements:
        if isinstance(each, OneOf):
            yield from _declared(each.elements, within)
        elif isinstance(each, Message | Group | Enum):
            name = f"{within}.{each.name}" if within else each.name
            yield name, each
            if not isinstance(each, Enum):
                yield from _declared(each.elements, name)


def _values(name: str, syntax: ast.Enum) -> dict[int, str]:
    from proto_schema_parser.ast import EnumValue

    # With `allow_alias` the first name of a number counts.
    values = {each.number: each.name for each in reversed(syntax.elements) if isinstance(each, EnumValue)}
    if not values:
        raise SchemaError(f"the enum {name} has no values")
    return values


def _fill(name: str, syntax: ast.Message | ast.Group, found: Definitions, version: str | None) -> None:
    from proto_schema_parser.ast import Reserved

    fields = found.messages[name].fields
    reserved = [each for each in syntax.elements if isinstance(each, Reserved)]
    taken = {text.strip("\"'") for each in reserved for text in each.names}
    ranges = [_range(text) for each in reserved for text in each.ranges]
    for each in _fields(name, syntax.elements, None, found):
        _check_number(name, each.number)
        if each.number in fields or each.name in {other.name for other in fields.values()}:
            raise SchemaError(f"{name} has two fields of the name {each.name} or the number {each.number}")
        if each.name in taken or any(each.number in numbers for numbers in ranges):
            raise SchemaError(f"the field {each.name} = {each.number} of {name} is reserved")
        if each.label == "required" and version == "proto3":
            raise SchemaError(f"the field {each.name} of {name} is required, which proto3 does not have")
        fields[each.number] = each


def _fields(within: str, elements: list[Any], oneof: str | None, found: Definitions) -> Iterator[Field]:
    from proto_schema_parser.ast import Field as FieldSyntax
    from proto_schema_parser.ast import Group, MapField, OneOf

    for each in elements:
        if isinstance(each, OneOf):
            yield from _fields(within, each.elements, each.name, found)
        elif isinstance(each, FieldSyntax):
            yield Field(each.name, each.number, _type(each.type, within, found), _label(each), oneof)
        elif isinstance(each, Group):
            made = FieldType(f"{within}.{each.name}", "message")
            yield Field(each.name.lower(), each.number, made, _label(each), oneof)
        elif isinstance(each, MapField):
            key, value = _type(each.key_type, within, found), _type(each.value_type, within, found)
            yield Field(each.name, each.number, FieldType("map", "map", key, value), "", oneof)


def _label(syntax: ast.Field | ast.Group) -> str:
    """A field that may be absent is the same whether it says so or not."""
    label = (syntax.cardinality or "").lower()
    return label if label in ("repeated", "required") else ""


def _type(name: str, within: str, found: Definitions) -> FieldType:
    if name in SCALARS:
        return FieldType(name, "scalar")
    scopes = _scopes(within) if not name.startswith(".") else [""]
    for scope in scopes:
        whole = f"{scope}.{name}".lstrip(".")
        if whole in found.messages:
            return FieldType(whole, "message")
        if whole in found.enums:
            return FieldType(whole, "enum")
    if name.lstrip(".").startswith("google.") and any(each.startswith("google/") for each in found.files):
        return FieldType(name.lstrip("."), "message")
    raise SchemaError(f"{within} uses the type {name}, which is not defined")


def _scopes(within: str) -> list[str]:
    """Where a name is looked for: in the message, in those around it, in the package and those around that."""
    parts = within.split(".")
    return [".".join(parts[:count]) for count in range(len(parts), -1, -1)]


def _check_number(message: str, number: int) -> None:
    if not 0 < number <= NUMBER_MAX or number in RESERVED_BY_PROTOBUF:
        raise SchemaError(f"{number} is not a number that a field of {message} can have")


def _range(text: str) -> range:
    """`5`, `2 to 4` or `9 to max`."""
    first, _, last = text.partition(" to ")
    end = NUMBER_MAX if last.strip() == "max" else int(last or first)
    return range(int(first), end + 1)
