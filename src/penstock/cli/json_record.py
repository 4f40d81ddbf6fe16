"""A record as one line of JSON, as `penstock consume --output json` prints it and `penstock produce` reads it back."""

import json
from base64 import b64decode
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple

from penstock.cli.arguments import TIMESTAMP_MS_END
from penstock.cli.talk import Refused

LOOKS_LIKE = 'a record is a JSON object like {"key": "k", "value": "v", "headers": [{"key": "h", "value": "x"}]}'
# Where a record came from is printed with it, and is not where it goes.
_PLACE = ("topic", "partition", "offset")
_FIELDS = ("key", "key_base64", "value", "value_base64", "headers", "timestamp", *_PLACE)
_HEADER_FIELDS = ("key", "value", "value_base64")


class NewRecord(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int | None = None


def read_json_record(line: bytes) -> NewRecord:
    """The record of a line. A field that is misspelled is refused, because the record without it would be another."""
    try:
        fields = _object(json.loads(line, object_pairs_hook=_once_each), "a record", _FIELDS)
        _require(fields, "value", 'a tombstone says "value": null')
        headers = fields.get("headers") or []
        if not isinstance(headers, list):
            raise ValueError(f"its headers are a list, not {json.dumps(headers)}")
        return NewRecord(_bytes(fields, "key"), _bytes(fields, "value"), tuple(map(_header, headers)), _time(fields))
    except (ValueError, RecursionError) as failure:
        raise Refused(
            f"the line {line[:60].decode(errors='replace')!r} is not a record: {_plain(failure)}", LOOKS_LIKE
        ) from None


def _plain(failure: Exception) -> str:
    if isinstance(failure, json.JSONDecodeError | RecursionError | UnicodeDecodeError):
        return "it is no JSON"
    return "it holds half a character" if isinstance(failure, UnicodeEncodeError) else str(failure)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"a field is there twice: {', '.join(name for name, _ in pairs)}")
    return found


def _object(found: Any, what: str, known: Iterable[str]) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError(f"{what} is an object in braces")
    for name in found:
        if name not in known:
            near = get_close_matches(name, known, 1)
            raise ValueError(f"{what} has no field {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    return found


def _require(fields: dict[str, Any], name: str, hint: str) -> None:
    if name not in fields and f"{name}_base64" not in fields:
        raise ValueError(f"it has no {name} ({hint})")


def _header(header: Any) -> tuple[str, bytes | None]:
    fields = _object(header, "a header", _HEADER_FIELDS)
    name = fields.get("key")
    if not isinstance(name, str):
        raise ValueError(f"the name of a header is a text, not {json.dumps(name)}")
    # What cannot be written as UTF-8 is refused here, with its line.
    name.encode()
    _require(fields, "value", 'an empty one says "value": null')
    return name, _bytes(fields, "value")


def _time(fields: dict[str, Any]) -> int | None:
    timestamp = fields.get("timestamp")
    if timestamp is None:
        return None
    if (
        not isinstance(timestamp, int)
        or isinstance(timestamp, bool)
        or not -TIMESTAMP_MS_END <= timestamp < TIMESTAMP_MS_END
    ):
        raise ValueError("its timestamp is not a number of milliseconds")
    return timestamp


def _bytes(fields: dict[str, Any], name: str) -> bytes | None:
    """A text field as bytes; its twin with `_base64` holds what is not text, and other JSON is kept as JSON."""
    encoded, value = fields.get(f"{name}_base64"), fields.get(name)
    if encoded is not None and value is not None:
        raise ValueError(f"it has both {name} and {name}_base64")
    if encoded is not None:
        if not isinstance(encoded, str):
            raise ValueError(f"{name}_base64 is a text, not {json.dumps(encoded)}")
        try:
            return b64decode(encoded, validate=True)
        except ValueError:
            raise ValueError(f"{name}_base64 is not base64") from None
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()
