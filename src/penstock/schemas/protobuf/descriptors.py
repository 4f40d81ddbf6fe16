"""A .proto file's descriptor in protoc's form, which clients send in base64, as the file's text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from penstock.schemas.model import SCHEMA_CHARS_MAX, SchemaError, missing

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FieldDescriptorProto
    from proto_schema_parser import ast

SCALARS: Final = {
    1: "double",
    2: "float",
    3: "int64",
    4: "uint64",
    5: "int32",
    6: "fixed64",
    7: "fixed32",
    8: "bool",
    9: "string",
    12: "bytes",
    13: "uint32",
    15: "sfixed32",
    16: "sfixed64",
    17: "sint32",
    18: "sint64",
}
"""The numbers that types have in descriptors."""
GROUP: Final = 10
REPEATED: Final = 3
REQUIRED: Final = 2
RANGE_END: Final = 1 << 29


def text_of(data: bytes) -> str:
    """Of a FileDescriptorProto. Options of fields that say how data is written stay; others are lost with their
    definitions, which a descriptor does not bring along."""
    try:
        from google.protobuf.descriptor_pb2 import FileDescriptorProto
        from google.protobuf.message import DecodeError
        from proto_schema_parser import ast
        from proto_schema_parser.generator import Generator
    except ImportError as failure:
        raise missing(str(failure.name)) from None
    if len(data) > SCHEMA_CHARS_MAX:
        raise SchemaError(f"the descriptor has {len(data)} bytes, {SCHEMA_CHARS_MAX} are allowed")
    file = FileDescriptorProto()
    try:
        file.ParseFromString(data)
    except (DecodeError, RecursionError):
        raise SchemaError("neither a .proto file nor the base64 of a descriptor") from None
    if not (file.message_type or file.enum_type or file.service or file.dependency):
        raise SchemaError("neither a .proto file nor the base64 of a descriptor that defines something")
    syntax = file.syntax or "proto2"
    if syntax not in ("proto2", "proto3"):
        raise SchemaError(f"descriptors of syntax {syntax} are not read: send the file's text")
    elements: list[Any] = [ast.Package(file.package)] if file.package else []
    public, weak = set(file.public_dependency), set(file.weak_dependency)
    elements += [ast.Import(name, weak=at in weak, public=at in public) for at, name in enumerate(file.dependency)]
    elements += [
        ast.Option(field.name, value if not field.enum_type else ast.Identifier(_enum_name(field, value)))
        for field, value in file.options.ListFields()
        if not field.is_extension and field.name != "uninterpreted_option"
    ]
    elements += [_message(each, syntax) for each in file.message_type]
    elements += [_enum(each) for each in file.enum_type]
    elements += [
        ast.Service(
            each.name,
            [
                ast.Method(
                    method.name,
                    ast.MessageType(method.input_type, method.client_streaming),
                    ast.MessageType(method.output_type, method.server_streaming),
                )
                for method in each.method
            ],
        )
        for each in file.service
    ]
    return str(Generator().generate(ast.File(syntax=syntax, file_elements=elements)))


def _message(message: DescriptorProto, syntax: str) -> ast.Message:
    from proto_schema_parser import ast

    maps = {each.name: each for each in message.nested_type if each.options.map_entry}
    synthetic = {each.oneof_index for each in message.field if each.proto3_optional}
    oneofs = [ast.OneOf(each.name) for each in message.oneof_decl]
    elements: list[Any] = []
    for field in message.field:
        if field.type == GROUP:
            raise SchemaError(
                f"groups are not read from descriptors ({message.name}.{field.name}): send the file's text"
            )
        entry = maps.get(field.type_name.rpartition(".")[2]) if field.label == REPEATED else None
        if entry is not None:
            key, value = (_type(each) for each in entry.field)
            elements.append(ast.MapField(field.name, field.number, key, value, _options(field)))
        elif field.HasField("oneof_index") and field.oneof_index not in synthetic:
            oneof = oneofs[field.oneof_index]
            if not oneof.elements:
                elements.append(oneof)
            oneof.elements.append(ast.Field(field.name, field.number, _type(field), None, _options(field)))
        else:
            elements.append(
                ast.Field(field.name, field.number, _type(field), _cardinality(field, syntax), _options(field))
            )
    reserved = _ranges((each.start, each.end - 1) for each in message.reserved_range)
    elements += _reserved(reserved, message.reserved_name, ast.Reserved)
    if message.extension_range:
        elements.append(ast.ExtensionRange(_ranges((each.start, each.end - 1) for each in message.extension_range)))
    elements += [_message(each, syntax) for each in message.nested_type if each.name not in maps]
    elements += [_enum(each) for each in message.enum_type]
    return ast.Message(message.name, elements)


def _enum(enum: EnumDescriptorProto) -> ast.Enum:
    from proto_schema_parser import ast

    elements: list[Any] = [ast.Option("allow_alias", True)] if enum.options.allow_alias else []
    elements += [ast.EnumValue(each.name, each.number) for each in enum.value]
    reserved = _ranges((each.start, each.end) for each in enum.reserved_range)
    return ast.Enum(enum.name, elements + _reserved(reserved, enum.reserved_name, ast.EnumReserved))


def _reserved(ranges: list[str], names: Iterable[str], kind: type) -> list[Any]:
    found = [kind(ranges=ranges)] if ranges else []
    named = [f'"{name}"' for name in names]
    return [*found, kind(names=named)] if named else found


def _ranges(pairs: Iterable[tuple[int, int]]) -> list[str]:
    return [
        str(first) if first == last else f"{first} to {'max' if last >= RANGE_END - 1 else last}"
        for first, last in pairs
    ]


def _type(field: FieldDescriptorProto) -> str:
    return SCALARS.get(field.type) or field.type_name


def _cardinality(field: FieldDescriptorProto, syntax: str) -> Any:
    from proto_schema_parser.ast import FieldCardinality

    if field.label == REPEATED:
        return FieldCardinality.REPEATED
    if field.label == REQUIRED:
        return FieldCardinality.REQUIRED
    return FieldCardinality.OPTIONAL if syntax == "proto2" or field.proto3_optional else None


def _options(field: FieldDescriptorProto) -> list[Any]:
    from proto_schema_parser.ast import Identifier, Option

    found: list[Any] = []
    if field.HasField("default_value"):
        is_text = field.type in (9, 12)
        found.append(Option("default", field.default_value if is_text else Identifier(field.default_value)))
    if field.options.HasField("packed"):
        found.append(Option("packed", field.options.packed))
    if field.options.HasField("deprecated"):
        found.append(Option("deprecated", field.options.deprecated))
    return found


def _enum_name(field: Any, value: int) -> str:
    found = field.enum_type.values_by_number.get(value)
    return found.name if found is not None else str(value)
