"""What the declarations say, as plain values: fields, structs and the versions they hold for.

Everything here is inert. `schema` fills these values from class bodies, the compilers read them.
"""

from functools import cache
from typing import Any, TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview

ZERO_UUID = bytes(16)
VERSION_MAX = 0x7FFF

EVERY_VERSION = "0+"
NO_VERSION = "none"

STRING = "string"
BLOB = "bytes"
RECORDS = "records"
ARRAY = "array"
STRUCT = "struct"

FIXED_FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
"""Kinds of one fixed width, with the `struct` format of each."""


class Field:
    """One field on the wire. `struct` says what a struct field holds, `element` what an array holds.

    The class body that a field stands in gives it its name; elements of arrays keep the one they are born with.
    """

    __slots__ = ("default", "element", "ignorable", "kind", "name", "nullable", "struct", "tag", "tagged", "versions")

    def __init__(
        self,
        kind: str,
        default: Any,
        versions: str,
        nullable: str = NO_VERSION,
        tag: int = -1,
        tagged: str = EVERY_VERSION,
        ignorable: bool = False,
        struct: "StructSpec | None" = None,
        element: "Field | None" = None,
    ) -> None:
        self.name = "element"
        self.kind = kind
        self.default = default
        self.versions = versions
        self.nullable = nullable
        self.tag = tag
        self.tagged = tagged
        self.ignorable = ignorable
        self.struct = struct
        self.element = element

    @property
    def none_is_absent(self) -> bool:
        """Whether None stands for a tagged struct that was not sent, because the wire knows no null for it."""
        return self.kind == STRUCT and self.tag >= 0 and self.nullable == NO_VERSION

    def exists_in(self, version: int) -> bool:
        return version in version_range(self.versions)

    def nullable_in(self, version: int) -> bool:
        return version in version_range(self.nullable)

    def tagged_in(self, version: int) -> bool:
        return self.tag >= 0 and self.exists_in(version) and version in version_range(self.tagged)


class StructSpec:
    """A struct's fields in wire order, and the class whose instances hold them."""

    __slots__ = ("fields", "python_class")

    def __init__(self, python_class: type, fields: tuple[Field, ...]) -> None:
        self.python_class = python_class
        self.fields = fields

    @property
    def name(self) -> str:
        return self.python_class.__name__

    def plain_fields(self, version: int) -> list[Field]:
        """The fields that a version always writes, in wire order."""
        return [field for field in self.fields if field.exists_in(version) and not field.tagged_in(version)]

    def tagged_fields(self, version: int) -> list[Field]:
        """The fields that a version writes under a tag when they are set, by rising tag."""
        return sorted((field for field in self.fields if field.tagged_in(version)), key=lambda field: field.tag)

    def absent_fields(self, version: int) -> list[Field]:
        return [field for field in self.fields if not field.exists_in(version)]


@cache
def version_range(text: str) -> range:
    """The versions a range written as Kafka does stands for: `none`, `4`, `0-3` or `7+`."""
    if text == NO_VERSION:
        return range(0)
    if text.endswith("+"):
        return range(int(text[:-1]), VERSION_MAX + 1)
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def has_records(spec: StructSpec, version: int) -> bool:
    """Whether a struct carries record batches, which are neither copied when decoded nor when encoded."""
    for field in spec.fields:
        if not field.exists_in(version):
            continue
        inner = field.element or field
        if inner.kind == RECORDS or (inner.struct is not None and has_records(inner.struct, version)):
            return True
    return False
