"""Whether data of one Avro schema can be read with another: Avro's schema resolution, without data.

Avro's own library has such a check, but gives kinds, places and messages as three unordered heaps, and loses the place
inside unions. The rules are those of its specification; the kinds have the names that Java's library gave them. A
logical type plays no part: what it means is the reader's affair.
"""

from typing import Final, cast

from avro.schema import (
    ArraySchema,
    EnumSchema,
    Field,
    FixedSchema,
    MapSchema,
    NamedSchema,
    RecordSchema,
    Schema,
    UnionSchema,
)

from penstock.schemas.model import Difference, Effort

READER_FIELD_MISSING_DEFAULT_VALUE: Final = "READER_FIELD_MISSING_DEFAULT_VALUE"
NAME_MISMATCH: Final = "NAME_MISMATCH"
TYPE_MISMATCH: Final = "TYPE_MISMATCH"
MISSING_UNION_BRANCH: Final = "MISSING_UNION_BRANCH"
MISSING_ENUM_SYMBOLS: Final = "MISSING_ENUM_SYMBOLS"
FIXED_SIZE_MISMATCH: Final = "FIXED_SIZE_MISMATCH"

PROMOTIONS: Final = {
    "long": {"int"},
    "float": {"int", "long"},
    "double": {"int", "long", "float"},
    "bytes": {"string"},
    "string": {"bytes"},
}
"""What a reader's type takes beside itself."""

# Without order in mind, and each once: types that are used in many places are found wanting once.
Found = dict[Difference, None]


def resolve(reader: Schema, writer: Schema) -> list[Difference]:
    return list(_Resolution().of(reader, writer, ""))


class _Resolution:
    """One comparison. A pair that is met again inside itself is taken for compatible: the outer one will tell."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Found] = {}
        self._effort = Effort()

    def of(self, reader: Schema, writer: Schema, path: str) -> Found:
        pair = (id(reader), id(writer))
        if pair not in self._known:
            self._effort.spend()
            self._known[pair] = {}
            self._known[pair] = self._resolved(reader, writer, path)
        return self._known[pair]

    def _resolved(self, reader: Schema, writer: Schema, path: str) -> Found:
        if isinstance(writer, UnionSchema):
            return self._from_union(reader, writer, path)
        if isinstance(reader, UnionSchema):
            if any(not self.of(branch, writer, f"{path}/{at}") for at, branch in enumerate(reader.schemas)):
                return {}
            return _one(MISSING_UNION_BRANCH, path, f"the reader's union has no branch for {_called(writer)}")
        if isinstance(reader, RecordSchema) and isinstance(writer, RecordSchema):
            return _names(reader, writer, path) | self._fields(reader, writer, path)
        if isinstance(reader, ArraySchema) and isinstance(writer, ArraySchema):
            return self.of(reader.items, writer.items, f"{path}/items")
        if isinstance(reader, MapSchema) and isinstance(writer, MapSchema):
            return self.of(reader.values, writer.values, f"{path}/values")
        if isinstance(reader, EnumSchema) and isinstance(writer, EnumSchema):
            return _names(reader, writer, path) | _symbols(reader, writer, path)
        if isinstance(reader, FixedSchema) and isinstance(writer, FixedSchema):
            return _names(reader, writer, path) | _size(reader, writer, path)
        if reader.type == writer.type or writer.type in PROMOTIONS.get(reader.type, ()):
            return {}
        return _one(TYPE_MISMATCH, path, f"{_called(writer)} cannot be read as {_called(reader)}")

    def _from_union(self, reader: Schema, writer: UnionSchema, path: str) -> Found:
        found: Found = {}
        for at, branch in enumerate(writer.schemas):
            if not isinstance(reader, UnionSchema):
                found |= self.of(reader, branch, path)
            elif self.of(reader, branch, f"{path}/{at}"):
                message = f"the reader's union has no branch for {_called(branch)}"
                found |= _one(MISSING_UNION_BRANCH, f"{path}/{at}", message)
        return found

    def _fields(self, reader: RecordSchema, writer: RecordSchema, path: str) -> Found:
        found: Found = {}
        for at, field in enumerate(reader.fields):
            written = _written_field(field, writer)
            if written is not None:
                found |= self.of(field.type, written.type, f"{path}/fields/{at}/type")
            elif not field.has_default:
                message = f"the reader's field {field.name} has no default, and the writer has no such field"
                found |= _one(READER_FIELD_MISSING_DEFAULT_VALUE, f"{path}/fields/{at}", message)
        return found


def _written_field(field: Field, writer: RecordSchema) -> Field | None:
    fields: dict[str, Field] = {each.name: each for each in writer.fields}
    return next((fields[name] for name in (field.name, *_aliases(field)) if name in fields), None)


def _names(reader: NamedSchema, writer: NamedSchema, path: str) -> Found:
    """Names must be the same without their namespaces, or an alias of the reader the whole name of the writer."""
    if reader.name == writer.name:
        return {}
    if any(_whole(alias, reader) == writer.fullname for alias in _aliases(reader)):
        return {}
    return _one(NAME_MISMATCH, f"{path}/name", f"{writer.fullname} cannot be read as {reader.fullname}")


def _aliases(thing: NamedSchema | Field) -> list[str]:
    return cast("list[str]", thing.props.get("aliases", []))


def _whole(alias: str, schema: NamedSchema) -> str:
    namespace = schema.fullname.rpartition(".")[0]
    return alias if "." in alias or not namespace else f"{namespace}.{alias}"


def _symbols(reader: EnumSchema, writer: EnumSchema, path: str) -> Found:
    lacking = [symbol for symbol in writer.symbols if symbol not in reader.symbols]
    if not lacking or reader.props.get("default") in reader.symbols:
        return {}
    return _one(MISSING_ENUM_SYMBOLS, f"{path}/symbols", f"the reader's enum lacks {', '.join(lacking)}")


def _size(reader: FixedSchema, writer: FixedSchema, path: str) -> Found:
    if reader.size == writer.size:
        return {}
    message = f"{writer.size} bytes cannot be read as {reader.size} bytes"
    return _one(FIXED_SIZE_MISMATCH, f"{path}/size", message)


def _called(schema: Schema) -> str:
    return f"{schema.type} {schema.fullname}" if isinstance(schema, NamedSchema) else str(schema.type)


def _one(kind: str, path: str, message: str) -> Found:
    return {Difference(kind, path or "/", message): None}
