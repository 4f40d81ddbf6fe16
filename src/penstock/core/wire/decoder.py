"""Writes the decoder of one struct at one version: flat code that reads straight down.

Neighbouring fixed-width fields, and the length or count that ends such a run, are read by one `unpack_from`. Bounds are
checked late on purpose: a slice past the end only moves the position past it, where the next read raises IndexError or
struct.error, or the check at the end of the function refuses it. Positions never move back and no count is trusted
before it was compared with the bytes that remain, so bad input can neither loop nor allocate out of proportion.

What comes from a client is read by a counted decoder: it is told how many elements and tagged fields the message may
have in all, and refuses more before it makes any of them. A million empty names are a megabyte and take seconds.
"""

import struct
from collections.abc import Callable
from typing import Any, NoReturn

from penstock.core.wire.errors import DecodeError, TooManyElements
from penstock.core.wire.fields import (
    ARRAY,
    BLOB,
    FIXED_FORMATS,
    STRING,
    STRUCT,
    ZERO_UUID,
    Buffer,
    Field,
    StructSpec,
    has_records,
)
from penstock.core.wire.source import Source
from penstock.core.wire.varint import read_varint, skip_counted_fields, skip_tagged_fields

STRING_BYTES_MAX = 0x7FFF

Decoder = Callable[[Buffer, int], tuple[Any, int]]
CountedDecoder = Callable[[Buffer, int, int], tuple[Any, int]]


def compile_decoder(spec: StructSpec, version: int, flexible: bool) -> Decoder:
    """A function (data, position) -> (instance, position after it) that raises nothing but DecodeError."""
    decoder: Decoder = _DecoderWriter(version, flexible, has_records(spec, version), counted=False).write(spec)
    return decoder


def compile_counted_decoder(spec: StructSpec, version: int, flexible: bool) -> CountedDecoder:
    """A function (data, position, elements allowed) -> (instance, elements left)."""
    decoder: CountedDecoder = _DecoderWriter(version, flexible, has_records(spec, version), counted=True).write(spec)
    return decoder


def smallest_size(spec: StructSpec, version: int, flexible: bool) -> int:
    """The fewest bytes that one encoded struct can take."""
    sizes = [_smallest_field_size(field, version, flexible) for field in spec.plain_fields(version)]
    return sum(sizes) + flexible


def _smallest_field_size(field: Field, version: int, flexible: bool) -> int:
    if field.kind in FIXED_FORMATS:
        return struct.calcsize(">" + FIXED_FORMATS[field.kind])
    if field.kind == STRUCT:
        assert field.struct is not None
        return 1 if field.nullable_in(version) else smallest_size(field.struct, version, flexible)
    if flexible:
        return 1
    return 2 if field.kind == STRING else 4


def _refuse_null(name: str) -> NoReturn:
    raise DecodeError(f"{name} is null or has a negative length")


def _refuse_count(name: str, count: int) -> NoReturn:
    raise DecodeError(f"{name} claims {count} elements, more than the rest of the message can hold")


def _refuse_elements(name: str, count: int) -> NoReturn:
    raise TooManyElements(f"{name} has {count} elements, which is more than a request of this kind may have in all")


def _refuse_size(name: str) -> NoReturn:
    raise DecodeError(f"{name} does not fill the size its tag states")


def _read_string_length(data: Buffer, position: int) -> tuple[int, int]:
    """A compact string's length plus one, in its long form."""
    length, position = read_varint(data, position)
    if length > STRING_BYTES_MAX + 1:
        raise DecodeError(f"string of {length - 1} bytes is too long")
    return length, position


class _DecoderWriter:
    def __init__(self, version: int, flexible: bool, zero_copy: bool, counted: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.zero_copy = zero_copy
        self.counted = counted
        self.run: list[tuple[str, str]] = []
        self.source = Source(
            new=object.__new__,
            read_varint=read_varint,
            skip_tagged_fields=skip_tagged_fields,
            skip_counted_fields=skip_counted_fields,
            read_string_length=_read_string_length,
            refuse_null=_refuse_null,
            refuse_count=_refuse_count,
            refuse_elements=_refuse_elements,
            refuse_size=_refuse_size,
            unpack_from=struct.unpack_from,
            DecodeError=DecodeError,
            StructError=struct.error,
            ZERO_UUID=ZERO_UUID,
        )

    def write(self, spec: StructSpec) -> Any:
        source = self.source
        title = f"{spec.name} version {self.version}"
        with source.block(f"def decode(data, pos{', left' if self.counted else ''}):"):
            kind = "memoryview" if self.zero_copy else "bytes"
            source.line(f"if type(data) is not {kind}: data = {kind}(data)")
            source.line("end = len(data)")
            with source.block("try:"):
                message = self._struct(spec)
                self._flush()
            with source.block("except (IndexError, StructError) as error:"):
                source.line(f"raise DecodeError('{title} ends too early') from error")
            with source.block("except UnicodeDecodeError as error:"):
                source.line(f"raise DecodeError('{title} holds a string that is not UTF-8') from error")
            source.line(f"if pos > end: raise DecodeError('{title} ends too early')")
            source.line(f"return {message}, {'left' if self.counted else 'pos'}")
        return source.compile("decode", f"<decoder of {title}>")

    def _struct(self, spec: StructSpec) -> str:
        """Writes the reading of one struct and returns the local name of the instance."""
        message = self.source.fresh("m")
        self.source.line(f"{message} = new({self.source.constant('C', spec.python_class)})")
        tagged = spec.tagged_fields(self.version)
        for field in [*spec.absent_fields(self.version), *tagged]:
            self.source.line(f"{message}.{field.name} = {self._default(field)}")
        for field in spec.plain_fields(self.version):
            self._field(field, f"{message}.{field.name}")
        if self.flexible:
            self._tags(tagged, message)
        return message

    def _default(self, field: Field) -> str:
        if field.kind == "uuid":
            return "ZERO_UUID"
        if field.kind == STRUCT and field.default is not None:
            assert field.struct is not None
            return f"{self.source.constant('C', field.struct.python_class)}()"
        return repr(field.default)

    # Runs of fixed-width values

    def _flush(self) -> None:
        """Writes the reading of the fixed-width values gathered so far."""
        run, self.run = self.run, []
        if not run:
            return
        formats = "".join(code for code, _ in run)
        if formats in ("B", "?"):
            self.source.line(f"{run[0][1]} = data[pos]{' != 0' if formats == '?' else ''}")
            self.source.line("pos += 1")
            return
        packer = struct.Struct(">" + formats)
        unpack = self.source.constant("unpack", packer.unpack_from)
        targets = "".join(f"{target}, " for _, target in run)
        self.source.line(f"{targets}= {unpack}(data, pos)")
        self.source.line(f"pos += {packer.size}")

    def _length(self, plain_format: str, long_reader: str = "read_varint") -> None:
        """Reads a length or count into `n`, as the last value of the current run. Compact ones are one too large."""
        self.run.append(("B" if self.flexible else plain_format, "n"))
        self._flush()
        if self.flexible:
            self.source.line(f"if n > 127: n, pos = {long_reader}(data, pos - 1)")

    # Fields

    def _field(self, field: Field, target: str) -> None:
        if field.kind in FIXED_FORMATS:
            self.run.append((FIXED_FORMATS[field.kind], target))
        elif field.kind == STRUCT:
            self._struct_field(field, target)
        else:
            self._variable_field(field, target)

    def _struct_field(self, field: Field, target: str) -> None:
        assert field.struct is not None
        if not field.nullable_in(self.version):
            self.source.line(f"{target} = {self._struct(field.struct)}")
            return
        self.run.append(("b", "n"))
        self._flush()
        self._nullable_struct(field, target, "if n < 0:")

    def _nullable_struct(self, field: Field, target: str, null_test: str) -> None:
        assert field.struct is not None
        with self.source.block(null_test):
            self.source.line(f"{target} = None")
        with self.source.block("else:"):
            message = self._struct(field.struct)
            self._flush()
            self.source.line(f"{target} = {message}")

    def _variable_field(self, field: Field, target: str) -> None:
        if field.kind == STRING:
            self._length("h", "read_string_length")
        else:
            self._length("i")
        nullable = field.nullable_in(self.version)
        if nullable:
            with self.source.block(f"if n == {0 if self.flexible else -1}:"):
                self.source.line(f"{target} = None")
            with self.source.block("else:"):
                self._content(field, target)
        else:
            self._content(field, target)

    def _content(self, field: Field, target: str) -> None:
        """Reads what follows a length or count that is not null."""
        if self.flexible:
            if not field.nullable_in(self.version):
                self.source.line(f"if not n: refuse_null({field.name!r})")
            self.source.line("n -= 1")
        else:
            self.source.line(f"if n < 0: refuse_null({field.name!r})")
        if field.kind == ARRAY:
            self._array(field, target)
        else:
            self._bytes(field, target)

    def _bytes(self, field: Field, target: str) -> None:
        taken = "data[pos:stop]"
        if field.kind == STRING:
            taken += ".tobytes().decode()" if self.zero_copy else ".decode()"
        elif field.kind == BLOB and self.zero_copy:
            taken += ".tobytes()"
        self.source.line("stop = pos + n")
        self.source.line(f"{target} = {taken}")
        self.source.line("pos = stop")

    def _array(self, field: Field, target: str) -> None:
        element = field.element
        assert element is not None
        size = _smallest_field_size(element, self.version, self.flexible)
        self.source.line(f"if n * {max(size, 1)} > end - pos: refuse_count({field.name!r}, n)")
        self._count(field.name)
        if element.kind in FIXED_FORMATS:
            self._fixed_array(element, target, size)
            return
        items = self.source.fresh("a")
        self.source.line(f"{items} = []")
        with self.source.block("for _ in range(n):"):
            if element.kind == STRUCT:
                assert element.struct is not None
                value = self._struct(element.struct)
            else:
                value = self.source.fresh("v")
                self._field(element, value)
            self._flush()
            self.source.line(f"{items}.append({value})")
        self.source.line(f"{target} = {items}")

    def _fixed_array(self, element: Field, target: str, size: int) -> None:
        self.source.line(f"stop = pos + n * {size}")
        if element.kind == "uuid":
            taken = "data[i:i + 16].tobytes()" if self.zero_copy else "data[i:i + 16]"
            self.source.line(f"{target} = [{taken} for i in range(pos, stop, 16)]")
        else:
            self.source.line(f"{target} = list(unpack_from('>%d{FIXED_FORMATS[element.kind]}' % n, data, pos))")
        self.source.line("pos = stop")

    def _count(self, name: str) -> None:
        if self.counted:
            self.source.line("left -= n")
            self.source.line(f"if left < 0: refuse_elements({name!r}, n)")

    # Tagged fields

    def _tags(self, tagged: list[Field], message: str) -> None:
        """Reads the tagged fields that end a struct; unknown ones are stepped over."""
        self.run.append(("B", "n"))
        self._flush()
        if not tagged:
            if self.counted:
                self.source.line("if n: pos, left = skip_counted_fields(data, pos - 1, left)")
            else:
                self.source.line("if n: pos = skip_tagged_fields(data, pos - 1)")
            return
        with self.source.block("if n:"):
            self.source.line("if n > 127: n, pos = read_varint(data, pos - 1)")
            self._count("the section of tagged fields")
            with self.source.block("for _ in range(n):"):
                self._tag_loop(tagged, message)

    def _tag_loop(self, tagged: list[Field], message: str) -> None:
        tag, stop = self.source.fresh("tag"), self.source.fresh("stop")
        self.source.line(f"{tag}, pos = read_varint(data, pos)")
        self.source.line("n, pos = read_varint(data, pos)")
        self.source.line(f"{stop} = pos + n")
        for field in tagged:
            with self.source.block(f"if {tag} == {field.tag}:"):
                self._tagged_field(field, f"{message}.{field.name}")
                self.source.line(f"if pos != {stop}: refuse_size({field.name!r})")
                self.source.line("continue")
        self.source.line(f"pos = {stop}")

    def _tagged_field(self, field: Field, target: str) -> None:
        if field.kind == STRUCT and field.nullable_in(self.version):
            self.source.line("n, pos = read_varint(data, pos)")
            self._nullable_struct(field, target, "if not n:")
        else:
            self._field(field, target)
        self._flush()
