"""What a client sends: JSON, of which only what is known counts, and nothing is believed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from penstock.core.schemas.stored import AVRO, StoredReference
from penstock.schemas.model import REFERENCES_MAX
from penstock.services.registry.errors import RestError, invalid_schema

NO_ID: Final = -1
NO_VERSION: Final = 0
BODY_BYTES_MAX: Final = 4 << 20
_KINDS: Final = ("migrationRules", "domainRules", "encodingRules")


@dataclass(frozen=True, slots=True)
class Submitted:
    """A schema that is to be registered, looked up or compared."""

    text: str
    type: str = AVRO
    references: tuple[StoredReference, ...] = ()
    metadata: dict[str, Any] | None = None
    rule_set: dict[str, Any] | None = None
    id: int = NO_ID
    version: int = NO_VERSION


def read_object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as failure:
        raise RestError(400, f"the request is not JSON: {str(failure)[:200]}") from None
    if not isinstance(found, dict):
        raise RestError(400, "the request is not a JSON object")
    return found


def read_schema(body: bytes) -> Submitted:
    members = read_object(body)
    text, type = _text(members, "schema") or "", _text(members, "schemaType") or AVRO
    id, version = _number(members, "id", NO_ID), _number(members, "version", NO_VERSION)
    metadata, rule_set = _object(members, "metadata"), _object(members, "ruleSet")
    _check_metadata(metadata or {})
    _check_rules(rule_set or {})
    references = _references(members.get("references") or [])
    # In the world of Java, numbers that are not there are -1 here and 0 there.
    return Submitted(text, type, references, metadata, rule_set, id if id >= 0 else NO_ID, max(version, NO_VERSION))


def _references(found: Any) -> tuple[StoredReference, ...]:
    if not isinstance(found, list):
        raise RestError(400, "`references` is not a list")
    if len(found) > REFERENCES_MAX:
        raise invalid_schema(f"the schema has {len(found)} references, {REFERENCES_MAX} are allowed")
    references = []
    for each in found:
        members = each if isinstance(each, dict) else {}
        name, subject = _text(members, "name"), _text(members, "subject")
        if name is None or subject is None:
            raise invalid_schema("a reference needs a name, a subject and a version")
        references.append(StoredReference(name, subject, _number(members, "version", -1)))
    return tuple(references)


def _check_metadata(metadata: dict[str, Any]) -> None:
    tags, properties = _object(metadata, "tags") or {}, _object(metadata, "properties") or {}
    sensitive = metadata.get("sensitive") or []
    lists = [*tags.values(), sensitive]
    texts = all(isinstance(each, str) for each in properties.values())
    if not texts or not all(isinstance(each, list) and all(isinstance(one, str) for one in each) for each in lists):
        raise RestError(400, "`metadata` has texts as properties, and lists of texts as tags and as what is sensitive")


def _check_rules(rule_set: dict[str, Any]) -> None:
    names: set[str] = set()
    for kind in _KINDS:
        rules = rule_set.get(kind) or []
        if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
            raise RestError(400, f"`{kind}` is not a list of rules")
        for rule in rules:
            name = rule.get("name")
            if not isinstance(name, str) or not name or not isinstance(rule.get("type"), str):
                raise RestError(42210, "a rule needs a name and a type")
            if name in names:
                raise RestError(42210, f"Found rule with duplicate name '{name}'")
            names.add(name)


def _text(members: dict[str, Any], name: str) -> str | None:
    found = members.get(name)
    if found is None or isinstance(found, str):
        return found
    raise RestError(400, f"`{name}` is not a text")


def _number(members: dict[str, Any], name: str, default: int) -> int:
    found = members.get(name)
    if found is None:
        return default
    if isinstance(found, bool) or not isinstance(found, int) or not -1 <= found < 1 << 31:
        raise RestError(400, f"`{name}` is not a number of 31 bits")
    return found


def _object(members: dict[str, Any], name: str) -> dict[str, Any] | None:
    found = members.get(name)
    if found is None or isinstance(found, dict):
        return found
    raise RestError(400, f"`{name}` is not a JSON object")
