"""The reader's schema of a query: found once, on the driver, so that the types of its columns stay what they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from penstock.client.errors import ClientError
from penstock.client.registry import SUBJECT_NOT_FOUND, VERSION_NOT_FOUND, Refusal, Registered, RegistryClient
from penstock.schemas.model import Format, Reference
from penstock.schemas.parsing import parse
from penstock.spark.typed.declaration import Registry


class Text(NamedTuple):
    """A schema as text, with all that it refers to, and which message of it is meant. Travels to the workers."""

    format: Format
    text: str
    references: tuple[Reference, ...] = ()
    message: str | None = None
    name: str = "the schema"


def pinned(registry: Registry, topics: Sequence[str]) -> Text:
    """The schema that a query reads with."""
    kind = Format(registry.format)
    if registry.schema is not None:
        parse(kind, registry.schema)
        return Text(kind, registry.schema, message=registry.message)
    client = RegistryClient(registry.url)
    found = _found(client, _subject(registry, topics), registry)
    text = text_of(client, found, f"{found.subject} version {found.version}")
    if text.format is not kind:
        raise ClientError(
            f"{text.name} is a schema of {text.format}, not of {kind}", hint=f'say format="{text.format}"'
        )
    return text._replace(message=registry.message)


def text_of(client: RegistryClient, found: Registered, name: str) -> Text:
    references = tuple(Reference(each, text) for each, text in client.referred(found))
    return Text(Format(found.type.lower()), found.text, references, name=name)


def _subject(registry: Registry, topics: Sequence[str]) -> str:
    if registry.subject is not None:
        return registry.subject
    if len(topics) != 1:
        raise ClientError(
            "which subject has the schema to read with?", hint="name it with `subject`, or give a `schema`"
        )
    return f"{topics[0]}-value"


def _found(client: RegistryClient, subject: str, registry: Registry) -> Registered:
    try:
        return client.version(subject, registry.version)
    except Refusal as refusal:
        if refusal.number not in (SUBJECT_NOT_FOUND, VERSION_NOT_FOUND):
            raise
        raise ClientError(
            f"the registry has no version {registry.version} of {subject}: {refusal}",
            hint="name another `subject` or `version`, or give a `schema`",
        ) from None
