"""What a .proto file defines, as values: messages by name, fields by number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

SCALARS: Final = {
    "int32": "number",
    "int64": "number",
    "uint32": "number",
    "uint64": "number",
    "bool": "number",
    "sint32": "zigzag number",
    "sint64": "zigzag number",
    "fixed32": "fixed32",
    "sfixed32": "fixed32",
    "fixed64": "fixed64",
    "sfixed64": "fixed64",
    "float": "float",
    "double": "double",
    "string": "text or bytes",
    "bytes": "text or bytes",
}
"""Scalar types, and the families in which one may become another."""
ENUM_FAMILY: Final = "number"
TEXT: Final = "text or bytes"


@dataclass(frozen=True, slots=True)
class FieldType:
    """What a field holds: a scalar, an enum or a message by its full name, or a map of such."""

    name: str
    kind: str  # "scalar", "enum", "message" or "map"
    key: FieldType | None = None
    value: FieldType | None = None

    @property
    def family(self) -> str | None:
        """Of scalars and enums, which one may become another of the same."""
        return ENUM_FAMILY if self.kind == "enum" else SCALARS.get(self.name)


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    number: int
    type: FieldType
    label: str  # "repeated", "required", or "" for one that may be absent
    oneof: str | None


@dataclass(slots=True)
class Message:
    """One message; those inside it stand beside it, under their longer names."""

    fields: dict[int, Field] = field(default_factory=dict)

    def oneofs(self) -> dict[str, list[Field]]:
        found: dict[str, list[Field]] = {}
        for each in self.fields.values():
            if each.oneof is not None:
                found.setdefault(each.oneof, []).append(each)
        return found


@dataclass(slots=True)
class File:
    """A file with what it imports: types by their full names, and which of them it defines itself."""

    package: str
    messages: dict[str, Message]
    enums: dict[str, dict[int, str]]
    own: list[str]

    def local(self, name: str) -> str:
        """A full name without the package."""
        return name.removeprefix(f"{self.package}.") if self.package else name
