"""From what a client sent, or what the topic holds, to schemas that can be compared. Runs beside the loop."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import OrderedDict
from contextlib import suppress
from threading import Lock
from typing import Any, Final

from penstock.core.schemas.stored import AVRO, StoredReference, StoredSchema, guid_of
from penstock.core.schemas.subjects import beside
from penstock.core.schemas.table import SchemaTable
from penstock.schemas.levels import Level, incompatibilities
from penstock.schemas.model import NESTING_MAX, REFERENCES_MAX, Format, Reference, Schema, SchemaError
from penstock.schemas.parsing import parse
from penstock.services.registry.errors import invalid_schema
from penstock.services.registry.submitted import Submitted

TYPES: Final = ("JSON", "PROTOBUF", "AVRO")
PARSED_MAX: Final = 1_000
PARSED_CHARS_MAX: Final = 4 << 20
LATEST: Final = -1
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")


class Reader:
    """Parses, and remembers what it has parsed lately."""

    def __init__(self) -> None:
        self._parsed: OrderedDict[tuple[str, str, tuple[Reference, ...]], Schema] = OrderedDict()
        self._chars = 0
        self._lock = Lock()

    def parse(self, type: str, text: str, references: tuple[Reference, ...]) -> Schema:
        key = (type, text, references)
        with self._lock:
            known = self._parsed.get(key)
            if known is not None:
                self._parsed.move_to_end(key)
                return known
        try:
            found = parse(format_of(type), text, references)
        except SchemaError as failure:
            raise invalid_schema(str(failure)) from None
        with self._lock:
            if key not in self._parsed:
                self._parsed[key] = found
                self._chars += len(text)
            while len(self._parsed) > PARSED_MAX or self._chars > PARSED_CHARS_MAX:
                (_, gone, _), _ = self._parsed.popitem(last=False)
                self._chars -= len(gone)
        return found

    def canonical(self, given: Submitted, references: tuple[Reference, ...], normalize: bool) -> str:
        """The schema as it is kept: the layout goes, and with `normalize` also the order where it says nothing."""
        if not given.text.strip():
            raise invalid_schema("Empty schema")
        if format_of(given.type) is Format.PROTOBUF:
            text = protobuf_text(given.text)
            parsed = self.parse(given.type, text, references)
            return parsed.normal if normalize else text
        self.parse(given.type, given.text, references)
        if given.type == AVRO and _BARE.fullmatch(given.text.strip()):
            return json.dumps(given.text.strip())
        document = json.loads(given.text)
        return ordered(document, given.type) if normalize else _compact(document)

    def in_the_way(
        self,
        level: str,
        new: tuple[str, str, tuple[Reference, ...]],
        earlier: list[tuple[StoredSchema, tuple[Reference, ...]]],
    ) -> list[str]:
        """What keeps a schema from following others, oldest first, as lines for people."""
        schema = self.parse(*new)
        found = []
        for at, (stored, _) in enumerate(earlier):
            if stored.type != new[0] and level != Level.NONE:
                # What was written in another format can be read by nobody who expects this one.
                needed = at == len(earlier) - 1 or level.endswith("_TRANSITIVE")
                found += [f"{{errorType:'TYPE_CHANGED', description:'{stored.type} to {new[0]}'}}"] if needed else []
        if found:
            return [*found, f"{{compatibility: '{level}'}}"]
        same = [(stored, references) for stored, references in earlier if stored.type == new[0]]
        parsed = [self.parse(stored.type, stored.text, references) for stored, references in same]
        try:
            obstacles = incompatibilities(Level(level), schema, parsed)
        except SchemaError as failure:
            raise invalid_schema(str(failure)) from None
        for each in obstacles:
            old = same[each.earlier][0]
            said = each.difference
            found.append(
                f"{{errorType:'{said.kind}', description:'{said.message} ({each.direction})', path:'{said.path}', "
                f"oldSchemaVersion:{old.version}}}"
            )
        return [*found, f"{{compatibility: '{level}'}}"] if found else []


def format_of(type: str) -> Format:
    if type not in TYPES:
        raise invalid_schema(f"Invalid schema type {type}. Valid types are {', '.join(TYPES)}")
    return Format(type.lower())


def ordered(document: Any, type: str) -> str:
    """The same for documents that differ in the order of members; in Avro also for `"int"` and `{"type": "int"}`."""
    shown = _short(document) if type == AVRO else document
    return json.dumps(shown, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def sameness(schema: StoredSchema | Submitted) -> str:
    """Schemas with the same one are the same to who looks one up: for Avro the order of members says nothing."""
    text = schema.text
    if schema.type == AVRO:
        with suppress(ValueError, RecursionError):
            text = ordered(json.loads(text), AVRO)
    return guid_of(f"{schema.type} {text}", schema.references, schema.metadata, schema.rule_set)


def texts_of(table: SchemaTable, subject: str, references: tuple[StoredReference, ...]) -> tuple[Reference, ...]:
    """The schemas that a subject's schema refers to, and those that these refer to, before what needs them."""
    found: dict[str, Reference] = {}
    _collect(table, subject, references, found, ())
    return tuple(found.values())


def _collect(
    table: SchemaTable,
    parent: str,
    references: tuple[StoredReference, ...],
    found: dict[str, Reference],
    within: tuple[tuple[str, int], ...],
) -> None:
    for name, subject, version in references:
        place = beside(subject, parent)
        stored = table.latest(place) if version == LATEST else table.get(place, version)
        if stored is None:
            raise invalid_schema(f'No schema reference found for subject "{subject}" and version {version}')
        at = (place, stored.version)
        if at in within or len(within) > NESTING_MAX:
            raise invalid_schema(f"schemas refer to each other in a circle: {place} version {stored.version}")
        if name not in found:
            _collect(table, place, stored.references, found, (*within, at))
            found.setdefault(name, Reference(name, stored.text))
        if len(found) > REFERENCES_MAX:
            raise invalid_schema(f"the schema has more than {REFERENCES_MAX} references")


def protobuf_text(text: str) -> str:
    """A file's descriptor in base64, which is how some clients send it, as the file's text."""
    if not _BASE64.fullmatch(text) or ";" in text:
        return text
    from penstock.schemas.protobuf.descriptors import text_of

    try:
        data = base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        raise invalid_schema("neither a .proto file nor the base64 of a descriptor") from None
    try:
        return text_of(data)
    except SchemaError as failure:
        raise invalid_schema(str(failure)) from None


def _compact(document: Any) -> str:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _short(node: Any) -> Any:
    if isinstance(node, list):
        return [_short(each) for each in node]
    if not isinstance(node, dict):
        return node
    if len(node) == 1 and isinstance(node.get("type"), str):
        return node["type"]
    return {name: value if name == "default" else _short(value) for name, value in node.items()}
