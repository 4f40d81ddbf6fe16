"""Schemas of a file: the newest of each subject, and how the next one must fit it. A registry keeps all versions, so
another schema is a new version, and an older one does not come back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from penstock.client.declared import shape
from penstock.client.declared.change import Change, Sign, became
from penstock.client.declared.marked import FileError, Mark, Node, Scalar, Value
from penstock.client.declared.scene import Scene
from penstock.client.errors import ClientError
from penstock.client.registry import (
    COMPATIBILITY_NOT_FOUND,
    SCHEMA_NOT_FOUND,
    SUBJECT_NOT_FOUND,
    Refusal,
    Registered,
    RegistryClient,
)

TYPES: Final = ("avro", "json", "protobuf")
LEVELS: Final = (
    "NONE",
    *(f"{name}{suffix}" for name in ("BACKWARD", "FORWARD", "FULL") for suffix in ("", "_TRANSITIVE")),
)
VERSION_MAX: Final = (1 << 31) - 1


class Subject(NamedTuple):
    name: str
    mark: Mark
    type: str
    text: str
    references: tuple[dict[str, Any], ...]
    compatibility: str | None


def read(node: Node, folder: Path) -> dict[str, Subject]:
    return {key.text: _read(key, inner, folder) for key, inner in shape.entries(node, "schemas")}


def _read(name: Scalar, node: Node, folder: Path) -> Subject:
    what = f"subject {name.text}"
    fields = shape.Fields(node, what, ("type", "schema", "file", "references", "compatibility"))
    kind, level, references = (fields.get(each) for each in ("type", "compatibility", "references"))
    where, given = fields.one_of(("schema", "file"))
    text = shape.text(given, f"{where} of {what}")
    return Subject(
        name.text,
        name.mark,
        ("avro" if kind is None else shape.word(kind, f"type of {what}", TYPES)).upper(),
        text if where == "schema" else _content(folder / text, given.mark),
        () if references is None else tuple(_reference(each) for each in shape.items(references, "references")),
        None if level is None else shape.word(level, f"compatibility of {what}", LEVELS),
    )


def _content(path: Path, mark: Mark) -> str:
    try:
        return path.read_text("utf-8-sig")
    except OSError as failure:
        raise FileError(mark, f"cannot read {path}: {failure.strerror}", "paths begin at this file's folder") from None
    except UnicodeDecodeError:
        raise FileError(mark, f"{path} is not a text file") from None


def _reference(node: Node) -> dict[str, Any]:
    fields = shape.Fields(node, "reference", ("name", "subject", "version"))
    name, subject = (shape.text(fields.need(each), each) for each in ("name", "subject"))
    return {
        "name": name,
        "subject": subject,
        "version": shape.number(fields.need("version"), "version", 1, VERSION_MAX),
    }


def plan(scene: Scene, declared: Mapping[str, Subject], prune: bool) -> Iterator[Change]:
    registry = _registry(scene)
    there = set(registry.subjects())
    new = {subject.name for subject in declared.values() if subject.name not in there}
    for subject in declared.values():
        yield from _registration(registry, subject, there, new)
        yield from _level(registry, subject)
    if prune:
        for name in _dependents_first(registry, there - declared.keys()):
            delete = partial(_delete, registry, name)
            yield Change(Sign.REMOVE, "schema", name, ("all its versions, softly",), delete)


def _registry(scene: Scene) -> RegistryClient:
    if scene.registry is None:
        raise ClientError("there are schemas in the file", hint="say where a registry answers, with --registry")
    return scene.registry


def _registration(registry: RegistryClient, subject: Subject, there: set[str], new: set[str]) -> Iterator[Change]:
    latest = registry.version(subject.name) if subject.name in there else None
    known = None if latest is None else _version_of(registry, subject)
    if known is not None and latest is not None:
        if known != latest.version:
            message = f"subject {subject.name} has had this schema as version {known}, and newer ones since"
            raise FileError(subject.mark, message, f"the newest is {latest.version}: there is no way back")
        return
    register = partial(registry.register, subject.name, subject.type, subject.text, list(subject.references))

    def perform() -> None:
        register()

    def check() -> None:
        # What it refers to may come with this very file.
        if not new & {each["subject"] for each in subject.references}:
            _refuse_obstacles(registry, subject)

    sign, details = (Sign.ADD, ("version 1",)) if latest is None else (Sign.ALTER, (f"version {latest.version + 1}",))
    yield Change(sign, "schema", subject.name, (f"{subject.type.lower()}, {details[0]}",), perform, check, subject.mark)


def _version_of(registry: RegistryClient, subject: Subject) -> int | None:
    """As which version it is registered, if it is."""
    body = {"schema": subject.text, "schemaType": subject.type, "references": list(subject.references)}
    try:
        return int(registry.ask("POST", f"/subjects/{quote(subject.name, safe='')}", body)["version"])
    except Refusal as refusal:
        if refusal.number not in (SCHEMA_NOT_FOUND, SUBJECT_NOT_FOUND):
            raise FileError(subject.mark, f"subject {subject.name}: {refusal}") from None
        return None


def _refuse_obstacles(registry: RegistryClient, subject: Subject) -> None:
    obstacles = registry.obstacles(subject.name, subject.type, subject.text, list(subject.references))
    if obstacles:
        message = f"subject {subject.name}: this schema cannot follow the ones before it: {obstacles[0]}"
        raise FileError(subject.mark, message, f"`penstock schema check --subject {subject.name} FILE` says all of it")


def _level(registry: RegistryClient, subject: Subject) -> Iterator[Change]:
    before = _own_level(registry, subject.name)
    if subject.compatibility is None or before == subject.compatibility:
        return
    body = {"compatibility": subject.compatibility}
    path = f"/config/{quote(subject.name, safe='')}"

    def put() -> None:
        registry.ask("PUT", path, body)

    details = (became("compatibility", before, subject.compatibility),)
    yield Change(Sign.ALTER, "schema", subject.name, details, put, mark=subject.mark)


def _own_level(registry: RegistryClient, subject: str) -> str | None:
    try:
        return str(registry.ask("GET", f"/config/{quote(subject, safe='')}")["compatibilityLevel"])
    except Refusal as refusal:
        if refusal.number not in (COMPATIBILITY_NOT_FOUND, SUBJECT_NOT_FOUND):
            raise
        return None


def _delete(registry: RegistryClient, subject: str) -> None:
    registry.delete(subject)


def _dependents_first(registry: RegistryClient, subjects: set[str]) -> list[str]:
    return [each.subject for each in reversed(_in_order(registry, subjects))]


def export(scene: Scene) -> Value:
    registry = _registry(scene)
    return {each.subject: _written(registry, each) for each in _in_order(registry, set(registry.subjects()))}


def _in_order(registry: RegistryClient, subjects: set[str]) -> list[Registered]:
    """The newest of each, and what it refers to before it."""
    found: dict[str, Registered] = {}

    def add(name: str) -> None:
        if name in subjects and name not in found:
            newest = registry.version(name)
            for reference in newest.references:
                add(reference["subject"])
            found[name] = newest

    for name in sorted(subjects):
        add(name)
    return list(found.values())


def _written(registry: RegistryClient, newest: Registered) -> Value:
    level = _own_level(registry, newest.subject)
    found: dict[str, Value] = {"type": newest.type.lower()}
    if level is not None:
        found["compatibility"] = level
    if newest.references:
        found["references"] = [dict(each) for each in newest.references]
    return found | {"schema": newest.text}
