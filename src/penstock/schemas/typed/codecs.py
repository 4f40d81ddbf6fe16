"""What turns values that JSON can hold into bytes of a schema's format, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from penstock.schemas.model import Format, Reference
from penstock.schemas.typed.avro import AvroCodec
from penstock.schemas.typed.json import JsonCodec
from penstock.schemas.typed.protobuf import ProtobufCodec


class Codec(Protocol):
    """For one schema. What does not fit is a SchemaError that says where."""

    def encode(self, value: Any) -> bytes: ...

    def decode(self, payload: bytes) -> Any: ...


_MAKERS: Final[dict[Format, Callable[[str, Sequence[Reference]], Codec]]] = {
    Format.AVRO: AvroCodec,
    Format.JSON: JsonCodec,
    Format.PROTOBUF: ProtobufCodec,
}


def codec_of(format: Format, text: str, references: Sequence[Reference] = ()) -> Codec:
    return _MAKERS[format](text, references)
