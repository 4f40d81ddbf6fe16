"""A .proto file as protoc's descriptor: for clients that want it in that form, and to read and write its messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from penstock.schemas.model import Reference, SchemaError
from penstock.schemas.protobuf.descriptors import REPEATED, REQUIRED, SCALARS
from penstock.schemas.protobuf.schema import ProtobufSchema, parse_protobuf
from penstock.schemas.protobuf.types import Field, FieldType

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

NUMBERS: Final = {name: number for number, name in SCALARS.items()}
MESSAGE, ENUM, OPTIONAL = 11, 14, 1


def descriptors_of(name: str, text: str, references: Sequence[Reference]) -> list[FileDescriptorProto]:
    """Of a file and of what it imports, those that are imported first."""
    texts = {each.name: each.text for each in references}
    found: dict[str, FileDescriptorProto] = {}

    def add(file: str, content: str) -> None:
        made = descriptor_of(file, parse_protobuf(content, references))
        for imported in made.dependency:
            if imported in texts and imported not in found:
                add(imported, texts[imported])
        found[file] = made

    add(name, text)
    return list(found.values())


def descriptor_of(name: str, schema: ProtobufSchema) -> FileDescriptorProto:
    """Options are left out, but those by which bytes and JSON differ."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from proto_schema_parser import ast

    if schema.syntax.edition is not None:
        raise SchemaError("descriptors of editions are not made: use proto2 or proto3")
    version = (schema.syntax.syntax or "proto2").strip("\"'")
    made = FileDescriptorProto(name=name, package=schema.file.package)
    if version == "proto3":
        made.syntax = version
    for element in schema.syntax.file_elements:
        if isinstance(element, ast.Import):
            if element.public:
                made.public_dependency.append(len(made.dependency))
            made.dependency.append(element.name)
        elif isinstance(element, ast.Message):
            _message(made.message_type.add(), element, schema.file.package, schema, version)
        elif isinstance(element, ast.Enum):
            _enum(made.enum_type.add(), element)
    return made


def _message(made: DescriptorProto, syntax: Any, within: str, schema: ProtobufSchema, version: str) -> None:
    from proto_schema_parser import ast

    made.name = syntax.name
    whole = f"{within}.{syntax.name}" if within else syntax.name
    fields = {each.name: each for each in schema.file.messages[whole].fields.values()}
    optional: list[Any] = []

    def add(element: Any, oneof: int | None) -> None:
        if isinstance(element, ast.Field):
            field = _field(made, element, fields[element.name], schema, version)
            if oneof is not None:
                field.oneof_index = oneof
            elif version == "proto3" and (element.cardinality or "").upper() == "OPTIONAL":
                field.proto3_optional = True
                optional.append(field)
        elif isinstance(element, ast.MapField):
            _map(made, element, fields[element.name], whole, schema)
        elif isinstance(element, ast.OneOf):
            made.oneof_decl.add(name=element.name)
            index = len(made.oneof_decl) - 1
            for inner in element.elements:
                add(inner, index)
        elif isinstance(element, ast.Group):
            raise SchemaError(f"groups are not made into descriptors: {whole}.{element.name}")
        elif isinstance(element, ast.Message):
            _message(made.nested_type.add(), element, whole, schema, version)
        elif isinstance(element, ast.Enum):
            _enum(made.enum_type.add(), element)

    for element in syntax.elements:
        add(element, None)
    for field in optional:
        # What may be absent is a oneof of its own, behind all that are written.
        field.oneof_index = len(made.oneof_decl)
        made.oneof_decl.add(name=f"_{field.name}")


def _field(made: DescriptorProto, syntax: Any, field: Field, schema: ProtobufSchema, version: str) -> Any:
    labels = {"repeated": REPEATED, "required": REQUIRED}
    new = made.field.add(name=field.name, number=field.number, label=labels.get(field.label, OPTIONAL))
    _set_type(new, field.type, schema)
    for option in syntax.options:
        value = getattr(option.value, "name", option.value)
        if option.name == "packed":
            new.options.packed = str(value).lower() == "true"
        elif option.name == "json_name":
            new.json_name = str(value)
        elif option.name == "default" and version == "proto2":
            new.default_value = str(value).lower() if isinstance(value, bool) else str(value)
    return new


def _map(made: DescriptorProto, syntax: Any, field: Field, whole: str, schema: ProtobufSchema) -> None:
    """An entry is a message of its own."""
    name = "".join(part[:1].upper() + part[1:] for part in field.name.split("_")) + "Entry"
    entry = made.nested_type.add(name=name)
    entry.options.map_entry = True
    assert field.type.key is not None
    assert field.type.value is not None
    for number, (part, kind) in enumerate((("key", field.type.key), ("value", field.type.value)), 1):
        _set_type(entry.field.add(name=part, number=number, label=OPTIONAL), kind, schema)
    made.field.add(name=field.name, number=syntax.number, label=REPEATED, type=MESSAGE, type_name=f".{whole}.{name}")


def _set_type(field: Any, kind: FieldType, schema: ProtobufSchema) -> None:
    if kind.kind == "scalar":
        field.type = NUMBERS[kind.name]
        return
    is_known = kind.name in schema.file.messages or kind.name in schema.file.enums
    field.type_name = f".{kind.name}"
    if is_known:
        field.type = ENUM if kind.kind == "enum" else MESSAGE
    # Of what everybody has, the pool knows whether it is a message or an enum.


def _enum(made: Any, syntax: Any) -> None:
    from proto_schema_parser import ast

    made.name = syntax.name
    for element in syntax.elements:
        if isinstance(element, ast.EnumValue):
            made.value.add(name=element.name, number=element.number)
        elif isinstance(element, ast.Option) and element.name == "allow_alias":
            made.options.allow_alias = str(element.value).lower() == "true"
