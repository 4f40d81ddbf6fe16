"""Keys and values of the records of `_schemas`, to bytes and back.

Whoever wrote a topic before us may have had fields and kinds of records that we do not know, and may have written a
key's members in another order: what is known is read, the rest is passed over.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeGuard

from penstock.core.schemas.stored import AVRO, StoredReference, StoredSchema, guid_of

TOPIC: Final = "_schemas"

SCHEMA: Final = "SCHEMA"
CONFIG: Final = "CONFIG"
MODE: Final = "MODE"
DELETE_SUBJECT: Final = "DELETE_SUBJECT"
CLEAR_SUBJECT: Final = "CLEAR_SUBJECT"
CONTEXT: Final = "CONTEXT"
NOOP: Final = "NOOP"

_MAGIC: Final = {SCHEMA: 1}


class Key(NamedTuple):
    """What a record is about. Without a subject it is about all; of a context, `subject` is the context's name."""

    kind: str
    subject: str | None = None
    version: int | None = None


def key_bytes(key: Key) -> bytes:
    """With the members in Confluent's order: compaction compares bytes."""
    if key.kind == CONTEXT:
        return _dump({"keytype": CONTEXT, "tenant": "default", "context": key.subject})
    members = {"keytype": key.kind, "subject": key.subject, "version": key.version, "magic": _MAGIC.get(key.kind, 0)}
    return _dump({name: value for name, value in members.items() if value is not None})


def read_key(data: bytes) -> Key | None:
    members = _load(data)
    if members is None:
        return None
    kind, subject, version = members.get("keytype"), members.get("subject"), members.get("version")
    if kind == CONTEXT:
        subject = members.get("context")
    if not isinstance(kind, str) or not (subject is None or isinstance(subject, str)):
        return None
    if kind == SCHEMA:
        return Key(kind, subject, version) if subject is not None and _is_number(version, least=1) else None
    if subject is None and kind in (DELETE_SUBJECT, CLEAR_SUBJECT, CONTEXT):
        return None
    return Key(kind, subject)


def read_value(data: bytes) -> dict[str, Any] | None:
    return _load(data)


def value_bytes(members: dict[str, Any]) -> bytes:
    return _dump({name: value for name, value in members.items() if value is not None})


def schema_value(schema: StoredSchema) -> bytes:
    references = [each._asdict() for each in schema.references]
    return value_bytes(
        {
            "subject": schema.subject,
            "version": schema.version,
            "id": schema.id,
            "schemaType": None if schema.type == AVRO else schema.type,
            "references": references or None,
            "metadata": schema.metadata,
            "ruleSet": schema.rule_set,
            "schema": schema.text,
            "deleted": schema.deleted,
        }
    )


def read_schema(key: Key, members: dict[str, Any]) -> StoredSchema | None:
    """None where what every schema has is not there, or is something else."""
    id, text, type = members.get("id"), members.get("schema"), members.get("schemaType") or AVRO
    references = _references(members.get("references") or [])
    if not (isinstance(text, str) and isinstance(type, str) and _is_number(id, least=0)):
        return None
    if references is None or key.subject is None or key.version is None:
        return None
    metadata, rule_set = _mapping(members.get("metadata")), _mapping(members.get("ruleSet"))
    try:
        guid = guid_of(text, references, metadata, rule_set)
    except (TypeError, ValueError, AttributeError, OverflowError):
        # Somebody's own members under the names of metadata or rules: the schema is good without them.
        metadata = rule_set = None
        guid = guid_of(text, references)
    schema = StoredSchema(key.subject, key.version, id, guid, text, type, references, metadata, rule_set)
    return replace(schema, deleted=True) if members.get("deleted") is True else schema


def _references(found: Any) -> tuple[StoredReference, ...] | None:
    if not isinstance(found, list):
        return None
    references = []
    for each in found:
        members = each if isinstance(each, dict) else {}
        name, subject, version = members.get("name"), members.get("subject"), members.get("version")
        if not (isinstance(name, str) and isinstance(subject, str) and _is_number(version, least=-1)):
            return None
        references.append(StoredReference(name, subject, version))
    return tuple(references)


def _mapping(found: Any) -> dict[str, Any] | None:
    return found if isinstance(found, dict) else None


def _is_number(value: Any, least: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 1 << 31


def _load(data: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _dump(members: dict[str, Any]) -> bytes:
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
