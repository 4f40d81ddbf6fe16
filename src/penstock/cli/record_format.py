"""How one record is printed: the value alone, by a template, or as a JSON object that `produce` can read back."""

import json
import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import typer

from penstock.cli.arguments import time_text
from penstock.client.metadata import TopicPartition
from penstock.core.records.record import Record

Formatter = Callable[[TopicPartition, Record], bytes]
FIELDS = ("topic", "partition", "offset", "timestamp", "time", "key", "value", "headers")
NULL = b"null"

_PLACE = re.compile(r"\{(\w*)\}")
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", "\\0": "\0", "\\\\": "\\"}
_ESCAPE = re.compile(r"\\[ntr0\\]")


def value_line(_: TopicPartition, record: Record) -> bytes:
    """The value as it is, and the end of the line."""
    return (NULL if record.value is None else record.value) + b"\n"


def template(text: str) -> Formatter:
    """A printer for a text with places like {key} in it; `\\n` and `\\t` mean what they usually mean."""
    parts: list[str] = _PLACE.split(_ESCAPE.sub(lambda match: _ESCAPES[match[0]], text))
    unknown = [name for name in parts[1::2] if name not in FIELDS]
    if unknown:
        raise typer.BadParameter(
            f"{{{unknown[0]}}} is no field; there are {', '.join(f'{{{field}}}' for field in FIELDS)}",
            param_hint="--format",
        )
    literals = [part.encode() for part in parts]

    def print_record(where: TopicPartition, record: Record) -> bytes:
        pieces = [_field(parts[index], where, record) if index % 2 else literals[index] for index in range(len(parts))]
        return b"".join(pieces) + b"\n"

    return print_record


def json_line(where: TopicPartition, record: Record) -> bytes:
    """One JSON object per line; bytes that are not text stand under a name that ends in `_base64`."""
    fields: dict[str, Any] = {
        "topic": where.topic,
        "partition": where.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        **_json_field("key", record.key),
        **_json_field("value", record.value),
        "headers": [{"key": name, **_json_field("value", content)} for name, content in record.headers],
    }
    return json.dumps(fields, ensure_ascii=False).encode() + b"\n"


def _json_field(name: str, content: bytes | None) -> dict[str, str | None]:
    if content is None:
        return {name: None}
    try:
        return {name: content.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": b64encode(content).decode()}


def _field(name: str, where: TopicPartition, record: Record) -> bytes:
    match name:
        case "key":
            return NULL if record.key is None else record.key
        case "value":
            return NULL if record.value is None else record.value
        case "headers":
            return b",".join(key.encode() + b"=" + (NULL if value is None else value) for key, value in record.headers)
        case "time":
            return time_text(record.timestamp).encode()
        case "topic" | "partition":
            return str(getattr(where, name)).encode()
    return str(getattr(record, name)).encode()
