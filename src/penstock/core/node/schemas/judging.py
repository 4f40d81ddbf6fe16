"""Whether records of a topic may name a schema, by what the registry's topic says."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from penstock.core.node.schemas.record_names import declares
from penstock.core.records.schema_ids import BY_RECORD, BY_TOPIC, Demand, Named, SchemaText, Verdict
from penstock.core.schemas.stored import StoredReference, StoredSchema
from penstock.core.schemas.subjects import DEFAULT_CONTEXT, beside, qualified
from penstock.core.schemas.table import SchemaTable

REFERENCES_MAX: Final = 100
"""Of one schema, those of its references too."""


class Missing(str):
    """Why a schema may not be named, unless a record of the registry that is under way says otherwise."""


def judge(table: SchemaTable, topic: str, demand: Demand, schema: Named) -> Verdict | Missing:
    versions = _versions(table, schema)
    if not versions:
        return Missing("which the registry does not have")
    if not any(_is_subject(topic, demand, each) for each in versions):
        return Missing(f"which is not registered for {_subject(topic, demand)}")
    return _text(table, versions[0]) if demand.reads_payloads else None


def _versions(table: SchemaTable, schema: Named) -> list[StoredSchema]:
    """Those that are not deleted: of a context of its own a topic's clients say nothing in a record."""
    id = schema.id
    found = table.all_by_id(id) if isinstance(id, int) else table.all_by_guid(str(UUID(bytes=id)))
    return [each for each in found if not each.deleted and qualified(each.subject).context == DEFAULT_CONTEXT]


def _is_subject(topic: str, demand: Demand, schema: StoredSchema) -> bool:
    if demand.strategy == BY_TOPIC:
        return schema.subject == f"{topic}-{demand.part}"
    if demand.strategy == BY_RECORD:
        return declares(schema, schema.subject)
    name = schema.subject.removeprefix(f"{topic}-")
    return name != schema.subject and declares(schema, name)


def _subject(topic: str, demand: Demand) -> str:
    if demand.strategy == BY_TOPIC:
        return f"the subject {topic}-{demand.part}"
    named = "" if demand.strategy == BY_RECORD else f"{topic}- and "
    return f"a subject named {named}as its record"


def _text(table: SchemaTable, schema: StoredSchema) -> Verdict:
    references: dict[str, str] = {}
    missing = _gather(table, schema, references, frozenset())
    return missing or SchemaText(schema.type, schema.text, tuple(references.items()))


def _gather(
    table: SchemaTable, schema: StoredSchema, found: dict[str, str], within: frozenset[StoredReference]
) -> Missing | None:
    """Put what a schema refers to into `found`, what others need first; or say what is not there."""
    for reference in schema.references:
        if reference.name in found:
            continue
        target = table.get(beside(reference.subject, schema.subject), reference.version)
        if target is None or reference in within or len(within) + len(found) >= REFERENCES_MAX:
            why = "is not there" if target is None else "leads in a circle, or too far"
            return Missing(f"whose reference {reference.name} ({reference.subject}, {reference.version}) {why}")
        missing = _gather(table, target, found, within | {reference})
        if missing is not None:
            return missing
        found[reference.name] = target.text
    return None
