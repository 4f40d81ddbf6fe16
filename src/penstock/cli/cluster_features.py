"""`penstock cluster features`: what the cluster's nodes have agreed to write, and other levels of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from penstock.cli.arguments import assignments
from penstock.cli.output import Output, print_rows
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.talk import Refused, say
from penstock.client.features import Feature, set_levels
from penstock.client.features import features as known_features

COLUMNS = ("feature", "level", "oldest", "newest")
Levels = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FEATURE=LEVEL", help="Agree on another level; may be repeated: all or none."),
]
Downgrade = Annotated[bool, typer.Option("--downgrade", help="Levels may go down, where nothing is lost by that.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only ask whether --set could be done.")]


def features(
    set_: Levels = None,
    downgrade: Downgrade = False,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Show the levels of features and which ones the asked broker could read; --set agrees on others."""
    wanted = {name: _level(name, text) for name, text in assignments(set_ or (), "--set").items()}
    with connect(bootstrap, timeout) as client, client.within(timeout):
        known = known_features(client)
        if wanted:
            _check(wanted, known, downgrade)
            set_levels(client, wanted, downgrade=downgrade, validate_only=dry_run)
            known = [one._replace(level=wanted.get(one.name, one.level)) for one in known] if not dry_run else known
    print_rows(output, COLUMNS, known)
    for name, level in wanted.items():
        say(f"{name} {'could be' if dry_run else 'is'} {level}")


def _level(name: str, text: str) -> int:
    if not text.isdecimal() or int(text) > 0x7FFF:
        raise typer.BadParameter(f"{text!r} is no level of {name}: levels are numbers", param_hint="--set")
    return int(text)


def _check(wanted: Mapping[str, int], known: list[Feature], downgrade: bool) -> None:
    """What a person can be told better than a controller does."""
    by_name = {one.name: one for one in known}
    for name, level in wanted.items():
        if name not in by_name:
            raise Refused(f"there is no feature {name}", f"there are {', '.join(by_name)}")
        now, oldest, newest = by_name[name].level, by_name[name].oldest, by_name[name].newest
        if not oldest <= level <= newest:
            raise Refused(f"{name} cannot be {level}", f"the broker that was asked reads {oldest} to {newest}")
        if level < now and not downgrade:
            raise Refused(f"{name} is {now}, and {level} is lower", "say --downgrade if that is what you want")
