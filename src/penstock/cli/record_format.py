"""How one record is printed: the value alone, by a template, or as a JSON object that `produce` can read back."""

import json
import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any, NamedTuple

import typer

from penstock.cli.arguments import time_text
from penstock.cli.output import json_text
from penstock.client.metadata import TopicPartition
from penstock.core.records.record import Record

Formatter = Callable[[TopicPartition, Record], bytes]
Clean = Callable[[bytes], bytes]
FIELDS = ("topic", "partition", "offset", "timestamp", "time", "key", "value", "headers")
NULL = b"null"
_CODES: dict[str, Clean] = {
    "": bytes,
    "hex": lambda content: content.hex().encode(),
    "base64": b64encode,
    "json": lambda content: json.dumps(content.decode(errors="backslashreplace")).encode(),
}

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", "\\0": "\0", "\\\\": "\\"}
_ESCAPE = re.compile(r"\\[ntr0\\]")
# Fields as kcat writes them.
_PERCENT = re.compile(r"%[koptsvKSTRh](?![a-zA-Z])")


class _Place(NamedTuple):
    """A field of a record within a template."""

    name: str
    encode: Clean


def value_line(_: TopicPartition, record: Record) -> bytes:
    """The value as it is, and the end of the line."""
    return (NULL if record.value is None else record.value) + b"\n"


def template(text: str, clean: Clean = bytes, null: bytes = NULL) -> Formatter:
    """A printer for a text with places like {key} or {value:hex} in it; `\\n` and `\\t` mean what they usually mean.
    What comes out of records passes through `clean`, and `null` stands for what is not there."""
    pieces = [_read_piece(match) for match in _PIECE.finditer(_ESCAPE.sub(lambda found: _ESCAPES[found[0]], text))]
    if percent := _PERCENT.search(text):
        raise _misuse(f"{percent[0]} is no field")

    def print_record(where: TopicPartition, record: Record) -> bytes:
        parts = [piece if isinstance(piece, bytes) else clean(_field(piece, where, record, null)) for piece in pieces]
        return b"".join(parts) + b"\n"

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
    return json_text(fields).encode() + b"\n"


def _read_piece(match: re.Match[str]) -> bytes | _Place:
    piece = match[0]
    if piece in ("{{", "}}"):
        return piece[0].encode()
    if piece in ("{", "}"):
        rest = match.string[match.end() :][:20]
        raise _misuse(f"a brace stands alone {f'before {rest!r}' if rest else 'at the end'}; write {piece * 2} for one")
    if match[1] is None:
        return piece.encode()
    name, _, code = match[1].partition(":")
    if name not in FIELDS or code not in _CODES:
        raise _misuse(f"{piece} is no field")
    return _Place(name, _CODES[code])


def _misuse(what: str) -> typer.BadParameter:
    fields = ", ".join(f"{{{field}}}" for field in FIELDS)
    return typer.BadParameter(f"{what}; there are {fields}, and {{value:hex}}, :base64, :json", param_hint="--format")


def _json_field(name: str, content: bytes | None) -> dict[str, str | None]:
    if content is None:
        return {name: None}
    try:
        return {name: content.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": b64encode(content).decode()}


def _field(place: _Place, where: TopicPartition, record: Record, null: bytes) -> bytes:
    name = place.name
    match name:
        case "key" | "value":
            content = getattr(record, name)
            return null if content is None else place.encode(content)
        case "headers":
            return b",".join(
                key.encode() + b"=" + (null if value is None else place.encode(value)) for key, value in record.headers
            )
        case "time":
            return place.encode(time_text(record.timestamp).encode())
        case "topic" | "partition":
            return place.encode(str(getattr(where, name)).encode())
    return place.encode(str(getattr(record, name)).encode())
