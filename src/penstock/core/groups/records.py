"""How `__consumer_offsets` frames its records: a key tells its type, a value its version, each in two bytes."""

from __future__ import annotations

import struct
from typing import Final

from penstock.core.rsm.result import KeyValue
from penstock.core.wire.schema import StoredRecord

_TAG: Final = struct.Struct(">h")
TAG_BYTES: Final = _TAG.size
_KEY_VERSION = 0


def record(key: StoredRecord, value: StoredRecord, version: int) -> KeyValue:
    return encode_key(key), _TAG.pack(version) + value.encode(version)


def tombstone(key: StoredRecord) -> KeyValue:
    return encode_key(key), None


def encode_key(key: StoredRecord) -> bytes:
    return _TAG.pack(key.TYPE) + key.encode(_KEY_VERSION)


def tag_of(data: bytes) -> int:
    """The type of a key, or the version of a value."""
    tag: int = _TAG.unpack_from(data)[0]
    return tag
