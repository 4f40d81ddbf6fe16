"""`penstock consume`: records of topics on stdout, from anywhere in the log, by partition, by time or as a group."""

import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from itertools import islice
from typing import Annotated

import typer

from penstock.cli import completion
from penstock.cli.arguments import timestamp_ms
from penstock.cli.group_reading import read_as_group
from penstock.cli.outage import Outage, PatientReader
from penstock.cli.output import Output
from penstock.cli.record_format import Formatter, json_line, template, value_line
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, check_timeout, connect
from penstock.cli.talk import Refused, close_stdout, say
from penstock.client.blocking import Client
from penstock.client.merging import merge_by_timestamp
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import EARLIEST, LATEST, NO_OFFSET, READ_COMMITTED, READ_UNCOMMITTED, list_offsets
from penstock.client.reading import Reader
from penstock.core.records.record import Record

Found = tuple[TopicPartition, Record]


def consume(
    topics: Annotated[list[str], typer.Argument(help="The topics.", autocompletion=completion.topics)],
    from_: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="WHERE",
            help="earliest, latest, an offset, -N for the last N of each partition, or a time: "
            "2026-01-31T12:00, @milliseconds, or 15m for a quarter of an hour ago.",
        ),
    ] = "earliest",
    partition: Annotated[list[int] | None, typer.Option(min=0, help="Only this partition; may be repeated.")] = None,
    group: Annotated[
        str | None, typer.Option(help="Read as a member of this group and commit.", autocompletion=completion.groups)
    ] = None,
    count: Annotated[int | None, typer.Option("--count", "-n", min=0, help="Stop after so many records.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more at the end.")] = False,
    merge: Annotated[bool, typer.Option("--merge", help="One order by timestamp over all partitions.")] = False,
    committed: Annotated[bool, typer.Option("--committed", help="Leave out records of open transactions.")] = False,
    format_: Annotated[
        str | None, typer.Option("--format", help="A template, for example '{offset} {key}: {value}'.")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="table: the value or the template; json: an object per line.")
    ] = Output.TABLE,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            callback=check_timeout,
            help="How long to go without a broker before giving up; 10 by default, with --follow for ever.",
        ),
    ] = None,
) -> None:
    """Print records; without --follow it ends where the topics ended when it began."""
    printer = _printer(output, format_)
    request_seconds = timeout or TIMEOUT_SECONDS
    patience = TIMEOUT_SECONDS if timeout is None and not follow else timeout
    isolation = READ_COMMITTED if committed else READ_UNCOMMITTED
    if group is not None:
        if not group.strip():
            raise typer.BadParameter("a group has a name", param_hint="--group")
        if merge or partition:
            raise typer.BadParameter("a group decides about partitions and order: leave out --partition and --merge")
        with connect(bootstrap, request_seconds) as client:
            for topic in topics:
                client.topic(topic)
        with closing(read_as_group(bootstrap, group, topics, from_, follow, isolation, count, patience)) as records:
            _print(records, printer)
        return
    with connect(bootstrap, request_seconds) as client:
        places = [where for topic in topics for where in _places(client, topic, partition)]
        ends = _ends(client, places, isolation)
        positions = _positions(client, places, ends, from_)
        until = None if follow else ends
        reader = PatientReader(client, positions, Outage(patience), until=until, isolation=isolation)
        found = merge_by_timestamp(reader) if merge else _in_order_of_arrival(reader)
        _print(islice(found, count), printer)


def _printer(output: Output, format_: str | None) -> Formatter:
    if output is Output.JSON:
        if format_ is not None:
            raise typer.BadParameter("--format and --output json are two ways to print: choose one")
        return json_line
    return value_line if format_ is None else template(format_)


def _print(records: Iterator[Found], printer: Formatter) -> None:
    """Print until the records end, the person has seen enough, or whoever reads our output has."""
    write, printed = sys.stdout.buffer.write, 0
    try:
        for where, record in records:
            write(printer(where, record))
            printed += 1
    except BrokenPipeError:
        close_stdout()
    finally:
        # However it ends, with ctrl-c too: what was read is shown.
        sys.stdout.buffer.flush()
        if sys.stdout.isatty():
            say(f"{printed} record{'' if printed == 1 else 's'}")


def _in_order_of_arrival(reader: Reader) -> Iterator[Found]:
    while reader.open:
        for chunk in reader.poll():
            for record in chunk.records:
                yield chunk.where, record
        # Whoever follows a topic wants to see each record when it comes.
        sys.stdout.buffer.flush()


def _ends(client: Client, places: list[TopicPartition], isolation: int) -> dict[TopicPartition, int]:
    latest = list_offsets(client, dict.fromkeys(places, LATEST), isolation)
    return {where: found.offset for where, found in latest.items()}


def _places(client: Client, topic: str, partitions: list[int] | None) -> list[TopicPartition]:
    known = client.topic(topic)
    count = len(known.partitions)
    for number in partitions or ():
        if number >= count:
            raise Refused(f"topic {topic} has no partition {number}", known.numbers)
    return [TopicPartition(topic, number) for number in partitions or range(count)]


def _positions(
    client: Client, places: list[TopicPartition], ends: dict[TopicPartition, int], from_: str
) -> dict[TopicPartition, int]:
    """The offset at which each partition is begun."""
    if from_ == "latest":
        return ends
    firsts = {where: found.offset for where, found in list_offsets(client, dict.fromkeys(places, EARLIEST)).items()}
    if from_ == "earliest":
        return firsts
    if from_.isdecimal():
        return _from_offset(int(from_), places, firsts, ends)
    if from_.startswith("-") and from_[1:].isdecimal():
        return {where: max(firsts[where], ends[where] - int(from_[1:])) for where in places}
    moment = timestamp_ms(from_, datetime.now())
    if moment is None:
        raise typer.BadParameter(f"{from_!r} is neither earliest, latest, an offset nor a time", param_hint="--from")
    found = list_offsets(client, dict.fromkeys(places, moment))
    return {where: ends[where] if found[where].offset == NO_OFFSET else found[where].offset for where in places}


def _from_offset(
    offset: int, places: list[TopicPartition], firsts: dict[TopicPartition, int], ends: dict[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """The same offset in each partition; one that exists in none of them is a mistake."""
    if not any(firsts[where] <= offset <= ends[where] for where in places):
        spans = ", ".join(f"{where.partition}: {firsts[where]} to {ends[where] - 1}" for where in places)
        raise Refused(f"offset {offset} does not exist", f"offsets by partition: {spans}")
    return {where: min(max(offset, firsts[where]), ends[where]) for where in places}
