"""`penstock schema list|get|register|delete`: what a registry has, and putting something there."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from penstock.cli.output import Output, print_json
from penstock.cli.session import OutputOption
from penstock.cli.talk import Misused, Refused, not_text, say

if TYPE_CHECKING:
    from penstock.client.registry import RegistryClient

DEFAULT_REGISTRY: Final = "http://127.0.0.1:8081"
WATCH_SECONDS: Final = 0.3

Registry = Annotated[
    str,
    typer.Option("--registry", envvar="PENSTOCK_REGISTRY", metavar="URL,...", help="Where a schema registry answers."),
]
Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="For example orders-value.")]
TypeOption = Annotated[
    str | None, typer.Option("--format", metavar="avro|json|protobuf", help="By default, from the file's name.")
]
Refers = Annotated[
    list[str] | None,
    typer.Option(
        "--refers-to", metavar="NAME=SUBJECT:VERSION", help="A schema of the registry that this refers to; repeatable."
    ),
]
Deleted = Annotated[bool, typer.Option("--deleted", help="Also what is softly deleted.")]


def add_to(app: typer.Typer) -> None:
    """The commands, beside those that work on files."""
    for function in (list_, get, register, delete):
        app.command(function.__name__.removesuffix("_"))(function)


def list_(
    subject: Annotated[str | None, typer.Argument(metavar="[SUBJECT]", help="Show its versions.")] = None,
    deleted: Deleted = False,
    registry: Registry = DEFAULT_REGISTRY,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the subjects of a registry, or the versions of one."""
    client = connect(registry)
    if subject is None:
        found: list[Any] = client.subjects(deleted)
    else:
        found = client.versions(subject, deleted)
    if output is Output.JSON:
        print_json(found)
        return
    for each in found:
        print(each, flush=True)


def get(
    what: Annotated[str, typer.Argument(metavar="SUBJECT|ID", help="A subject, or the id of a schema.")],
    version: Annotated[str, typer.Option("--version", metavar="N|latest")] = "latest",
    registry: Registry = DEFAULT_REGISTRY,
    output: OutputOption = Output.TABLE,
) -> None:
    """Print a schema: the latest of a subject, another version, or the one with an id."""
    client = connect(registry)
    if version != "latest" and not version.isdecimal():
        raise Misused(f"{version} is no version", "a number, or latest")
    found = client.by_id(int(what)) if what.isdecimal() else client.version(what, version)
    if output is Output.JSON:
        print_json({**found._asdict(), "references": list(found.references)})
    else:
        print(found.text, flush=True)


def register(
    subject: Subject,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The schema.")],
    format: TypeOption = None,
    refers_to: Refers = None,
    registry: Registry = DEFAULT_REGISTRY,
    output: OutputOption = Output.TABLE,
) -> None:
    """Register a schema under a subject; the same one again is the same one."""
    client = connect(registry)
    id = client.register(subject, type_of(format, file), text_of(file), references_of(refers_to or []))
    if output is Output.JSON:
        print_json({"subject": subject, "id": id})
    else:
        print(id, flush=True)


def delete(
    subject: Subject,
    version: Annotated[int | None, typer.Option("--version", metavar="N", help="Only this one.")] = None,
    permanent: Annotated[bool, typer.Option("--permanent", help="For good; softly it must be deleted first.")] = False,
    execute: Annotated[bool, typer.Option("--execute", "--yes", help="Do it; without this, only show it.")] = False,
    registry: Registry = DEFAULT_REGISTRY,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete a subject or one of its versions: softly, which hides it from lists, or for good."""
    client = connect(registry)
    there = client.versions(subject, deleted=permanent)
    chosen = [each for each in there if version in (None, each)]
    if not chosen:
        raise Refused(f"{subject} has no version {version}", f"it has {', '.join(map(str, there))}")
    gone = client.delete(subject, version, permanent) if execute else chosen
    if output is Output.JSON:
        print_json({"subject": subject, "versions": gone, "executed": execute})
        return
    for each in gone:
        print(each, flush=True)
    if not execute:
        say(f"nothing was deleted: these versions of {subject} would be, with --execute")


def check_against(
    registry: str, subject: str, file: Path, format: str | None, refers_to: list[str], output: Output
) -> bool:
    """Says whether a file could be registered."""
    client = connect(registry)
    found = client.obstacles(subject, type_of(format, file), text_of(file), references_of(refers_to))
    if output is Output.JSON:
        print_json({"compatible": not found, "subject": subject, "messages": found})
        return not found
    for each in found:
        print(each, flush=True)
    if not found:
        say(f"{file} may be registered under {subject}")
    return not found


def watch(files: list[Path], check: Callable[[], bool]) -> None:
    """Checks again each time a file is saved, until ctrl-c."""
    seen: list[tuple[int, int] | None] = []
    while True:
        now = [_stamp(file) for file in files]
        if now != seen:
            seen = now
            try:
                check()
            except Refused as refusal:
                say(f"{refusal.message}{f'; {refusal.hint}' if refusal.hint else ''}")
            except typer.Exit:
                pass
        time.sleep(WATCH_SECONDS)


def connect(urls: str) -> RegistryClient:
    from penstock.client.registry import RegistryClient

    return RegistryClient(urls)


def type_of(format: str | None, file: Path) -> str:
    from penstock.schemas.parsing import format_of

    found = format_of(file.name) if format is None else format.lower()
    if found not in ("avro", "json", "protobuf"):
        raise Misused(f"what {file} is does not show in its name", "say --format avro|json|protobuf")
    return str(found).upper()


def text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise not_text(str(file)) from None


def references_of(texts: list[str]) -> list[dict[str, Any]]:
    references = []
    for text in texts:
        name, equals, place = text.partition("=")
        subject, colon, version = place.rpartition(":")
        if not (name and equals and subject and colon and version.isdecimal()):
            raise Misused(f"--refers-to {text} is not NAME=SUBJECT:VERSION")
        references.append({"name": name, "subject": subject, "version": int(version)})
    return references


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
