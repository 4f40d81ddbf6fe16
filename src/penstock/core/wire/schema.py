"""The language messages are declared in: a class per struct, a specifier per field.

    class HeartbeatRequest(Request, key=12, versions="0-4", flexible="4+"):
        group_id: str = string()
        generation_id: int = int32()

A specifier states what the wire needs to know: in which versions the field exists (all of the message's when left
out), where it may be null, where and under which tag it is a tagged field, its default, and whether a value may be
dropped silently in versions that lack the field (`ignorable`). Importing a declaration only records these facts.
Constructors and codecs are compiled on first use, which keeps start-up short.
"""

from collections.abc import Callable, Sized
from typing import Any, ClassVar, Self, TypeAlias, dataclass_transform

from penstock.core.base.ports import Steps
from penstock.core.wire.constructor import compile_constructor
from penstock.core.wire.decoder import CountedDecoder, Decoder, compile_counted_decoder, compile_decoder
from penstock.core.wire.encoder import Encoder, SteppedEncoder, compile_encoder, compile_stepped_encoder
from penstock.core.wire.errors import DecodeError, EncodeError
from penstock.core.wire.fields import (
    ARRAY,
    BLOB,
    EVERY_VERSION,
    NO_VERSION,
    RECORDS,
    STRING,
    STRUCT,
    VERSION_MAX,
    ZERO_UUID,
    Buffer,
    Field,
    StructSpec,
    version_range,
)

Records: TypeAlias = Sized
"""Record batches: a memoryview when decoded. To encode: a buffer, any sized object that the sender knows how to send
(a slice of a file), or a list of these."""


@dataclass_transform(kw_only_default=True, eq_default=False)
class StructMeta(type):
    """Turns the specifiers in a class body into slots and a `StructSpec`."""

    SPEC: StructSpec

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any], **facts: Any) -> "StructMeta":
        fields = []
        for key, value in list(body.items()):
            if type(value) is Field:
                value.name = key
                fields.append(value)
                del body[key]
        body.setdefault("__slots__", tuple(field.name for field in fields))
        cls = super().__new__(mcs, name, bases, body, **facts)
        cls.SPEC = StructSpec(cls, tuple(fields))
        return cls


class Struct(metaclass=StructMeta):
    """A group of fields. Instances are plain mutable values, built with keywords."""

    __slots__ = ()

    def __init__(self, **values: Any) -> None:
        cls = type(self)
        assert cls.__module__ != __name__, "a base class has no instances: its constructor would become everyone's"
        # The type checker knows the compiled signature already, from the declaration.
        cls.__init__ = compile_constructor(cls.SPEC)  # type: ignore[method-assign]
        cls.__init__(self, **values)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, field.name) == getattr(other, field.name) for field in type(self).SPEC.fields)

    def __repr__(self) -> str:
        values = (f"{field.name}={getattr(self, field.name)!r}" for field in type(self).SPEC.fields)
        return f"{type(self).__name__}({', '.join(values)})"


class _Codecs(dict[int, Any]):
    """The compiled codecs of one message by version; a missing one is compiled when it is first asked for."""

    __slots__ = ("_compile", "_error", "_message")

    def __init__(self, message: "type[Message]", compile_codec: Callable[..., Any], error: type[Exception]) -> None:
        self._message = message
        self._compile = compile_codec
        self._error = error

    def __missing__(self, version: int) -> Any:
        message = self._message
        if version not in message.VERSIONS:
            raise self._error(f"{message.__name__} has no version {version}")
        codec = self._compile(message.SPEC, version, message.is_flexible(version))
        self[version] = codec
        return codec


class Message(Struct):
    """A struct that stands on its own, with versions and codecs."""

    __slots__ = ()

    VERSIONS: ClassVar[range] = range(0)
    FLEXIBLE_FROM: ClassVar[int] = VERSION_MAX
    _decoders: ClassVar[dict[int, Decoder]]
    _encoders: ClassVar[dict[int, Encoder]]

    def __init_subclass__(cls, versions: str = NO_VERSION, flexible: str = NO_VERSION) -> None:
        cls.VERSIONS = version_range(versions)
        if flexible != NO_VERSION:
            cls.FLEXIBLE_FROM = version_range(flexible).start
        cls._decoders = _Codecs(cls, compile_decoder, DecodeError)
        cls._encoders = _Codecs(cls, compile_encoder, EncodeError)

    @classmethod
    def is_flexible(cls, version: int) -> bool:
        """Whether a version uses compact lengths and tagged fields."""
        return version >= cls.FLEXIBLE_FROM

    @classmethod
    def decode(cls, data: Buffer, version: int, position: int = 0) -> Self:
        """The message that fills `data` from `position` to its end."""
        message: Self
        message, stop = cls._decoders[version](data, position)
        if stop != len(data):
            raise DecodeError(f"{cls.__name__} version {version} is followed by {len(data) - stop} stray bytes")
        return message

    @classmethod
    def decode_from(cls, data: Buffer, version: int, position: int = 0) -> tuple[Self, int]:
        """The message that starts at `position`, and the position after it.

        A view that holds no record batches is copied as a whole first; who reads many messages from one buffer should
        therefore hand in bytes.
        """
        return cls._decoders[version](data, position)

    def encode(self, version: int) -> bytes:
        parts: list[Any] = self._encoders[version](self, b"")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def encode_parts(self, version: int, prefix: bytes = b"") -> list[Sized]:
        """The encoded message after `prefix`: bytes, with each records value left in between as it is."""
        return self._encoders[version](self, prefix)


class Request(Message):
    """What a client asks of the API `KEY`."""

    __slots__ = ()

    KEY: ClassVar[int]
    _counted_decoders: ClassVar[dict[int, CountedDecoder]]

    def __init_subclass__(cls, key: int, versions: str, flexible: str = NO_VERSION) -> None:
        super().__init_subclass__(versions, flexible)
        cls.KEY = key
        cls._counted_decoders = _Codecs(cls, compile_counted_decoder, DecodeError)

    @classmethod
    def decode_counted(cls, data: Buffer, version: int, position: int, elements_max: int) -> tuple[Self, int]:
        """The message that starts at `position`, if its arrays and sections of tagged fields have no more elements in
        all, else TooManyElements; and how many more they could have."""
        return cls._counted_decoders[version](data, position, elements_max)


class Response(Message):
    """What a node answers to a request of the API `KEY`."""

    __slots__ = ()

    KEY: ClassVar[int]
    _stepped_encoders: ClassVar[dict[int, SteppedEncoder]]

    def __init_subclass__(cls, key: int, versions: str, flexible: str = NO_VERSION) -> None:
        super().__init_subclass__(versions, flexible)
        cls.KEY = key
        cls._stepped_encoders = _Codecs(cls, compile_stepped_encoder, EncodeError)

    def encode_in_turns(self, version: int) -> Steps[list[Sized]]:
        """What `encode_parts` gives, for a response that may be large: others run meanwhile."""
        return self._stepped_encoders[version](self, b"")


class StoredRecord(Message):
    """What is kept in a log or a file. `TYPE` is the number that tells records of one log apart, where there is one."""

    __slots__ = ()

    TYPE: ClassVar[int] = -1

    def __init_subclass__(cls, versions: str, flexible: str = NO_VERSION, type: int = -1) -> None:
        super().__init_subclass__(versions, flexible)
        cls.TYPE = type


# Field specifiers. They return Any because each stands in a class body where the field's value type is declared.


def _fixed(kind: str, zero: Any) -> Callable[..., Any]:
    def specifier(
        *,
        versions: str = EVERY_VERSION,
        default: Any = zero,
        tag: int = -1,
        tagged: str = EVERY_VERSION,
        ignorable: bool = False,
    ) -> Any:
        return Field(kind, default, versions, NO_VERSION, tag, tagged, ignorable)

    return specifier


boolean = _fixed("bool", False)
int8 = _fixed("int8", 0)
int16 = _fixed("int16", 0)
uint16 = _fixed("uint16", 0)
int32 = _fixed("int32", 0)
uint32 = _fixed("uint32", 0)
int64 = _fixed("int64", 0)
float64 = _fixed("float64", 0.0)
uuid = _fixed("uuid", ZERO_UUID)


def _sized(kind: str, empty: Any) -> Callable[..., Any]:
    def specifier(
        *,
        versions: str = EVERY_VERSION,
        default: Any = empty,
        nullable: str = NO_VERSION,
        tag: int = -1,
        tagged: str = EVERY_VERSION,
        ignorable: bool = False,
    ) -> Any:
        return Field(kind, default, versions, nullable, tag, tagged, ignorable)

    return specifier


string = _sized(STRING, "")
blob = _sized(BLOB, b"")
record_set = _sized(RECORDS, None)


def array(
    element: Callable[..., Any] | StructMeta,
    *,
    versions: str = EVERY_VERSION,
    default: Any = (),
    nullable: str = NO_VERSION,
    tag: int = -1,
    tagged: str = EVERY_VERSION,
    ignorable: bool = False,
) -> Any:
    """A list of structs, or of what a specifier without options stands for."""
    inner = struct(element) if isinstance(element, StructMeta) else element()
    return Field(ARRAY, None if default is None else [], versions, nullable, tag, tagged, ignorable, element=inner)


def struct(
    of: StructMeta,
    *,
    versions: str = EVERY_VERSION,
    default: Any = (),
    nullable: str = NO_VERSION,
    tag: int = -1,
    tagged: str = EVERY_VERSION,
    ignorable: bool = False,
) -> Any:
    """A struct in a field. One that is tagged and cannot be null is None when it was not sent."""
    field = Field(STRUCT, default, versions, nullable, tag, tagged, ignorable, struct=of.SPEC)
    if field.none_is_absent:
        field.default = None
    return field
