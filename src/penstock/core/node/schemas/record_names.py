"""Which records a schema declares, by their full names: subjects may be named after them."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from penstock.core.schemas.stored import StoredSchema

_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PACKAGE: Final = re.compile(r"\bpackage\s+([\w.]+)\s*;")
_MESSAGE: Final = re.compile(r"\bmessage\s+(\w+)\s*\{")


def declares(schema: StoredSchema, name: str) -> bool:
    """Whether a subject of this name is of a record in the schema: the record of Avro, the title of JSON Schema, one of
    the messages of Protobuf."""
    if schema.type == "PROTOBUF":
        return _has_message(schema.text, name)
    try:
        document = json.loads(schema.text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(document, dict):
        return False
    return name == (document.get("title") if schema.type == "JSON" else _full_name(document))


def _full_name(record: dict[str, Any]) -> str | None:
    name, namespace = record.get("name"), record.get("namespace")
    if not isinstance(name, str) or "." in name or not isinstance(namespace, str) or not namespace:
        return name if isinstance(name, str) else None
    return f"{namespace}.{name}"


def _has_message(text: str, name: str) -> bool:
    """Messages may stand in messages: each part behind the package is declared somewhere."""
    bare = _COMMENT.sub(" ", text)
    package = _PACKAGE.search(bare)
    within = "" if package is None else f"{package[1]}."
    parts = name.removeprefix(within).split(".") if name.startswith(within) else []
    declared = set(_MESSAGE.findall(bare))
    return bool(parts) and all(_WORD.fullmatch(part) and part in declared for part in parts)
