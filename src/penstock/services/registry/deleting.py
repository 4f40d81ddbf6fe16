"""Deleting versions, subjects and contexts: softly, which hides them, and then for good."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.core.schemas.records import (
    CONFIG,
    CONTEXT,
    DELETE_SUBJECT,
    MODE,
    SCHEMA,
    Key,
    schema_value,
    value_bytes,
)
from penstock.core.schemas.stored import StoredSchema
from penstock.core.schemas.subjects import context_name, prefix_of, qualified
from penstock.core.schemas.table import SchemaTable
from penstock.services.registry.asked import Asked, Nothing, subject_of
from penstock.services.registry.errors import (
    context_not_empty,
    invalid_subject,
    not_permitted,
    reference_exists,
    subject_not_found,
    subject_not_soft_deleted,
    subject_soft_deleted,
    version_not_found,
    version_not_soft_deleted,
    version_soft_deleted,
)
from penstock.services.registry.reading import LATEST
from penstock.services.registry.registering import READONLY
from penstock.services.registry.registry import Registry
from penstock.services.registry.schemas import version_number
from penstock.services.registry.topic import Change


async def delete_version(registry: Registry, asked: Asked) -> Any:
    subject, number = subject_of(asked.segments[1]), version_number(asked.segments[3])
    permanent = asked.flag("permanent")
    async with registry.changing():
        table = registry.table
        schema = _find(table, subject, number, permanent)
        check_writable(table, subject)
        if table.referenced_by(subject, schema.version, deleted=permanent):
            raise reference_exists(subject, schema.version)
        if permanent and not schema.deleted:
            raise version_not_soft_deleted(subject, schema.version)
        key = table.key_bytes(Key(SCHEMA, subject, schema.version))
        if not permanent:
            await registry.commit([(key, schema_value(replace(schema, deleted=True)))])
        else:
            is_last = len(table.versions(subject, deleted=True)) == 1
            settings = _settings_gone(table, subject) if is_last else []
            await registry.commit([*_last_id(table, [schema]), (key, None), *settings])
        return schema.version


async def delete_subject(registry: Registry, asked: Asked) -> Any:
    subject, permanent = subject_of(asked.segments[1]), asked.flag("permanent")
    async with registry.changing():
        table = registry.table
        versions = table.versions(subject, deleted=permanent)
        if not table.versions(subject, deleted=True):
            raise subject_not_found(subject)
        if not versions:
            raise subject_soft_deleted(subject)
        check_writable(table, subject)
        for schema in versions:
            referrers = table.referenced_by(subject, schema.version, deleted=permanent)
            if any(each.subject != subject for each in referrers):
                raise reference_exists(subject, schema.version)
            if permanent and not schema.deleted:
                raise subject_not_soft_deleted(subject)
        if permanent:
            # The last ones first: versions may refer to earlier ones of their own subject.
            keys = [table.key_bytes(Key(SCHEMA, subject, each.version)) for each in reversed(versions)]
            changes: list[Change] = [*_last_id(table, versions), *((key, None) for key in keys)]
            await registry.commit([*changes, *_settings_gone(table, subject)])
        else:
            value = value_bytes({"subject": subject, "version": versions[-1].version})
            await registry.commit([(table.key_bytes(Key(DELETE_SUBJECT, subject)), value)])
        return [each.version for each in versions]


async def delete_context(registry: Registry, asked: Asked) -> Any:
    context = context_name(asked.segments[1])
    if context is None:
        raise invalid_subject(asked.segments[1])
    async with registry.changing():
        table = registry.table
        if any(qualified(name).context == context for name in table.subjects(deleted=True)):
            raise context_not_empty(prefix_of(context))
        # Its ids stay given: what was read under them may be kept somewhere.
        await registry.commit([(table.key_bytes(Key(CONTEXT, context)), None)])
        return Nothing()


def check_writable(table: SchemaTable, subject: str) -> None:
    if table.mode(subject) in READONLY:
        where = prefix_of(qualified(subject).context)
        raise not_permitted(f"Subject {subject} in context {where} is in read-only mode")


def _find(table: SchemaTable, subject: str, number: int, permanent: bool) -> StoredSchema:
    found = table.latest(subject, permanent) if number == LATEST else table.get(subject, number)
    if found is None:
        raise version_not_found(number) if table.versions(subject, deleted=True) else subject_not_found(subject)
    if found.deleted and not permanent:
        raise version_soft_deleted(subject, found.version)
    return found


def _settings_gone(table: SchemaTable, subject: str) -> list[Change]:
    gone: list[Change] = []
    if table.own_mode(subject) is not None:
        gone.append((table.key_bytes(Key(MODE, subject)), None))
    if table.own_config(subject) is not None:
        gone.append((table.key_bytes(Key(CONFIG, subject)), None))
    return gone


def _last_id(table: SchemaTable, going: list[StoredSchema]) -> list[Change]:
    """Where the schema with the highest id goes, the id is written down: nobody is to be given it again."""
    context = qualified(going[0].subject).context
    last = table.last_id(context)
    if all(each.id != last for each in going):
        return []
    value = {"tenant": "default", "context": context, "lastId": last}
    return [(table.key_bytes(Key(CONTEXT, context)), value_bytes(value))]
