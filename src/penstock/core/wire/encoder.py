"""Writes the encoder of one struct at one version: flat code that packs straight down.

Neighbouring fixed-width fields, and the length or count that ends such a run, are written by one `pack`. The pieces are
joined once at the end, except around record batches: those stay parts of their own, so that a slice of a file can be
sent without being read.

The same code as a generator serves large responses: it lets others run from time to time.
"""

import struct
from collections.abc import Callable, Sized
from typing import Any, Final, NoReturn

from penstock.core.base.ports import Pause, Steps
from penstock.core.wire.errors import EncodeError
from penstock.core.wire.fields import (
    ARRAY,
    BLOB,
    FIXED_FORMATS,
    RECORDS,
    STRING,
    STRUCT,
    ZERO_UUID,
    Field,
    StructSpec,
    has_records,
)
from penstock.core.wire.source import Source
from penstock.core.wire.varint import encode_varint

STRING_BYTES_MAX = 0x7FFF

PIECES_PER_TURN_MAX: Final = 4_000
"""About a millisecond and a half of work."""

Encoder = Callable[[Any, bytes], list[Sized]]
SteppedEncoder = Callable[[Any, bytes], Steps[list[Sized]]]


def compile_encoder(spec: StructSpec, version: int, flexible: bool) -> Encoder:
    """A function (instance, prefix) -> parts that raises nothing but EncodeError."""
    encoder: Encoder = _EncoderWriter(version, flexible).write(spec)
    return encoder


def compile_stepped_encoder(spec: StructSpec, version: int, flexible: bool) -> SteppedEncoder:
    """The same as steps. The instance must stay as it is meanwhile."""
    encoder: SteppedEncoder = _EncoderWriter(version, flexible, is_stepped=True).write(spec)
    return encoder


def _refuse_field(name: str, value: object) -> NoReturn:
    raise EncodeError(f"{name}={value!r} cannot be expressed in this version")


def _long_string_length(length: int) -> bytes:
    """A compact string's length plus one, in its long form."""
    if length > STRING_BYTES_MAX + 1:
        raise EncodeError(f"string of {length - 1} bytes is too long")
    return encode_varint(length)


def _join_uuids(uuids: list[bytes]) -> bytes:
    if any(len(uuid) != 16 for uuid in uuids):
        raise EncodeError("a uuid has 16 bytes")
    return b"".join(uuids)


def _measure_parts(records: list[Sized]) -> tuple[int, list[Sized]]:
    """The length in bytes of record batches that come in several parts, and those parts that are not empty."""
    parts = [part for part in records if len(part)]
    return sum(map(len, parts)), parts


class _EncoderWriter:
    def __init__(self, version: int, flexible: bool, *, is_stepped: bool = False) -> None:
        self.version = version
        self.flexible = flexible
        self.is_stepped = is_stepped
        self.run: list[tuple[str, str]] = []
        self.source = Source(
            encode_varint=encode_varint,
            long_string_length=_long_string_length,
            join_uuids=_join_uuids,
            measure_parts=_measure_parts,
            refuse_field=_refuse_field,
            pack=struct.pack,
            EncodeError=EncodeError,
            StructError=struct.error,
            PAUSE=Pause(),
            ZERO_UUID=ZERO_UUID,
        )

    def write(self, spec: StructSpec) -> Any:
        source = self.source
        title = f"{spec.name} version {self.version}"
        records = has_records(spec, self.version)
        with source.block("def encode(m, prefix):"):
            source.line("out = [prefix]")
            if self.is_stepped:
                source.line("joined = 0")
                # This makes it a generator, whether or not it has anything that repeats.
                with source.block("if False:"):
                    source.line("yield PAUSE")
            if records:
                source.line("parts = []")
            with source.block("try:"):
                self._struct(spec, "m")
                self._flush()
            with source.block("except (StructError, TypeError, AttributeError, UnicodeEncodeError) as error:"):
                source.line(f"raise EncodeError(f'{title}: {{error}}') from error")
            if records:
                source.line("parts.append(b''.join(out))")
                source.line("return parts")
            else:
                source.line("return [b''.join(out)]")
        return source.compile("encode", f"<encoder of {title}>")

    def _struct(self, spec: StructSpec, message: str) -> None:
        for field in spec.absent_fields(self.version):
            if not field.ignorable:
                self._refuse_unless_default(field, f"{message}.{field.name}")
        for field in spec.plain_fields(self.version):
            self._field(field, f"{message}.{field.name}")
        if self.flexible:
            self._tags(spec.tagged_fields(self.version), message)

    def _refuse_unless_default(self, field: Field, value: str) -> None:
        with self.source.block(f"if {self._differs(field, value)}:"):
            self.source.line(f"refuse_field({field.name!r}, {value})")

    def _differs(self, field: Field, value: str) -> str:
        """An expression that tells whether a field is set to something else than its default."""
        if field.kind == STRUCT and (field.default is not None or field.none_is_absent):
            assert field.struct is not None
            # Field by field: a follower's answer has three such structs per partition, nearly always left empty.
            differs = " or ".join(self._differs(each, f"{value}.{each.name}") for each in field.struct.fields)
            if field.none_is_absent:
                return f"{value} is not None and ({differs})"
            return f"({value} is None or {differs})" if field.nullable_in(self.version) else f"({differs})"
        if field.default is None:
            return f"{value} is not None"
        if field.kind in (ARRAY, BLOB):
            return f"{value} is None or len({value})"
        return f"{value} != {'ZERO_UUID' if field.kind == 'uuid' else repr(field.default)}"

    # Runs of fixed-width values

    def _packed(self, run: list[tuple[str, str]]) -> str:
        """An expression for the bytes of a run."""
        if not run:
            return "b''"
        packer = struct.Struct(">" + "".join(code for code, _ in run))
        pack = self.source.constant("pack", packer.pack)
        return f"{pack}({', '.join(value for _, value in run)})"

    def _flush(self) -> None:
        """Writes the fixed-width values gathered so far."""
        run, self.run = self.run, []
        if not run:
            return
        if all(item == ("B", "0") for item in run):
            self.source.line(f"out.append({bytes(len(run))!r})")
        else:
            self.source.line(f"out.append({self._packed(run)})")

    def _length(self, plain_format: str, long_writer: str = "encode_varint") -> None:
        """Writes `n`, a length or count, as the last value of the current run. Compact ones are one too large."""
        run, self.run = self.run, []
        if not self.flexible:
            self.source.line(f"out.append({self._packed([*run, (plain_format, 'n')])})")
            return
        short = self._packed([*run, ("B", "n")])
        long = f"{self._packed(run)} + {long_writer}(n)" if run else f"{long_writer}(n)"
        self.source.line(f"out.append({short} if n < 128 else {long})")

    # Fields

    def _field(self, field: Field, value: str) -> None:
        if field.kind in FIXED_FORMATS:
            self.run.append((FIXED_FORMATS[field.kind], value))
        elif field.kind == STRUCT:
            self._struct_field(field, value)
        elif field.kind == STRING:
            self._string(field, value)
        elif field.kind == BLOB:
            self._blob(field, value)
        elif field.kind == RECORDS:
            self._records(field, value)
        else:
            self._array(field, value)

    def _struct_field(self, field: Field, value: str) -> None:
        assert field.struct is not None
        inner = self.source.fresh("m")
        self.source.line(f"{inner} = {value}")
        if not field.nullable_in(self.version):
            self._struct(field.struct, inner)
            return
        self.run.append(("b", f"-1 if {inner} is None else 1"))
        self._flush()
        with self.source.block(f"if {inner} is not None:"):
            self._struct(field.struct, inner)
            self._flush()

    def _measure(self, field: Field, local: str, content: str) -> None:
        """Sets `n` to what stands before the content, and `local` to something that can be written for null."""
        one = " + 1" if self.flexible else ""
        if not field.nullable_in(self.version):
            self.source.line(f"{local} = {content}")
            self.source.line(f"n = len({local}){one}")
            return
        with self.source.block(f"if {local} is None:"):
            self.source.line(f"n = {0 if self.flexible else -1}")
            self.source.line(f"{local} = b''")
        with self.source.block("else:"):
            if content != local:
                self.source.line(f"{local} = {content}")
            self.source.line(f"n = len({local}){one}")

    def _string(self, field: Field, value: str) -> None:
        if field.nullable_in(self.version):
            self.source.line(f"s = {value}")
            self._measure(field, "s", "s.encode()")
        else:
            self._measure(field, "s", f"{value}.encode()")
        self._length("h", "long_string_length")
        self.source.line("out.append(s)")

    def _blob(self, field: Field, value: str) -> None:
        if field.nullable_in(self.version):
            self.source.line(f"s = {value}")
            self._measure(field, "s", "s")
        else:
            self._measure(field, "s", value)
        self._length("i")
        self.source.line("out.append(s)")

    def _records(self, field: Field, value: str) -> None:
        self.source.line(f"s = {value}")
        with self.source.block("if s is None:"):
            if field.nullable_in(self.version):
                self.source.line(f"n = {0 if self.flexible else -1}")
            else:
                self.source.line(f"refuse_field({field.name!r}, None)")
        with self.source.block("else:"):
            with self.source.block("if type(s) is list:"):
                self.source.line("n, s = measure_parts(s)")
            with self.source.block("else:"):
                self.source.line("n = len(s)")
                self.source.line("s = (s,) if n else ()")
            if self.flexible:
                self.source.line("n += 1")
        self._length("i")
        with self.source.block("if s:"):
            self.source.line("parts.append(b''.join(out))")
            self.source.line("parts += s")
            self.source.line("out = []")

    def _array(self, field: Field, value: str) -> None:
        element = field.element
        assert element is not None
        items = self.source.fresh("a")
        if field.nullable_in(self.version):
            self.source.line(f"{items} = {value}")
            self._measure(field, items, items)
        else:
            self._measure(field, items, value)
        self._length("i")
        if element.kind == "uuid":
            self.source.line(f"out.append(join_uuids({items}))")
        elif element.kind in FIXED_FORMATS:
            with self.source.block(f"if {items}:"):
                self.source.line(f"out.append(pack('>%d{FIXED_FORMATS[element.kind]}' % len({items}), *{items}))")
        else:
            item = self.source.fresh("m")
            with self.source.block(f"for {item} in {items}:"):
                if element.kind == STRUCT:
                    assert element.struct is not None
                    self._struct(element.struct, item)
                else:
                    self._field(element, item)
                self._flush()
                self._rest()

    def _rest(self) -> None:
        """Between two elements, when there was much since the last time. What there is becomes one piece, so that the
        end has little left to join."""
        if self.is_stepped:
            with self.source.block(f"if len(out) > joined + {PIECES_PER_TURN_MAX}:"):
                self.source.line("out[joined:] = [b''.join(out[joined:])]")
                self.source.line("joined += 1")
                self.source.line("yield PAUSE")

    # Tagged fields

    def _tags(self, tagged: list[Field], message: str) -> None:
        """Writes the tagged fields that end a struct, those only that differ from their defaults."""
        if not tagged:
            self.run.append(("B", "0"))
            return
        tags = self.source.fresh("tags")
        self.source.line(f"{tags} = ()")
        for field in tagged:
            value = f"{message}.{field.name}"
            with self.source.block(f"if {self._differs(field, value)}:"):
                self._tagged_field(field, value, tags)
        run = self.run
        with self.source.block(f"if {tags}:"):
            self.run = [*run, ("B", f"len({tags})")]
            self._flush()
            self.source.line(f"out += {tags}")
        with self.source.block("else:"):
            self.run = [*run, ("B", "0")]
            self._flush()

    def _tagged_field(self, field: Field, value: str, tags: str) -> None:
        """Encodes one tagged field aside, because its size stands before it."""
        outer_run, self.run = self.run, []
        outer, body = self.source.fresh("outer"), self.source.fresh("body")
        self.source.line(f"{outer} = out")
        self.source.line("out = []")
        if field.kind == STRUCT and field.nullable_in(self.version):
            self._nullable_tagged_struct(field, value)
        else:
            self._field(field, value)
        self._flush()
        self.source.line(f"{body} = b''.join(out)")
        self.source.line(f"out = {outer}")
        self.source.line(f"{tags} += ({encode_varint(field.tag)!r} + encode_varint(len({body})) + {body},)")
        self.run = outer_run

    def _nullable_tagged_struct(self, field: Field, value: str) -> None:
        assert field.struct is not None
        inner = self.source.fresh("m")
        self.source.line(f"{inner} = {value}")
        self.source.line(f"out.append(b'\\0' if {inner} is None else b'\\1')")
        with self.source.block(f"if {inner} is not None:"):
            self._struct(field.struct, inner)
            self._flush()
