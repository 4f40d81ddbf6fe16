"""`penstock topic delete-records`: the beginning of a topic's log goes, shown before it is done."""

from typing import Annotated

import typer

from penstock.cli import completion
from penstock.cli.output import Output, print_rows
from penstock.cli.places import Edges, named_places, offsets_at
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, Execute, OutputOption, Timeout, connect
from penstock.cli.talk import Refused, say
from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import edges

COLUMNS = ("topic", "partition", "first offset", "end offset", "new first offset")


def delete_records(
    place: Annotated[
        str,
        typer.Argument(metavar="TOPIC[:0,1]", help="The topic, or some partitions.", autocompletion=completion.topics),
    ],
    before: Annotated[
        str,
        typer.Option(
            metavar="WHERE",
            help="The first to stay: an offset, -N to keep the last N of each partition, latest to keep none, "
            "or a time: 2026-01-31T12:00, @milliseconds, or 7d for a week ago.",
        ),
    ],
    execute: Execute = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Delete the oldest records for good: shows what would go unless --execute is given."""
    with connect(bootstrap, timeout) as client:
        limits = edges(client, named_places(client, place, "TOPIC"))
        targets = targets_of(client, limits, before)
        # A partition whose log begins there already has nothing to lose.
        changes = {where: target for where, target in targets.items() if target > limits[where][0]}
        if execute and changes:
            targets |= Admin(client).delete_records(changes)
    rows = [(*where, *limits[where], target) for where, target in targets.items()]
    print_rows(output, COLUMNS, rows)
    if not changes:
        say("there is nothing to delete")
    else:
        say("the records are deleted" if execute else "nothing is deleted yet: add --execute to do it")


def targets_of(client: Client, limits: Edges, before: str) -> dict[TopicPartition, int]:
    """The new first offset of each partition, within what it holds."""
    if before == "latest":
        return {where: end for where, (_, end) in limits.items()}
    if before.isdecimal():
        return _at_offset(int(before), limits)
    if before.startswith("-") and before[1:].isdecimal():
        return {where: max(first, end - int(before[1:])) for where, (first, end) in limits.items()}
    return offsets_at(client, limits, before, "--before", "an offset, -N, latest nor a time")


def _at_offset(offset: int, limits: Edges) -> dict[TopicPartition, int]:
    """The same offset in each partition; one that lies beyond all of them is a mistake, and mistakes delete nothing."""
    if all(offset > end for _, end in limits.values()):
        spans = ", ".join(f"{where.partition}: {first} to {end}" for where, (first, end) in limits.items())
        raise Refused(f"offset {offset} is beyond the end", f"what --before can be, by partition: {spans}")
    return {where: min(max(offset, first), end) for where, (first, end) in limits.items()}
