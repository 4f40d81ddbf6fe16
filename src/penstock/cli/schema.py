"""`penstock schema`: whether a schema may follow another one, on files, without a cluster."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from penstock.cli import schema_registry
from penstock.cli.output import Output, print_json
from penstock.cli.session import OutputOption
from penstock.cli.talk import FAILED, Misused, Refused, not_text, say

if TYPE_CHECKING:
    from penstock.schemas.levels import Incompatibility
    from penstock.schemas.model import Reference, Schema

app = typer.Typer(help="Compare schemas, and keep them in a registry.", no_args_is_help=True)
schema_registry.add_to(app)

LEVELS: Final = (
    "NONE",
    *(f"{name}{suffix}" for name in ("BACKWARD", "FORWARD", "FULL") for suffix in ("", "_TRANSITIVE")),
)
FORMATS: Final = ("avro", "json", "protobuf")

Files = Annotated[
    list[Path], typer.Argument(metavar="[OLD...] NEW", help="Files, oldest first; the last is the new one.")
]
FormatOption = Annotated[
    str | None, typer.Option("--format", metavar="|".join(FORMATS), help="By default, from the file's name.")
]
References = Annotated[
    list[str] | None,
    typer.Option("--reference", metavar="NAME=FILE", help="A schema that these refer to; repeatable, in their order."),
]


@app.command()
def check(
    files: Files,
    format: FormatOption = None,
    compatibility: Annotated[
        str, typer.Option("--compatibility", "-c", metavar="LEVEL", help=f"One of {', '.join(LEVELS)}.")
    ] = "BACKWARD",
    reference: References = None,
    subject: Annotated[
        str | None, typer.Option("--subject", help="Compare with a registry's subject, at its own level.")
    ] = None,
    refers_to: schema_registry.Refers = None,
    registry: schema_registry.Registry = schema_registry.DEFAULT_REGISTRY,
    watch: Annotated[bool, typer.Option("--watch", help="Check again each time a file is saved.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Say whether NEW may follow OLD; exit code 1, and a line for each thing in the way, if not."""
    if subject is not None and len(files) > 1:
        raise Misused("--subject names the earlier schemas", "name one file, the new one")

    def found_good() -> bool:
        if subject is not None:
            return schema_registry.check_against(registry, subject, files[0], format, refers_to or [], output)
        return _check_files(files, format, compatibility, reference or [], output)

    if watch:
        schema_registry.watch(files, found_good)
    if not found_good():
        raise typer.Exit(FAILED)


def _check_files(
    files: list[Path], format: str | None, compatibility: str, references: list[str], output: Output
) -> bool:
    from penstock.schemas.levels import Level, incompatibilities

    if compatibility.upper() not in LEVELS:
        raise Misused(f"{compatibility} is no level of compatibility", f"there are {', '.join(LEVELS)}")
    level = Level(compatibility.upper())
    *earlier, new = _schemas(files, format, references)
    found = incompatibilities(level, new, earlier)
    if output is Output.JSON:
        shown = [_fact(each, files) for each in found]
        print_json({"compatible": not found, "level": level.value, "incompatibilities": shown})
    for each in found if output is Output.TABLE else ():
        print(f"{files[each.earlier]}: {each.direction}: {each.difference}", flush=True)
    if not found and output is Output.TABLE:
        say(f"{files[-1]} is compatible ({level})")
    return not found


@app.command()
def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD")],
    new: Annotated[Path, typer.Argument(metavar="NEW")],
    format: FormatOption = None,
    reference: References = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what changed, whatever the order and the layout, and which directions it breaks."""
    from penstock.schemas.levels import BACKWARD, FORWARD, obstacles

    before, after = _schemas([old, new], format, reference or [])
    broken = {direction: obstacles(direction, after, before) for direction in (BACKWARD, FORWARD)}
    texts = before.normal.splitlines(), after.normal.splitlines()
    lines = list(difflib.unified_diff(*texts, str(old), str(new), lineterm=""))
    if output is Output.JSON:
        print_json({"same": not lines, "diff": lines} | {word: not found for word, found in broken.items()})
        return
    for line in lines:
        print(line, flush=True)
    kept = " and ".join(word for word, found in broken.items() if not found)
    say("nothing changed" if not lines else f"compatible: {kept or 'in no direction'}")


def _schemas(files: list[Path], wanted: str | None, references: list[str]) -> list[Schema]:
    from penstock.schemas.model import SchemaError
    from penstock.schemas.parsing import parse

    if len(files) < 2:
        raise Misused("one schema alone cannot be compared", "name the old files, oldest first, and then the new one")
    known = [_reference(each) for each in references]
    schemas = []
    for file in files:
        try:
            schemas.append(parse(_format(wanted, file), _text(file), known))
        except SchemaError as failure:
            raise Refused(f"{file}: {failure}") from None
    return schemas


def _format(wanted: str | None, file: Path) -> Any:
    from penstock.schemas.model import Format
    from penstock.schemas.parsing import format_of

    if wanted is not None and wanted.lower() not in FORMATS:
        raise Misused(f"{wanted} is no format of schemas", f"there are {', '.join(FORMATS)}")
    found = format_of(file.name) if wanted is None else Format(wanted.lower())
    if found not in FORMATS:
        raise Misused(f"what {file} is does not show in its name", f"say --format {'|'.join(FORMATS)}")
    return found


def _reference(text: str) -> Reference:
    from penstock.schemas.model import Reference

    name, equals, file = text.partition("=")
    if not (name and equals and file):
        raise Misused(f"--reference {text} is not NAME=FILE")
    return Reference(name, _text(Path(file)))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise not_text(str(file)) from None


def _fact(found: Incompatibility, files: list[Path]) -> dict[str, str]:
    difference = found.difference
    return {
        "old": str(files[found.earlier]),
        "direction": found.direction,
        "type": difference.kind,
        "path": difference.path,
        "message": difference.message,
    }
