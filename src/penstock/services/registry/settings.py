"""Compatibility and mode: of all, of a context, of a subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.core.schemas.records import CLEAR_SUBJECT, CONFIG, MODE, SCHEMA, Key, value_bytes
from penstock.core.schemas.subjects import GLOBAL_CONTEXT, qualified
from penstock.core.schemas.table import SchemaTable
from penstock.schemas.levels import Level
from penstock.services.registry.asked import Asked
from penstock.services.registry.deleting import check_writable
from penstock.services.registry.errors import (
    RestError,
    invalid_compatibility,
    invalid_mode,
    no_own_compatibility,
    no_own_mode,
    not_permitted,
    reference_exists,
    subject_not_found,
)
from penstock.services.registry.registering import IMPORT, READWRITE, check_subject
from penstock.services.registry.registry import Registry
from penstock.services.registry.submitted import read_object
from penstock.services.registry.topic import Change

MODES: Final = (READWRITE, "READONLY", "READONLY_OVERRIDE", IMPORT, "FORWARD")
_KINDS: Final[Mapping[str, type]] = {
    "alias": str,
    "normalize": bool,
    "validateFields": bool,
    "validateRules": bool,
    "compatibilityGroup": str,
    "compatibilityPolicy": str,
    "defaultMetadata": dict,
    "overrideMetadata": dict,
    "defaultRuleSet": dict,
    "overrideRuleSet": dict,
}


def _subject(asked: Asked) -> str:
    """Empty where all are meant."""
    return check_subject(asked.segments[1], is_setting=True) if len(asked.segments) > 1 else ""


def _shown(config: dict[str, Any], level: str | None, name: str) -> dict[str, Any]:
    rest = {key: value for key, value in config.items() if key != "compatibilityLevel"}
    found = config.get("compatibilityLevel") or level
    return ({name: found} if found else {}) | rest


async def config(registry: Registry, asked: Asked) -> Any:
    subject, level = _subject(asked), registry.settings.level
    own = registry.table.own_config(subject or None)
    if own is None and subject and not asked.flag("defaultToGlobal") and qualified(subject).context != GLOBAL_CONTEXT:
        raise no_own_compatibility(subject)
    found = own if own is not None else registry.table.config(subject or None)
    return _shown(found, level, "compatibilityLevel")


async def set_config(registry: Registry, asked: Asked) -> Any:
    subject, given = _subject(asked), read_object(asked.body)
    changed = _config_changes(given)
    async with registry.changing():
        check_writable(registry.table, subject)
        before = registry.table.own_config(subject or None) or {}
        merged = {name: value for name, value in (before | changed).items() if value is not None}
        key = registry.table.key_bytes(Key(CONFIG, subject or None))
        await registry.commit([(key, value_bytes({"subject": subject or None, **merged}))])
    return _shown(merged, None, "compatibility")


def _config_changes(given: dict[str, Any]) -> dict[str, Any]:
    """What is said of each setting; null takes it back."""
    changed: dict[str, Any] = {}
    if "compatibility" in given or "compatibilityLevel" in given:
        said = given.get("compatibility", given.get("compatibilityLevel"))
        if said is not None and (not isinstance(said, str) or said.upper() not in Level.__members__):
            raise invalid_compatibility()
        changed["compatibilityLevel"] = said.upper() if said else None
    for name, kind in _KINDS.items():
        if name in given:
            if given[name] is not None and not isinstance(given[name], kind):
                raise RestError(422, f"`{name}` is of another kind: {given[name]!r:.100}")
            changed[name] = given[name]
    refused = [name for name in ("alias", "validateFields", "validateRules") if changed.get(name)]
    if refused or changed.get("compatibilityPolicy") not in (None, "STRICT"):
        what = refused[0] if refused else "compatibilityPolicy"
        raise RestError(422, f"`{what}` does nothing in this registry, and is not accepted")
    return changed


async def delete_config(registry: Registry, asked: Asked) -> Any:
    subject = _subject(asked)
    async with registry.changing():
        own = registry.table.own_config(subject or None)
        if own is None and subject:
            raise subject_not_found(subject)
        check_writable(registry.table, subject)
        await registry.commit([(registry.table.key_bytes(Key(CONFIG, subject or None)), None)])
    return _shown(own or {}, registry.settings.level, "compatibilityLevel")


async def mode(registry: Registry, asked: Asked) -> Any:
    subject = _subject(asked)
    own = registry.table.own_mode(subject or None)
    if own is None and subject and not asked.flag("defaultToGlobal") and qualified(subject).context != GLOBAL_CONTEXT:
        raise no_own_mode(subject)
    return {"mode": own or registry.table.mode(subject or None) or READWRITE}


async def set_mode(registry: Registry, asked: Asked) -> Any:
    subject, given = _subject(asked), read_object(asked.body)
    wanted = given.get("mode")
    if wanted is not None and (not isinstance(wanted, str) or wanted.upper() not in MODES):
        raise invalid_mode()
    wanted = wanted.upper() if wanted else None
    if wanted == "FORWARD":
        raise not_permitted("FORWARD mode needs another registry to forward to, and there is none")
    async with registry.changing():
        table = registry.table
        changes: list[Change] = []
        if wanted == IMPORT and table.mode(subject or None) != IMPORT and not asked.flag("force"):
            changes = _emptied(table, subject)
        value = None if wanted is None else value_bytes({"subject": subject or None, "mode": wanted})
        await registry.commit([*changes, (table.key_bytes(Key(MODE, subject or None)), value)])
    return {"mode": wanted} if wanted else {}


def _emptied(table: SchemaTable, subject: str) -> list[Change]:
    """Who imports brings ids along, so that nothing may be there that has any."""
    names = _matching(table, subject, deleted=False)
    if names:
        raise not_permitted("Cannot import since found existing subjects")
    gone = [each for name in _matching(table, subject, deleted=True) for each in table.versions(name, deleted=True)]
    for schema in gone:
        if table.referenced_by(schema.subject, schema.version, deleted=True):
            raise reference_exists(schema.subject, schema.version)
    changes: list[Change] = [(table.key_bytes(Key(SCHEMA, each.subject, each.version)), None) for each in gone]
    if subject:
        changes.append((table.key_bytes(Key(CLEAR_SUBJECT, subject)), value_bytes({"subject": subject})))
    return changes


def _matching(table: SchemaTable, subject: str, *, deleted: bool) -> list[str]:
    """The subject itself; of a context's name its subjects; without a name all."""
    name, found = qualified(subject), table.subjects(deleted)
    if not subject or name.context == GLOBAL_CONTEXT:
        return found
    return [each for each in found if each == subject or (not name.subject and qualified(each).context == name.context)]


async def delete_mode(registry: Registry, asked: Asked) -> Any:
    subject, recursive = _subject(asked), asked.flag("recursive")
    async with registry.changing():
        table = registry.table
        own = table.own_mode(subject or None)
        if own is None and not recursive:
            raise subject_not_found(subject)
        below = _matching(table, subject, deleted=True) if recursive and not qualified(subject).subject else []
        names = [subject or None, *(name for name in below if name != subject and table.own_mode(name) is not None)]
        await registry.commit([(table.key_bytes(Key(MODE, name)), None) for name in names])
    return {"mode": own} if own else {}
