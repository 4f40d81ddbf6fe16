"""The frame around a value: a zero, the id of its schema in four bytes, and the value in its schema's format."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from penstock.schemas.model import SchemaError

MAGIC: Final = 0
HEADER_BYTES: Final = 5
GUID_MAGIC: Final = 1
GUID_BYTES: Final = 17
VALUE_HEADER: Final = "__value_schema_id"
KEY_HEADER: Final = "__key_schema_id"
"""Headers that may name the schema instead: a one and the sixteen bytes of its GUID, or the frame's five bytes."""


def frame(schema_id: int, payload: bytes) -> bytes:
    """What a serialiser of a registry writes."""
    return bytes((MAGIC,)) + schema_id.to_bytes(4) + payload


def unframe(data: bytes) -> tuple[int, bytes]:
    """The id of a value's schema, and the value; SchemaError if there is no id in front."""
    if len(data) < HEADER_BYTES or data[0] != MAGIC:
        raise SchemaError("no id of a schema stands in front: a zero and four bytes")
    return int.from_bytes(data[1:HEADER_BYTES]), data[HEADER_BYTES:]


def named_in(headers: Iterable[tuple[str, bytes | None]], name: str) -> str | int | None:
    """The GUID or the id that a header gives, if there is one: then nothing stands in front of the value."""
    found = next((value for key, value in reversed(list(headers)) if key == name), None)
    if found is None:
        return None
    if len(found) == GUID_BYTES and found[0] == GUID_MAGIC:
        return str(UUID(bytes=found[1:]))
    if len(found) == HEADER_BYTES and found[0] == MAGIC:
        return int.from_bytes(found[1:])
    raise SchemaError(f"the header {name} names no schema")
