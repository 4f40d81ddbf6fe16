"""Whether a schema could be registered, without registering it."""

from __future__ import annotations

from typing import Any

from penstock.core.schemas.stored import StoredSchema
from penstock.services.registry.asked import Asked, subject_of
from penstock.services.registry.errors import RestError, version_not_found
from penstock.services.registry.reading import LATEST
from penstock.services.registry.registering import canonical, is_normalized, obstacles
from penstock.services.registry.registry import Registry
from penstock.services.registry.schemas import version_number
from penstock.services.registry.submitted import read_schema

INVALID = 42201


async def check_version(registry: Registry, asked: Asked) -> Any:
    subject, number = subject_of(asked.segments[2]), version_number(asked.segments[4])
    found = registry.table.latest(subject) if number == LATEST else registry.table.get(subject, number)
    if number != LATEST and (found is None or found.deleted):
        raise version_not_found(number)
    return await _check(registry, asked, subject, [found] if found is not None else [])


async def check_all(registry: Registry, asked: Asked) -> Any:
    subject = subject_of(asked.segments[2])
    return await _check(registry, asked, subject, registry.table.versions(subject))


async def _check(registry: Registry, asked: Asked, subject: str, earlier: list[StoredSchema]) -> Any:
    given, verbose = read_schema(asked.body), asked.flag("verbose")
    try:
        new = await canonical(registry, subject, given, is_normalized(registry, subject, asked))
        messages = await obstacles(registry, subject, new, earlier)
    except RestError as failure:
        if failure.code != INVALID or not verbose:
            raise
        messages = [failure.message]
    return {"is_compatible": not messages} | ({"messages": messages} if verbose else {})
