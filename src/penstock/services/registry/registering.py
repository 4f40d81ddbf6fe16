"""Registering a schema, and looking one up by what it says."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from penstock.core.schemas.records import CONTEXT, SCHEMA, Key, schema_value, value_bytes
from penstock.core.schemas.stored import StoredSchema, guid_of
from penstock.core.schemas.subjects import DEFAULT_CONTEXT, GLOBAL_CONTEXT, prefix_of, qualified
from penstock.core.schemas.table import SchemaTable
from penstock.schemas.model import Reference
from penstock.services.registry.asked import Asked, subject_of
from penstock.services.registry.errors import (
    id_does_not_match,
    incompatible,
    invalid_schema,
    invalid_subject,
    not_permitted,
    schema_not_found,
    subject_not_found,
)
from penstock.services.registry.reading import sameness, texts_of
from penstock.services.registry.registry import Registry
from penstock.services.registry.schemas import shown
from penstock.services.registry.submitted import NO_ID, NO_VERSION, Submitted, read_schema
from penstock.services.registry.topic import Change

READWRITE, IMPORT, FORWARD = "READWRITE", "IMPORT", "FORWARD"
READONLY = ("READONLY", "READONLY_OVERRIDE")


@dataclass(frozen=True, slots=True)
class Canonical:
    """A schema in the form in which it is kept, with the texts of what it refers to."""

    given: Submitted
    references: tuple[Reference, ...]

    @property
    def guid(self) -> str:
        return guid_of(self.given.text, self.given.references, self.given.metadata, self.given.rule_set)


def check_subject(subject: str, *, is_setting: bool = False) -> str:
    name = qualified(subject)
    is_control = any(ord(each) < 32 or 127 <= ord(each) < 160 for each in subject)
    if is_control or name.subject in ("__GLOBAL", "__EMPTY") or (name.context == GLOBAL_CONTEXT and not is_setting):
        raise invalid_subject(subject)
    return subject_of(subject)


async def canonical(registry: Registry, subject: str, given: Submitted, normalize: bool) -> Canonical:
    """Parsed and checked, beside the loop, because a schema may take a second."""
    references = texts_of(registry.table, subject, given.references)
    text = await asyncio.to_thread(registry.reader.canonical, given, references, normalize)
    return Canonical(replace(given, text=text), references)


def is_normalized(registry: Registry, subject: str, asked: Asked) -> bool:
    return asked.flag("normalize") or registry.table.config(subject).get("normalize") is True


async def register(registry: Registry, asked: Asked) -> Any:
    subject, given = check_subject(asked.segments[1]), read_schema(asked.body)
    normalize = is_normalized(registry, subject, asked)
    async with registry.changing():
        _check_mode(registry.table, subject, given)
        given = _completed(registry.table, subject, given)
        new = await canonical(registry, subject, given, normalize)
        known = _registered(registry.table, subject, new)
        if known is not None:
            return _answer(registry, known)
        id = _id(registry.table, subject, new)
        version = _version(registry.table, subject, given)
        if registry.table.mode(subject) not in (IMPORT, FORWARD) and not asked.flag("force"):
            await _check_compatible(registry, subject, new)
        stored = StoredSchema(
            subject,
            version,
            id,
            new.guid,
            new.given.text,
            given.type,
            given.references,
            given.metadata,
            given.rule_set,
        )
        await registry.commit(_changes(registry.table, stored))
        return _answer(registry, stored)


async def find_registered(registry: Registry, asked: Asked) -> Any:
    """What registering would answer without writing anything; None if it would have to write."""
    subject, given = check_subject(asked.segments[1]), read_schema(asked.body)
    if given.id != NO_ID or not given.text.strip() or not registry.table.versions(subject):
        return None
    if registry.table.mode(subject) not in (None, READWRITE):
        return None
    given = _completed(registry.table, subject, given)
    known = _registered(
        registry.table, subject, await canonical(registry, subject, given, is_normalized(registry, subject, asked))
    )
    return None if known is None else _answer(registry, known)


async def look_up(registry: Registry, asked: Asked) -> Any:
    subject, given = subject_of(asked.segments[1]), read_schema(asked.body)
    deleted = asked.flag("deleted")
    names = [subject]
    if qualified(subject).context == DEFAULT_CONTEXT:
        names += [prefix_of(context) + subject for context in registry.table.contexts() if context != DEFAULT_CONTEXT]
    for name in names:
        versions = registry.table.versions(name, deleted)
        if not versions:
            continue
        new = await canonical(registry, name, given, is_normalized(registry, name, asked))
        latest = versions[-1]
        # Who registered it may have got metadata and rules of the version before; without them it is still that one.
        filled = replace(new.given, metadata=latest.metadata, rule_set=latest.rule_set)
        for wanted in (new, Canonical(filled, new.references)):
            found = _same(versions, wanted)
            if found is not None:
                return shown(registry.table, found, asked)
    if not registry.table.versions(subject, deleted):
        raise subject_not_found(subject)
    raise schema_not_found()


def _check_mode(table: SchemaTable, subject: str, given: Submitted) -> None:
    mode, context = table.mode(subject) or READWRITE, prefix_of(qualified(subject).context)
    if mode in READONLY:
        raise not_permitted(f"Subject {subject} in context {context} is in read-only mode")
    if given.id != NO_ID and mode not in (IMPORT, FORWARD):
        raise not_permitted(f"Subject {subject} in context {context} is not in import mode")
    if given.id == NO_ID and mode != READWRITE:
        raise not_permitted(f"Subject {subject} in context {context} is not in read-write mode")


def _completed(table: SchemaTable, subject: str, given: Submitted) -> Submitted:
    """What a client leaves out and the version before has, and what the subject's settings say of metadata and
    rules."""
    if given.id != NO_ID:
        return given
    latest, config = table.latest(subject), table.config(subject)
    if not given.text.strip():
        if latest is None:
            raise invalid_schema("Empty schema")
        given = replace(given, text=latest.text, type=latest.type, references=latest.references)
    before = (latest.metadata, latest.rule_set) if latest else (None, None)
    metadata, rule_set = (
        _merged(config.get(f"default{name}"), own if own is not None else old, config.get(f"override{name}"))
        for name, own, old in (("Metadata", given.metadata, before[0]), ("RuleSet", given.rule_set, before[1]))
    )
    return replace(given, metadata=metadata, rule_set=rule_set)


def _merged(default: Any, own: dict[str, Any] | None, override: Any) -> dict[str, Any] | None:
    """Member by member; of lists of rules those with other names stay."""
    found: dict[str, Any] | None = None
    for each in (default, own, override):
        if isinstance(each, dict):
            found = each if found is None else {name: _joined(found.get(name), each.get(name)) for name in found | each}
    return found


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        return first | second
    if isinstance(first, list) and isinstance(second, list):
        named = {str(each.get("name") if isinstance(each, dict) else each): each for each in (*first, *second)}
        return list(named.values())
    return first if second is None else second


def _registered(table: SchemaTable, subject: str, new: Canonical) -> StoredSchema | None:
    """The version that this schema has already."""
    if new.given.version != NO_VERSION:
        return None
    found = _same(table.versions(subject), new)
    return found if found is not None and new.given.id in (NO_ID, found.id) else None


def _same(versions: list[StoredSchema], new: Canonical) -> StoredSchema | None:
    guid = new.guid
    for version in reversed(versions):
        if version.guid == guid and version.type == new.given.type:
            return version
    wanted = sameness(new.given)
    return next((each for each in reversed(versions) if sameness(each) == wanted), None)


def _id(table: SchemaTable, subject: str, new: Canonical) -> int:
    """The one that the content has in this context; an own one, in import mode; else the next."""
    context, given = qualified(subject).context, new.given.id
    same = [each for each in table.all_by_guid(new.guid) if qualified(each.subject).context == context]
    known = next((each.id for each in same if each.type == new.given.type), None)
    if given == NO_ID:
        return table.last_id(context) + 1 if known is None else known
    there = table.by_id(given, context)
    if there is not None and (there.guid, there.type) != (new.guid, new.given.type):
        where = prefix_of(context)
        raise not_permitted(f"Overwrite new schema with id {given} in context {where} is not permitted.")
    if any(each.subject == subject and each.id != given and not each.deleted for each in same):
        raise id_does_not_match(known or 0, given)
    return given


def _version(table: SchemaTable, subject: str, given: Submitted) -> int:
    latest = table.latest(subject, deleted=True)
    following = 1 if latest is None else latest.version + 1
    if given.version not in (NO_VERSION, following) and table.mode(subject) not in (IMPORT, FORWARD):
        raise invalid_schema("Version is not one more than previous version")
    return given.version or following


async def _check_compatible(registry: Registry, subject: str, new: Canonical) -> None:
    messages = await obstacles(registry, subject, new, registry.table.versions(subject))
    if messages:
        raise incompatible(subject, messages)


async def obstacles(registry: Registry, subject: str, new: Canonical, earlier: list[StoredSchema]) -> list[str]:
    """What is in the way of following these versions, at the level that the subject has."""
    config = registry.table.config(subject)
    level = config.get("compatibilityLevel") or registry.settings.level
    group = config.get("compatibilityGroup")
    if isinstance(group, str):
        wanted = _property(new.given.metadata, group)
        earlier = [each for each in earlier if _property(each.metadata, group) == wanted]
    held = earlier if str(level).endswith("_TRANSITIVE") else earlier[-1:]
    with_texts = [(each, texts_of(registry.table, each.subject, each.references)) for each in held]
    schema = (new.given.type, new.given.text, new.references)
    return await asyncio.to_thread(registry.reader.in_the_way, str(level), schema, with_texts)


def _property(metadata: dict[str, Any] | None, name: str) -> Any:
    return ((metadata or {}).get("properties") or {}).get(name)


def _changes(table: SchemaTable, stored: StoredSchema) -> list[Change]:
    changes: list[Change] = []
    context = qualified(stored.subject).context
    if context not in table.contexts():
        value = {"tenant": "default", "context": context}
        changes.append((table.key_bytes(Key(CONTEXT, context)), value_bytes(value)))
    for old in table.versions(stored.subject, deleted=True):
        is_former = old.deleted and old.id == stored.id and old.version < stored.version
        if is_former and not table.referenced_by(old.subject, old.version, deleted=True):
            changes.append((table.key_bytes(Key(SCHEMA, old.subject, old.version)), None))
    key = table.key_bytes(Key(SCHEMA, stored.subject, stored.version))
    return [*changes, (key, schema_value(stored))]


def _answer(registry: Registry, stored: StoredSchema) -> dict[str, Any]:
    facts = shown(registry.table, stored)
    return {name: facts[name] for name in facts if name not in ("subject", "deleted")}
