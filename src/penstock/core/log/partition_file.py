"""`partition.metadata`: which topic, by id, a partition's folder belongs to."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

_ID_BYTES: Final = 16


def encode_topic_id(topic_id: bytes) -> bytes:
    """Ids are written as Kafka writes them: URL-safe base64 without its padding."""
    return b"version: 0\ntopic_id: " + urlsafe_b64encode(topic_id).rstrip(b"=")


def decode_topic_id(data: bytes | None) -> bytes | None:
    """The id, or None where the file is missing or was torn by a power loss."""
    lines = (data or b"").decode(errors="replace").split("\n")
    fields = dict(line.split(": ", 1) for line in lines if ": " in line)
    try:
        topic_id = urlsafe_b64decode(fields.get("topic_id", "").strip() + "==")
    except (binascii.Error, ValueError):
        return None
    return topic_id if fields.get("version") == "0" and len(topic_id) == _ID_BYTES else None
