"""What the bytes of a record say, to people: text, JSON, a registry's formats, the cluster's own records, or hex.

`auto` takes the first that fits. Whatever is chosen, bytes that are something else are shown as hex with the reason,
and never fail a page. What is masked is taken out before anybody looks, filters included.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from penstock.api.schemas import Schemas
from penstock.client.errors import ClientError
from penstock.client.meanings import meaning_of
from penstock.core.base.errors import PenstockError
from penstock.core.records.record import Record
from penstock.schemas.model import SchemaError

DECODERS: Final = ("auto", "text", "json", "schema", "hex")
PARTS: Final = ("key", "value", "headers")
MASKED: Final = "***"
HEX_BYTES_MAX: Final = 65_536
TEXT_MAX: Final = 1 << 20
JSON_BYTES_MAX: Final = 16 << 20
_FRAMED: Final = 0


class Mask(NamedTuple):
    """A field that viewers do not see: topics by pattern, and a path that begins with key, value or headers."""

    topics: str
    path: tuple[str, ...]


class Decoded(NamedTuple):
    """`data` is what filters look at."""

    kind: str
    text: str
    data: Any
    problem: str | None = None


class Shown(NamedTuple):
    """A record as pages show it."""

    partition: int
    offset: int
    timestamp: int
    key: Decoded
    value: Decoded
    headers: tuple[tuple[str, str], ...]
    size: int

    @property
    def fields(self) -> dict[str, Any]:
        return {
            "partition": self.partition,
            "offset": self.offset,
            "timestamp": self.timestamp,
            "key": self.key.data,
            "value": self.value.data,
            "headers": dict(self.headers),
            "size": self.size,
        }


class Decoder:
    """For one topic and one thread."""

    def __init__(
        self, topic: str, how: str = "auto", schemas: Schemas | None = None, masks: Sequence[Mask] = ()
    ) -> None:
        self._topic = topic
        self._how = how
        self._schemas = schemas
        self._masks = [mask.path for mask in masks if fnmatchcase(topic, mask.topics)]

    @property
    def masks(self) -> bool:
        """Whether bytes as they are would show what is masked."""
        return bool(self._masks)

    def show(self, partition: int, record: Record) -> Shown:
        meaning = meaning_of(self._topic, record, is_control=False) if self._how == "auto" else None
        if meaning is not None:
            key = _decoded("internal", {"type": meaning.type, **meaning.key})
            value = _null() if meaning.fields is None else _decoded("internal", meaning.fields)
        else:
            key = self._masked(self._decode(record, record.key, is_key=True), "key")
            value = self._masked(self._decode(record, record.value, is_key=False), "value")
        headers = tuple((name, self._header(name, data)) for name, data in record.headers)
        size = len(record.key or b"") + len(record.value or b"")
        return Shown(partition, record.offset, record.timestamp, key, value, headers, size)

    def _header(self, name: str, data: bytes | None) -> str:
        if any(path == ("headers",) or path == ("headers", name) for path in self._masks):
            return MASKED
        return "" if data is None else _text_of(data) or data.hex()

    def _decode(self, record: Record, data: bytes | None, *, is_key: bool) -> Decoded:
        if data is None:
            return _null()
        if self._how == "hex":
            return _hex(data)
        if self._how == "schema" or (
            self._how == "auto" and data[:1] == bytes([_FRAMED]) and self._schemas is not None
        ):
            return self._by_schema(record, data, is_key)
        if self._how == "text":
            text = _text_of(data)
            return _hex(data, "it is no text") if text is None else Decoded("text", text[:TEXT_MAX], text)
        return self._json_or_text(data)

    def _json_or_text(self, data: bytes) -> Decoded:
        begins = data.lstrip()[:1]
        if (self._how == "json" or begins in (b"{", b"[")) and len(data) <= JSON_BYTES_MAX:
            try:
                return _decoded("json", json.loads(data))
            except (ValueError, RecursionError):
                if self._how == "json":
                    return _hex(data, "it is no JSON")
        text = _text_of(data)
        return _hex(data) if text is None else Decoded("text", text[:TEXT_MAX], text)

    def _by_schema(self, record: Record, data: bytes, is_key: bool) -> Decoded:
        if self._schemas is None:
            return _hex(data, "no registry was named: start the console with --registry URL")
        try:
            value = self._schemas.deserialize(data, record.headers, is_key=is_key)
            return _decoded("schema", value)
        except (SchemaError, ClientError, PenstockError, ValueError) as failure:
            return _hex(data, str(failure))

    def _masked(self, found: Decoded, part: str) -> Decoded:
        paths = [path for path in self._masks if path[0] == part]
        if not paths or found.kind == "null":
            return found
        if any(len(path) == 1 for path in paths) or found.kind not in ("json", "schema"):
            # What cannot be looked into may hold it anywhere.
            return Decoded("masked", MASKED, None)
        for path in paths:
            _take_out(found.data, path[1:])
        return _decoded(found.kind, found.data)


def _take_out(data: Any, path: Sequence[str]) -> None:
    if isinstance(data, list):
        for each in data:
            _take_out(each, path)
    elif isinstance(data, dict) and path[0] in data:
        if len(path) == 1:
            data[path[0]] = MASKED
        else:
            _take_out(data[path[0]], path[1:])


def _null() -> Decoded:
    return Decoded("null", "null", None)


def _decoded(kind: str, data: Any) -> Decoded:
    return Decoded(kind, json.dumps(data, ensure_ascii=False, default=str)[:TEXT_MAX], data)


def _hex(data: bytes, problem: str | None = None) -> Decoded:
    more = f" ... and {len(data) - HEX_BYTES_MAX} bytes more" if len(data) > HEX_BYTES_MAX else ""
    text = data[:HEX_BYTES_MAX].hex(" ") + more
    return Decoded("hex", text, text, problem)


def _text_of(data: bytes) -> str | None:
    """None where it is not written for people."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    head = text[:4096]
    return text if all(char.isprintable() or char in "\t\r\n" for char in head) else None
