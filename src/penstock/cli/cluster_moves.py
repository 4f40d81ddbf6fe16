"""Moves as commands show them and carry them out: some at a time, under a throttle, with their progress on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from penstock.cli.cluster_picture import Picture, numbers_text, parse_rate
from penstock.cli.output import Output, bytes_text, print_json, print_table
from penstock.cli.talk import say
from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.moving import Copies, Mover
from penstock.client.quorum import registered_brokers
from penstock.core.metadata.balancing import Shift

AT_ONCE_MAX: Final = 20
"""Partitions that are on their way at one time."""
MOVES_SHOWN_MAX: Final = 40
POLL_SECONDS: Final = 0.1
POLL_SECONDS_MAX: Final = 1.0
REPORT_SECONDS: Final = 2.0
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
    try:
        if reordered:
            mover.move({place_of(shift): shift.after for shift in reordered})
        for first in range(0, len(copied), AT_ONCE_MAX):
            bunch = copied[first : first + AT_ONCE_MAX]
            begin(mover, bunch, throttle)
            wait(client, mover, [place_of(shift) for shift in bunch], f"{first} of {len(copied)} partitions have moved")
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


def wait(client: Client, mover: Mover, places: Collection[TopicPartition], done: str) -> None:
    """Until nothing of this moves any more, however long that takes."""
    progress = Progress(client, done)
    pause = POLL_SECONDS
    while moving := mover.under_way(places):
        progress.report({where: each.adding for where, each in moving.items()})
        time.sleep(pause)
        pause = min(2 * pause, POLL_SECONDS_MAX)
    progress.end()


class Progress:
    """A line on stderr that is written over where there is a terminal, and a line now and then where there is none."""

    def __init__(self, client: Client, done: str) -> None:
        self._client = client
        self._done = done
        self._next = time.monotonic() + REPORT_SECONDS
        self._warned: set[int] = set()
        self._is_open = False

    def report(self, adding: Mapping[TopicPartition, Sequence[int]]) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + REPORT_SECONDS
        line = f"{self._done}, {len(adding)} are moving{self._copied(adding)}"
        if sys.stderr.isatty():
            print(f"\r{line:<100}", end="", file=sys.stderr, flush=True)
            self._is_open = True
        else:
            say(line)
        self._warn(adding)

    def end(self) -> None:
        if self._is_open:
            print(file=sys.stderr, flush=True)
            self._is_open = False

    def _copied(self, adding: Mapping[TopicPartition, Sequence[int]]) -> str:
        """How much has been copied, where all brokers tell."""
        try:
            held = {
                (folder.broker, where): size
                for folder in Admin(self._client).log_dirs()
                for where, size in folder.sizes.items()
            }
        except ClientError:
            return ""
        whole: dict[TopicPartition, int] = {}
        for (_, where), size in held.items():
            whole[where] = max(whole.get(where, 0), size)
        copied = sum(held.get((broker, where), 0) for where, brokers in adding.items() for broker in brokers)
        total = sum(whole.get(where, 0) * len(brokers) for where, brokers in adding.items())
        return f": {bytes_text(copied)} of {bytes_text(total)} are copied"

    def _warn(self, adding: Mapping[TopicPartition, Sequence[int]]) -> None:
        awaited = {broker for brokers in adding.values() for broker in brokers}
        fenced = {broker.node_id for broker in registered_brokers(self._client) if broker.is_fenced}
        for broker in sorted(awaited & fenced - self._warned):
            self.end()
            say(f"broker {broker} is not there, and copies wait for it")
            say("  start it, or go back with `penstock cluster reassign --cancel`")
            self._warned.add(broker)
