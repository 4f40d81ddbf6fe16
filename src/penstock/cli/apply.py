"""`penstock apply`: a cluster is made what a file says. The difference is shown, checked as a whole, and then made."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from penstock.cli.looking import LOOK_SECONDS
from penstock.cli.output import Output, print_json
from penstock.cli.schema_registry import DEFAULT_REGISTRY, Registry
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.shown import is_for_a_terminal
from penstock.cli.talk import FAILED, Refused, not_text, say
from penstock.core.base.shown import shown

if TYPE_CHECKING:
    from penstock.client.blocking import Client
    from penstock.client.declared.change import Change

SHOW_SECONDS_MAX: Final = 10.0
"""How long brokers are given to show what they have taken."""
_COLOURS: Final = {"+": "\x1b[32m", "~": "\x1b[33m", "-": "\x1b[31m"}
_WORDS: Final = {"+": "add", "~": "change", "-": "remove"}


def apply(
    file: Annotated[Path, typer.Option("--file", "-f", metavar="FILE", help="What the cluster should be (YAML).")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show and check what would be done.")] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove what is not in the file, of the kinds that are in it.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without being asked.")] = False,
    registry: Registry = DEFAULT_REGISTRY,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Make a cluster what a file says: topics, settings, users, rules, quotas, tenants, schemas."""
    from penstock.client.declared.marked import FileError

    require_yaml()
    try:
        _apply(file, bootstrap, timeout, registry, output, dry_run=dry_run, prune=prune, yes=yes)
    except FileError as wrong:
        raise Refused(f"{file}:{wrong}", wrong.hint) from None


def require_yaml() -> None:
    if importlib.util.find_spec("yaml") is None:
        raise Refused("files of clusters are read by PyYAML, which is not installed", "pip install 'penstock[apply]'")


def _apply(
    file: Path, bootstrap: str, timeout: float, registry: str, output: Output, *, dry_run: bool, prune: bool, yes: bool
) -> None:
    from penstock.client.declared.applying import check_changes
    from penstock.client.declared.kinds import read_declaration
    from penstock.client.declared.yaml_text import read_yaml

    declared = read_declaration(read_yaml(_text(file)), file.parent)
    with connect(bootstrap, timeout) as client:
        changes = _plan(client, registry, declared, prune)
        if output is Output.TABLE:
            _show(changes)
        check_changes(changes)
        done = 0
        if not dry_run and changes and _is_agreed(changes, yes, output):
            done = _perform(changes)
            _wait_until_seen(client, registry, declared, prune)
    _report(changes, output, dry_run=dry_run, done=done)


def _text(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text("utf-8")
    except UnicodeDecodeError:
        raise not_text(str(file)) from None


def _plan(client: Client, registry: str, declared: dict[str, Any], prune: bool) -> list[Change]:
    from penstock.client.declared.kinds import plan_changes
    from penstock.client.declared.scene import Scene
    from penstock.client.registry import RegistryClient

    return plan_changes(Scene(client, RegistryClient(registry)), declared, prune)


def _is_agreed(changes: Sequence[Change], yes: bool, output: Output) -> bool:
    """What is removed may hold records that nobody has elsewhere."""
    if yes or not any(each.takes_away for each in changes):
        return True
    if output is Output.TABLE and sys.stdin.isatty() and is_for_a_terminal():
        return typer.confirm("what is marked with - is taken away for good: go on?", err=True)
    raise Refused("nothing was done: something would be taken away", "look at it, and say --yes")


def _perform(changes: Sequence[Change]) -> int:
    from penstock.client.declared.applying import perform_changes

    done: list[Change] = []
    try:
        perform_changes(changes, done.append)
    finally:
        if len(done) < len(changes):
            say(f"{len(done)} of {len(changes)} changes are made; applying the file again makes the others")
    return len(done)


def _wait_until_seen(client: Client, registry: str, declared: dict[str, Any], prune: bool) -> None:
    """Brokers hear of it a moment after the controller: whoever looks next sees what was applied."""
    until = time.monotonic() + min(client.timeout, SHOW_SECONDS_MAX)
    while left := _plan(client, registry, declared, prune):
        if time.monotonic() > until:
            raise Refused(
                f"brokers do not show yet what was applied: {left[0].kind} {left[0].name}",
                "somebody else may have changed it: apply the file again",
            )
        time.sleep(LOOK_SECONDS)


def _show(changes: Sequence[Change]) -> None:
    is_coloured = is_for_a_terminal()
    for change in changes:
        _line(change.sign.value, f"{change.sign.value} {change.kind} {change.name}", is_coloured)
        for detail in change.details:
            _line(detail[:1] if detail[1:2] == " " else change.sign.value, f"    {detail}", is_coloured)


def _line(sign: str, line: str, is_coloured: bool) -> None:
    if is_coloured:
        print(f"{_COLOURS.get(sign, '')}{shown(line)}\x1b[0m", flush=True)
    else:
        print(line, flush=True)


def _report(changes: Sequence[Change], output: Output, *, dry_run: bool, done: int) -> None:
    if output is Output.JSON:
        said = [
            {"action": _WORDS[each.sign.value], "kind": each.kind, "name": each.name, "details": list(each.details)}
            for each in changes
        ]
        print_json({"dry_run": dry_run, "changed": done > 0, "changes": said})
        return
    counts = ", ".join(f"{count} to {_WORDS[sign]}" for sign, count in _count(changes).items() if count)
    if not changes:
        say("nothing to change: the cluster is as the file says")
    elif dry_run:
        say(f"{counts}: nothing was done")
    elif done:
        say(f"done: {counts}")
    else:
        raise typer.Exit(FAILED)


def _count(changes: Sequence[Change]) -> dict[str, int]:
    return {sign: sum(each.sign.value == sign for each in changes) for sign in _WORDS}
