"""`penstock dlq purge`: dead letters go for good, shown before it is done."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from penstock.cli.delete_records import targets_of
from penstock.cli.dlq_choice import LetterTopic
from penstock.cli.output import Output, print_rows
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, Execute, OutputOption, Timeout, connect
from penstock.cli.talk import say
from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.dead_letters import Choice, Limits, Offsets, Redrive, letters, read_redriven, spans, where_of
from penstock.core.delivery.redriven import Redriven

COLUMNS: Final = ("topic", "partition", "first offset", "end offset", "new first offset")


def purge(
    topic: LetterTopic,
    before: Annotated[
        str,
        typer.Option(
            metavar="WHERE",
            help="The first to stay: an offset, -N to keep the last N of each partition, latest to keep none, "
            "or a time: 2026-01-31T12:00, or 30d for a month ago.",
        ),
    ] = "latest",
    redriven: Annotated[
        bool, typer.Option("--redriven", help="Of those, only what is back: up to the first letter that is not.")
    ] = False,
    execute: Execute = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Delete dead letters for good: shows what would go unless --execute is given."""
    with connect(bootstrap, timeout) as client:
        limits = spans(client, topic)
        targets = targets_of(client, limits, before)
        known = read_redriven(client)
        if redriven:
            targets = _as_far_as_back(client, known, limits, targets)
        changes = {where: target for where, target in targets.items() if target > limits[where][0]}
        if execute and changes:
            targets |= Admin(client).delete_records(changes)
            _forget(client, topic, known, targets)
    print_rows(output, COLUMNS, [(*where, *limits[where], target) for where, target in targets.items()])
    if not changes:
        say("there is nothing to delete")
    else:
        say("the letters are deleted" if execute else "nothing is deleted yet: add --execute to do it")


def _as_far_as_back(client: Client, known: Redriven, limits: Limits, targets: Offsets) -> Offsets:
    """The first letter of each partition that is not back, or the target where that comes first."""
    stops = dict(targets)
    for found in letters(client, Choice(), {where: (limits[where][0], target) for where, target in targets.items()}):
        if not known.has(where_of(client, found.where), found.record.offset):
            stops[found.where] = min(stops[found.where], found.record.offset)
    return stops


def _forget(client: Client, topic: str, known: Redriven, targets: Offsets) -> None:
    """What is known of letters that are gone goes, too."""
    gone = [entry for where, target in targets.items() for entry in known.below(where_of(client, where), target)]
    if gone:
        run = Redrive(client, topic)
        run.begin()
        run.forget(gone)
