"""The slow twin of the compiled codecs: it interprets the declarations field by field, with no cleverness at all."""

import struct
from typing import Any

from penstock.core.wire.errors import DecodeError, EncodeError
from penstock.core.wire.fields import ARRAY, FIXED_FORMATS, STRING, STRUCT, Field, StructSpec
from penstock.core.wire.schema import Message


def encode(message: Message, version: int) -> bytes:
    return _Writer(version, type(message).is_flexible(version)).struct(type(message).SPEC, message)


def decode(message: type[Message], data: bytes, version: int) -> Any:
    reader = _Reader(data, version, message.is_flexible(version))
    made = reader.struct(message.SPEC)
    if reader.position != len(data):
        raise DecodeError("stray bytes")
    return made


def varint(value: int) -> bytes:
    encoded = b""
    while value >= 0x80:
        encoded += bytes([value % 0x80 + 0x80])
        value //= 0x80
    return encoded + bytes([value])


def default_of(field: Field) -> Any:
    if field.kind == ARRAY and field.default is not None:
        return []
    if field.kind == STRUCT and field.default is not None:
        assert field.struct is not None
        return field.struct.python_class()
    return field.default


class _Writer:
    def __init__(self, version: int, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible

    def struct(self, spec: StructSpec, value: Any) -> bytes:
        encoded = b""
        for field in spec.fields:
            if not field.exists_in(self.version):
                if not field.ignorable and getattr(value, field.name) != default_of(field):
                    raise EncodeError(field.name)
            elif not field.tagged_in(self.version):
                encoded += self.field(field, getattr(value, field.name))
        return encoded + self.tags(spec, value) if self.flexible else encoded

    def tags(self, spec: StructSpec, value: Any) -> bytes:
        written = []
        for field in sorted(spec.fields, key=lambda field: field.tag):
            if field.tagged_in(self.version) and getattr(value, field.name) != default_of(field):
                body = self.tagged(field, getattr(value, field.name))
                written.append(varint(field.tag) + varint(len(body)) + body)
        return varint(len(written)) + b"".join(written)

    def tagged(self, field: Field, value: Any) -> bytes:
        if field.kind == STRUCT and field.nullable_in(self.version):
            assert field.struct is not None
            return b"\0" if value is None else b"\1" + self.struct(field.struct, value)
        return self.field(field, value)

    def field(self, field: Field, value: Any) -> bytes:
        if value is None and not field.nullable_in(self.version):
            raise EncodeError(field.name)
        if field.kind in FIXED_FORMATS:
            return struct.pack(">" + FIXED_FORMATS[field.kind], value)
        if field.kind == STRUCT:
            assert field.struct is not None
            if not field.nullable_in(self.version):
                return self.struct(field.struct, value)
            return b"\xff" if value is None else b"\1" + self.struct(field.struct, value)
        if value is None:
            return self.length(field, -1)
        if field.kind == ARRAY:
            assert field.element is not None
            return self.length(field, len(value)) + b"".join(self.field(field.element, item) for item in value)
        data = value.encode() if field.kind == STRING else bytes(value)
        return self.length(field, len(data)) + data

    def length(self, field: Field, length: int) -> bytes:
        if self.flexible:
            return varint(length + 1)
        return struct.pack(">h" if field.kind == STRING else ">i", length)


class _Reader:
    def __init__(self, data: bytes, version: int, flexible: bool) -> None:
        self.data = data
        self.position = 0
        self.version = version
        self.flexible = flexible

    def take(self, count: int) -> bytes:
        if count < 0 or self.position + count > len(self.data):
            raise DecodeError("too short")
        self.position += count
        return self.data[self.position - count : self.position]

    def varint(self) -> int:
        value = 0
        for index in range(5):
            byte = self.take(1)[0]
            value += byte % 0x80 << (7 * index)
            if byte < 0x80:
                if value >= 2**31:
                    break
                return value
        raise DecodeError("varint")

    def struct(self, spec: StructSpec) -> Any:
        made = spec.python_class()
        for field in spec.fields:
            if field.exists_in(self.version) and not field.tagged_in(self.version):
                setattr(made, field.name, self.field(field))
        if self.flexible:
            self.tags(spec, made)
        return made

    def tags(self, spec: StructSpec, made: Any) -> None:
        known = {field.tag: field for field in spec.fields if field.tagged_in(self.version)}
        for _ in range(self.varint()):
            tag, size = self.varint(), self.varint()
            if tag not in known:
                self.take(size)
                continue
            stop = self.position + size
            setattr(made, known[tag].name, self.tagged(known[tag]))
            if self.position != stop:
                raise DecodeError("tag size")

    def tagged(self, field: Field) -> Any:
        if field.kind == STRUCT and field.nullable_in(self.version):
            assert field.struct is not None
            return self.struct(field.struct) if self.varint() else None
        return self.field(field)

    def field(self, field: Field) -> Any:
        if field.kind in FIXED_FORMATS:
            form = ">" + FIXED_FORMATS[field.kind]
            return struct.unpack(form, self.take(struct.calcsize(form)))[0]
        if field.kind == STRUCT:
            assert field.struct is not None
            if field.nullable_in(self.version) and struct.unpack("b", self.take(1))[0] < 0:
                return None
            return self.struct(field.struct)
        length = self.length(field)
        if length == -1 and field.nullable_in(self.version):
            return None
        if length < 0 or (field.kind == STRING and length > 0x7FFF):
            raise DecodeError("length")
        if field.kind == ARRAY:
            return self.array(field, length)
        data = self.take(length)
        return self.text(data) if field.kind == STRING else data

    def length(self, field: Field) -> int:
        if self.flexible:
            return self.varint() - 1
        form = ">h" if field.kind == STRING else ">i"
        return int(struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def array(self, field: Field, count: int) -> list[Any]:
        assert field.element is not None
        if count > len(self.data) - self.position:
            raise DecodeError("count")
        return [self.field(field.element) for _ in range(count)]

    def text(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise DecodeError("text") from error
