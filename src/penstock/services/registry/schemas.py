"""Answers about schemas by id, by guid and by subject; none of them changes anything."""

from __future__ import annotations

import base64
from typing import Any, Final

from penstock.core.schemas.stored import StoredSchema
from penstock.core.schemas.subjects import DEFAULT_CONTEXT, GLOBAL_CONTEXT, beside, prefix_of, qualified
from penstock.core.schemas.table import SchemaTable
from penstock.schemas.model import SchemaError
from penstock.services.registry.asked import Asked, Plain, subject_of
from penstock.services.registry.errors import (
    RestError,
    invalid_schema,
    invalid_version,
    schema_not_found,
    subject_not_found,
    version_not_found,
)
from penstock.services.registry.reading import LATEST, TYPES, texts_of
from penstock.services.registry.registry import Registry

VERSION_END: Final = 1 << 31
EVERYWHERE: Final = ":*:"


def version_number(text: str) -> int:
    """`latest` is -1, and so is -1."""
    if text == "latest":
        return LATEST
    try:
        number = int(text)
    except ValueError:
        raise invalid_version(text) from None
    if number != LATEST and not 0 < number < VERSION_END:
        raise invalid_version(text)
    return number


def find_version(table: SchemaTable, subject: str, version: int, deleted: bool = False) -> StoredSchema:
    """A subject's version; one that names no context is looked for in all of them."""
    names = [subject]
    if qualified(subject).context == DEFAULT_CONTEXT:
        names += [prefix_of(context) + subject for context in table.contexts() if context != DEFAULT_CONTEXT]
    for name in names:
        found = table.latest(name, deleted) if version == LATEST else table.get(name, version)
        if found is not None and (deleted or not found.deleted):
            return found
    if not table.versions(subject, deleted):
        raise subject_not_found(subject)
    raise version_not_found(version)


def shown(table: SchemaTable, schema: StoredSchema, asked: Asked | None = None) -> dict[str, Any]:
    """A version with all that is known of it."""
    facts: dict[str, Any] = {
        "subject": schema.subject,
        "version": schema.version,
        "id": schema.id,
        "guid": schema.guid,
        **_kind(schema, asked),
        "schema": formatted(table, schema, asked),
    }
    return facts | ({"deleted": True} if schema.deleted else {})


def _kind(schema: StoredSchema, asked: Asked | None) -> dict[str, Any]:
    references = [each._asdict() for each in schema.references]
    if asked is not None and asked.get("referenceFormat") == "qualified":
        references = [each | {"subject": beside(str(each["subject"]), schema.subject)} for each in references]
    facts = {"schemaType": schema.type, "references": references or None, "metadata": schema.metadata}
    return {name: value for name, value in (facts | {"ruleSet": schema.rule_set}).items() if value is not None}


def formatted(table: SchemaTable, schema: StoredSchema, asked: Asked | None) -> str:
    """Where a client asks for a Protobuf file as its descriptor, that; else the text."""
    if asked is None or asked.get("format") != "serialized" or schema.type != "PROTOBUF":
        return schema.text
    from penstock.schemas.protobuf.encoding import descriptor_of
    from penstock.schemas.protobuf.schema import parse_protobuf

    try:
        references = texts_of(table, schema.subject, schema.references)
        made = descriptor_of(f"{qualified(schema.subject).subject}.proto", parse_protobuf(schema.text, references))
    except SchemaError as failure:
        raise invalid_schema(str(failure)) from None
    return base64.b64encode(made.SerializeToString()).decode()


def find_by_id(table: SchemaTable, id: int, subject: str) -> StoredSchema:
    """By the context of a subject, if one is named, else first in the default one and then in all."""
    name = qualified(subject)
    contexts = [name.context]
    if name.context == DEFAULT_CONTEXT:
        contexts += [each for each in table.contexts() if each != DEFAULT_CONTEXT]
    for context in contexts:
        for found in table.all_by_id(id, context):
            if not name.subject or name.subject == qualified(found.subject).subject:
                return found
    elsewhere = table.by_id(id, name.context) if name.subject else None
    if elsewhere is None:
        raise schema_not_found(id)
    return elsewhere


def _id(asked: Asked) -> int:
    try:
        return int(asked.segments[2])
    except ValueError:
        raise RestError(404, "HTTP 404 Not Found") from None


def _visible(asked: Asked, found: list[StoredSchema]) -> bool:
    """Who may see one subject with a schema may see the schema."""
    return any(asked.may_see(each.subject) for each in found)


async def by_id(registry: Registry, asked: Asked) -> Any:
    table, subject = registry.table, asked.get("subject")
    schema = find_by_id(table, _id(asked), subject)
    context = qualified(schema.subject).context
    if not _visible(asked, table.all_by_id(schema.id, context)):
        raise schema_not_found(schema.id)
    facts = {"guid": schema.guid, **_kind(schema, asked), "schema": formatted(table, schema, asked)}
    if subject:
        facts = {"subject": schema.subject, "version": schema.version} | facts
    return facts | ({"maxId": table.last_id(context)} if asked.flag("fetchMaxId") else {})


async def text_by_id(registry: Registry, asked: Asked) -> Any:
    return Plain((await by_id(registry, asked))["schema"])


def _same(registry: Registry, asked: Asked) -> list[StoredSchema]:
    schema = find_by_id(registry.table, _id(asked), asked.get("subject"))
    same = registry.table.all_by_id(schema.id, qualified(schema.subject).context)
    return [each for each in same if (asked.flag("deleted") or not each.deleted) and asked.may_see(each.subject)]


async def subjects_by_id(registry: Registry, asked: Asked) -> Any:
    return asked.page(list(dict.fromkeys(each.subject for each in _same(registry, asked))))


async def versions_by_id(registry: Registry, asked: Asked) -> Any:
    return asked.page([{"subject": each.subject, "version": each.version} for each in _same(registry, asked)])


async def by_guid(registry: Registry, asked: Asked) -> Any:
    schema = registry.table.by_guid(asked.segments[2])
    if schema is None or not _visible(asked, registry.table.all_by_guid(schema.guid)):
        raise schema_not_found(asked.segments[2])
    return {"guid": schema.guid, **_kind(schema, asked), "schema": formatted(registry.table, schema, asked)}


async def ids_by_guid(registry: Registry, asked: Asked) -> Any:
    found = {
        (qualified(each.subject).context, each.id)
        for each in registry.table.all_by_guid(asked.segments[2])
        if asked.may_see(each.subject)
    }
    return [{"context": context, "id": id} for context, id in sorted(found)]


async def types(registry: Registry, asked: Asked) -> Any:
    return list(TYPES)


async def all_schemas(registry: Registry, asked: Asked) -> Any:
    deleted = asked.flag("deleted")
    found: list[StoredSchema] = []
    for name in _names(registry, asked, deleted):
        versions = registry.table.versions(name, deleted)
        found += versions[-1:] if asked.flag("latestOnly") else versions
    return [shown(registry.table, each) for each in asked.page(found)]


async def subjects(registry: Registry, asked: Asked) -> Any:
    only = asked.flag("deletedOnly")
    names = _names(registry, asked, only or asked.flag("deleted"))
    if only:
        names = [name for name in names if not registry.table.versions(name)]
    return asked.page(names)


def _names(registry: Registry, asked: Asked, deleted: bool) -> list[str]:
    prefix = asked.get("subjectPrefix", EVERYWHERE)
    names = [name for name in registry.table.subjects(deleted) if asked.may_see(name)]
    if prefix.startswith(EVERYWHERE):
        bare = prefix.removeprefix(EVERYWHERE)
        return [name for name in names if qualified(name).subject.startswith(bare)]
    wanted = qualified(prefix)
    return [
        name
        for name in names
        if qualified(name).context == wanted.context and qualified(name).subject.startswith(wanted.subject)
    ]


async def versions(registry: Registry, asked: Asked) -> Any:
    subject = subject_of(asked.segments[1])
    only, negative = asked.flag("deletedOnly"), asked.flag("deletedAsNegative")
    deleted = only or asked.flag("deleted")
    if not registry.table.versions(subject, deleted):
        raise subject_not_found(subject)
    found = registry.table.versions(subject, deleted or negative)
    if only and not negative:
        found = [each for each in found if each.deleted]
    return asked.page([-each.version if negative and each.deleted else each.version for each in found])


async def version(registry: Registry, asked: Asked) -> Any:
    subject, number = subject_of(asked.segments[1]), version_number(asked.segments[3])
    return shown(registry.table, find_version(registry.table, subject, number, asked.flag("deleted")), asked)


async def text_of_version(registry: Registry, asked: Asked) -> Any:
    return Plain((await version(registry, asked))["schema"])


async def referenced_by(registry: Registry, asked: Asked) -> Any:
    subject, number = subject_of(asked.segments[1]), version_number(asked.segments[3])
    schema = find_version(registry.table, subject, number, deleted=True)
    found = registry.table.referenced_by(schema.subject, schema.version, asked.flag("deleted"))
    return asked.page(sorted({each.id for each in found}))


async def latest_with_metadata(registry: Registry, asked: Asked) -> Any:
    subject, deleted = subject_of(asked.segments[1]), asked.flag("deleted")
    wanted = dict(zip(asked.query.get("key", []), asked.query.get("value", []), strict=False))
    found = registry.table.versions(subject, deleted)
    if not found:
        raise subject_not_found(subject)
    for schema in reversed(found):
        properties = (schema.metadata or {}).get("properties")
        if isinstance(properties, dict) and wanted.items() <= properties.items():
            return shown(registry.table, schema, asked)
    raise schema_not_found()


async def contexts(registry: Registry, asked: Asked) -> Any:
    prefix = asked.get("contextPrefix")
    return asked.page(
        [each for each in registry.table.contexts() if each.startswith(prefix) and each != GLOBAL_CONTEXT]
    )


async def cluster(registry: Registry, asked: Asked) -> Any:
    scope = {"kafka-cluster": registry.cluster_id, "schema-registry-cluster": registry.settings.group}
    return {"scope": {"path": [], "clusters": scope}, "id": ""}


async def release(registry: Registry, asked: Asked) -> Any:
    from penstock import __version__

    return {"version": __version__, "commitId": ""}


async def root(registry: Registry, asked: Asked) -> Any:
    return {}
