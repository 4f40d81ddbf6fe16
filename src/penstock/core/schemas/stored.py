"""A schema as `_schemas` has it: one version of a subject."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from uuid import UUID

AVRO: Final = "AVRO"
"""The format of a schema that says none."""


class StoredReference(NamedTuple):
    """Another subject's version, under the name by which the schema calls it."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class StoredSchema:
    """`metadata` and `rule_set` are kept as they came: what is in them is between clients."""

    subject: str
    version: int
    id: int
    guid: str
    text: str
    type: str = AVRO
    references: tuple[StoredReference, ...] = ()
    metadata: dict[str, Any] | None = None
    rule_set: dict[str, Any] | None = None
    deleted: bool = False


def guid_of(
    text: str,
    references: Sequence[StoredReference] = (),
    metadata: Mapping[str, Any] | None = None,
    rule_set: Mapping[str, Any] | None = None,
) -> str:
    """The name of a schema's content: the same in every registry, Confluent's among them, and so an MD5 as theirs."""
    digest = hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False)
    for name, subject, version in references:
        digest.update(_bytes(name) + _bytes(subject) + version.to_bytes(4, "big", signed=True))
    if metadata is not None:
        digest.update(b"\x01" + _of_metadata(metadata))
    if rule_set is not None:
        digest.update(b"\x01" + _of_rule_set(rule_set))
    return str(UUID(bytes=digest.digest()))


def _of_metadata(metadata: Mapping[str, Any]) -> bytes:
    tags = b"".join(_bytes(key) + _all(sorted(values)) for key, values in _items(metadata.get("tags")))
    return tags + _pairs(metadata.get("properties")) + _all(sorted(metadata.get("sensitive") or ()))


def _of_rule_set(rule_set: Mapping[str, Any]) -> bytes:
    kinds = ("migrationRules", "domainRules", "encodingRules")
    rules = b"".join(_of_rule(rule) for kind in kinds for rule in rule_set.get(kind) or ())
    return rules + _bytes(rule_set.get("enableAt"))


def _of_rule(rule: Mapping[str, Any]) -> bytes:
    first = (rule.get("name"), rule.get("doc"), rule.get("kind") or "TRANSFORM", rule.get("mode") or "WRITEREAD")
    tags, params = _all(sorted(rule.get("tags") or ())), _pairs(rule.get("params"))
    last = (rule.get("expr"), rule.get("onSuccess"), rule.get("onFailure"))
    disabled = b"\x01" if rule.get("disabled") is True else b""
    return _all(first) + _bytes(rule.get("type")) + tags + params + _all(last) + disabled


def _items(mapping: Any) -> list[tuple[Any, Any]]:
    return sorted(mapping.items()) if isinstance(mapping, dict) else []


def _pairs(mapping: Any) -> bytes:
    return b"".join(_bytes(key) + _bytes(value) for key, value in _items(mapping))


def _all(values: Sequence[Any]) -> bytes:
    return b"".join(map(_bytes, values))


def _bytes(value: Any) -> bytes:
    return b"" if value is None else str(value).encode("utf-8", "replace")
