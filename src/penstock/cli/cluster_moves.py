"""Moves as commands show them and carry them out: some at a time, under a throttle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from penstock.cli.cluster_picture import Picture, numbers_text, parse_rate
from penstock.cli.cluster_progress import Progress
from penstock.cli.output import Output, bytes_text, print_json, print_table
from penstock.cli.talk import say
from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.moving import Copies, Mover
from penstock.core.metadata.balancing import Shift

AT_ONCE_MAX: Final = 20
"""Partitions that are on their way at one time."""
MOVES_SHOWN_MAX: Final = 40
DEFAULT_THROTTLE: Final = "10M"
Throttle = Annotated[
    str,
    typer.Option("--throttle", metavar="RATE", callback=parse_rate, help="Bytes per second and broker; 0: no limit."),
]
KAFKA_FORMAT: Final = 1
COLUMNS: Final = ("topic", "partition", "replicas", "new replicas", "to copy")


def place_of(shift: Shift) -> TopicPartition:
    return TopicPartition(shift.topic, shift.number)


def bytes_of(shifts: Iterable[Shift], picture: Picture) -> int:
    """What has to be copied, where every new replica is a whole copy."""
    return sum(picture.size(shift.topic, shift.number) * len(shift.coming) for shift in shifts)


def plan_json(shifts: Sequence[Shift], picture: Picture, **others: Any) -> dict[str, Any]:
    """Kafka's format for reassignments, with some facts beside: `--file` takes it, and so do Kafka's tools."""
    partitions = [{"topic": shift.topic, "partition": shift.number, "replicas": list(shift.after)} for shift in shifts]
    return {
        "version": KAFKA_FORMAT,
        "partitions": partitions,
        "bytes_to_copy": bytes_of(shifts, picture),
        **others,
    }


def print_plan(shifts: Sequence[Shift], picture: Picture) -> None:
    """The first moves, and how much it is in all."""
    rows = [
        (
            shift.topic,
            shift.number,
            numbers_text(shift.before),
            numbers_text(shift.after),
            bytes_text(bytes_of([shift], picture)) if shift.coming else None,
        )
        for shift in sorted(shifts, key=lambda shift: (not shift.coming, shift))[:MOVES_SHOWN_MAX]
    ]
    print_table(COLUMNS, rows)
    if (left := len(shifts) - len(rows)) > 0:
        print(f"and {left} more (--output json shows all)")
    copies = sum(len(shift.coming) for shift in shifts)
    say(f"{len(shifts)} partitions change, {copies} copies of {bytes_text(bytes_of(shifts, picture))} in all are made")


def show_plan(output: Output, shifts: Sequence[Shift], picture: Picture, *, execute: bool, **others: Any) -> None:
    if output is Output.JSON:
        print_json(plan_json(shifts, picture, executed=execute, **others))
    elif shifts:
        print_plan(shifts, picture)
    if shifts and not execute:
        say("nothing is moved yet: add --execute to do it")


def carry_out(client: Client, shifts: Sequence[Shift], throttle: int | None) -> None:
    """All of it, some at a time; leadership follows at the end."""
    mover = Mover(client)
    reordered = [shift for shift in shifts if not shift.coming and not shift.going]
    copied = [shift for shift in shifts if shift not in reordered]
    progress = Progress(client, {place_of(shift): shift.coming for shift in copied})
    try:
        if reordered:
            mover.move({place_of(shift): shift.after for shift in reordered})
        for first in range(0, len(copied), AT_ONCE_MAX):
            bunch = copied[first : first + AT_ONCE_MAX]
            begin(mover, bunch, throttle)
            progress.wait(mover, [place_of(shift) for shift in bunch])
            end(mover, bunch, throttle)
    except KeyboardInterrupt:
        say("what has begun goes on: `penstock cluster reassign --wait` waits for it and takes the throttle away")
        raise
    changed = [place_of(shift) for shift in shifts if shift.before[0] != shift.after[0]]
    if left := mover.lead_where_preferred(changed):
        say(f"{len(left)} partitions are not led by their first replica yet; `penstock cluster balance` tries again")


def begin(mover: Mover, shifts: Sequence[Shift], throttle: int | None) -> None:
    if throttle is not None:
        mover.throttle(throttle, _copies(shifts))
    mover.move({place_of(shift): shift.after for shift in shifts})


def end(mover: Mover, shifts: Sequence[Shift], throttle: int | None) -> None:
    if throttle is not None:
        copies = _copies(shifts)
        mover.unthrottle(copies, involved(copies))


def _copies(shifts: Iterable[Shift]) -> dict[TopicPartition, Copies]:
    return {place_of(shift): Copies(shift.before, shift.coming) for shift in shifts if shift.coming}


def involved(copies: Mapping[TopicPartition, Copies]) -> set[int]:
    return {broker for each in copies.values() for broker in (*each.sources, *each.coming)}
