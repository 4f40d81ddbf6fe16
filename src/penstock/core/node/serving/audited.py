"""What is told of a request: who asked for what, and what became of it. Names of things, never what they are set to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from penstock.core.base.errors import ErrorCode
from penstock.core.node.serving.access import Operation, Touches
from penstock.core.node.serving.context import RequestContext
from penstock.core.wire.schema import Struct

CHANGES: Final = frozenset(
    (Operation.CREATE, Operation.DELETE, Operation.ALTER, Operation.ALTER_CONFIGS, Operation.CREATE_TOKENS)
)
NAMES_MAX: Final = 20
"""Of one kind; a request may name thousands."""
NAME_CHARS_MAX: Final = 256
_NAMING: Final = frozenset(
    (
        "name",
        "topic",
        "topic_names",
        "groups_names",
        "group_id",
        "resource_name",
        "entity_type",
        "entity_name",
        "feature",
        "principal",
        "principal_name",
        "owner_principal_name",
        "host",
        "transactional_id",
        "key",
    )
)
"""Fields that say what something is called. Values of settings, passwords and salts are in others."""


def changes_something(touches: tuple[Touches, ...]) -> bool:
    """Whether an API is there to change the cluster; one that describes something changes it only by the way."""
    operations = {each.operation for each in touches}
    return bool(operations & CHANGES) and Operation.DESCRIBE not in operations


def described(context: RequestContext, api: str, request: object) -> dict[str, Any]:
    """Who asks for what."""
    names: dict[str, list[str]] = {}
    for field, text in _names(request):
        known = names.setdefault(field, [])
        if len(known) < NAMES_MAX and text not in known:
            known.append(text[:NAME_CHARS_MAX])
    found: dict[str, Any] = {**who(context), "api": api, "names": names}
    if getattr(request, "validate_only", False):
        found["validate_only"] = True
    return found


def who(context: RequestContext) -> dict[str, Any]:
    client_id = context.client_id
    return {
        "principal": str(context.principal),
        "address": context.address,
        "listener": context.listener,
        "client_id": None if client_id is None else client_id[:NAME_CHARS_MAX],
    }


def results(codes: list[int]) -> list[str]:
    """What an answer says, each code once; NONE if all is well."""
    wrong = sorted({code for code in codes if code})
    return [ErrorCode(code).name for code in wrong] or [ErrorCode.NONE.name]


def refusal_of(context: RequestContext, api: str, name: str, code: ErrorCode) -> dict[str, Any]:
    """What is told of one thing that somebody may not use."""
    return {"event": "refused", **who(context), "api": api, "names": {"name": [name]}, "result": [code.name]}


def _names(value: object) -> Iterator[tuple[str, str]]:
    """Fields that call something, and what they call it."""
    if isinstance(value, list):
        for each in value:
            yield from [("name", each)] if isinstance(each, str) else _names(each)
    elif isinstance(value, Struct):
        for field in type(value).SPEC.fields:
            found = getattr(value, field.name)
            if field.name not in _NAMING:
                yield from _names(found) if not _is_texts(found) else ()
            elif isinstance(found, str):
                yield field.name, found
            else:
                yield from ((field.name, text) for _, text in _names(found))


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], str)
