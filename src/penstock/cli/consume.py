"""`penstock consume`: records of topics on stdout, from anywhere in the log, by partition, by time or as a group."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from enum import StrEnum
from itertools import islice
from typing import Annotated, NamedTuple

import typer

from penstock.cli import completion
from penstock.cli.arguments import at_least
from penstock.cli.client_settings import CONSUMER, MEMBER, ConfigOption, PropertyOption, client_settings
from penstock.cli.consume_range import beginnings, chosen_partitions, chosen_topics, ends_now, led, limits
from penstock.cli.group_reading import Membership, read_as_group
from penstock.cli.outage import Outage, PatientReader
from penstock.cli.output import Output
from penstock.cli.record_format import NULL, Formatter, json_line, template, value_line
from penstock.cli.schema_registry import DEFAULT_REGISTRY, Registry
from penstock.cli.session import (
    CLIENT_ID,
    DEFAULT_BOOTSTRAP,
    TIMEOUT_SECONDS,
    Bootstrap,
    check_timeout,
    connect,
    is_given,
)
from penstock.cli.shown import is_for_a_terminal, shown_bytes
from penstock.cli.talk import close_stdout, say
from penstock.cli.typed import ReadSchema, typed_printer
from penstock.client.blocking import Client
from penstock.client.merging import merge_by_timestamp
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import READ_COMMITTED, READ_UNCOMMITTED
from penstock.client.reading import Reader
from penstock.core.records.record import Record

Found = tuple[TopicPartition, Record]
From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="WHERE",
        help="earliest, latest, an offset, -N for the last N of each partition, or a time: "
        "2026-01-31T12:00, @milliseconds, or 15m for a quarter of an hour ago.",
    ),
]


class Isolation(StrEnum):
    """What `--isolation` takes."""

    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


IsolationOption = Annotated[
    Isolation | None,
    typer.Option(
        "--isolation",
        help="read_committed: nothing of transactions that are open or were aborted.",
        show_default="read_uncommitted",
    ),
]
GroupOption = Annotated[
    str | None,
    typer.Option("--group", "-g", help="Read as a member and commit.", autocompletion=completion.groups),
]
Patience = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        callback=check_timeout,
        help="How long to go without a broker before giving up; 10 by default, with --follow for ever.",
    ),
]
# Arguments of a reader, by the settings that they come from.
SIZES = {"fetch.max.wait.ms": "wait_ms", "max.partition.fetch.bytes": "partition_bytes"}


def consume(
    context: typer.Context,
    topics: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC...", help="The topics.", autocompletion=completion.topics)
    ] = None,
    topic_option: Annotated[
        list[str] | None, typer.Option("--topic", "-t", metavar="TOPIC", help="A topic, as an option.")
    ] = None,
    pattern: Annotated[
        str | None, typer.Option(metavar="REGEX", help="All topics whose whole name this describes: 'orders.*'.")
    ] = None,
    from_: From = "earliest",
    to: Annotated[
        str | None,
        typer.Option(metavar="WHERE", help="The first not to read: an offset, a time, -N, or end, where it ends now."),
    ] = None,
    partition: Annotated[
        list[int] | None, typer.Option("--partition", "-p", metavar="N", help="Only this one; may be repeated.")
    ] = None,
    group: GroupOption = None,
    count: Annotated[
        int | None, typer.Option("--count", "-n", metavar="N", callback=at_least(0), help="Stop after so many.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more at the end.")] = False,
    merge: Annotated[bool, typer.Option("--merge", help="One order by timestamp over all partitions.")] = False,
    isolation: IsolationOption = None,
    committed: Annotated[bool, typer.Option("--committed", help="The same as --isolation read_committed.")] = False,
    format_: Annotated[
        str | None, typer.Option("--format", help="A template, for example '{offset} {key}: {value:hex}'.")
    ] = None,
    null: Annotated[str, typer.Option(metavar="TEXT", help="What stands for a key or value that is null.")] = "null",
    schema: ReadSchema = False,
    registry: Registry = DEFAULT_REGISTRY,
    config: ConfigOption = None,
    property_: PropertyOption = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="table: the value or the template; json: an object per line.")
    ] = Output.TABLE,
    timeout: Patience = None,
) -> None:
    """Print records; without --follow it ends where the topics ended when it began."""
    names = [*(topics or ()), *(topic_option or ())]
    if not names and pattern is None:
        raise typer.BadParameter("name a topic: penstock consume TOPIC, or --pattern 'orders.*'")
    printer = _printer(output, format_, null.encode(), registry if schema else None)
    settings = client_settings(config, property_, CONSUMER, MEMBER if group is not None else {})
    if not is_given(context, "bootstrap"):
        bootstrap = settings.get("bootstrap.servers", bootstrap)
    level = _isolation_level(isolation, committed, settings)
    patience = TIMEOUT_SECONDS if timeout is None and not follow else timeout
    with connect(bootstrap, timeout or TIMEOUT_SECONDS, context, settings) as client:
        names = chosen_topics(client, names, pattern)
        if group is None:
            wish = _Wish(partition, from_, to, follow, level, patience, settings)
            _print(islice(_read(client, names, wish, merge), count), printer)
            return
        _refuse_beside_group(group, merge, partition, to)
        for topic in names:
            client.topic(topic)
    membership = Membership(bootstrap, group, from_, follow, level, patience, {"client.id": CLIENT_ID} | settings)
    with closing(read_as_group(membership, names, count)) as records:
        _print(records, printer)


class _Wish(NamedTuple):
    """What is to be read without a group."""

    partitions: list[int] | None
    from_: str
    to: str | None
    follow: bool
    isolation: int
    patience: float | None
    settings: Mapping[str, str]


def _isolation_level(isolation: Isolation | None, committed: bool, settings: Mapping[str, str]) -> int:
    """By the option; what it leaves open, by the settings."""
    if committed and isolation is Isolation.READ_UNCOMMITTED:
        raise typer.BadParameter("--committed says the opposite", param_hint="--isolation")
    named = isolation or settings.get("isolation.level")
    return READ_COMMITTED if committed or named == Isolation.READ_COMMITTED else READ_UNCOMMITTED


def _read(client: Client, names: list[str], wish: _Wish, merge: bool) -> Iterator[Found]:
    places = [where for topic in names for where in chosen_partitions(client, topic, wish.partitions)]
    known = led(client, places)
    ends = ends_now(client, known, wish.isolation)
    reader = PatientReader(
        client,
        beginnings(client, known, ends, wish.from_),
        Outage(wish.patience),
        until=limits(client, ends, wish.to, wish.follow),
        isolation=wish.isolation,
        **_sizes(wish.settings),
    )
    found = merge_by_timestamp(reader) if merge else _in_order_of_arrival(reader)
    return found if len(known) == len(places) else _incomplete(found)


def _incomplete(found: Iterator[Found]) -> Iterator[Found]:
    """What is read is not all there is, and the exit code says so."""
    yield from found
    raise typer.Exit(1)


def _sizes(settings: Mapping[str, str]) -> dict[str, int]:
    """What the settings say of single fetches."""
    return {argument: int(settings[name]) for name, argument in SIZES.items() if name in settings}


def _refuse_beside_group(group: str, merge: bool, partition: list[int] | None, to: str | None) -> None:
    if not group.strip():
        raise typer.BadParameter("a group has a name", param_hint="--group")
    if merge or partition or to:
        raise typer.BadParameter(
            "a group decides about partitions, order and end: leave out --partition, --merge and --to"
        )


def _printer(output: Output, format_: str | None, null: bytes, registry: str | None) -> Formatter:
    """With a registry, values are shown as it describes them."""
    printer = _untyped_printer(output, format_, null)
    return printer if registry is None else typed_printer(printer, registry)


def _untyped_printer(output: Output, format_: str | None, null: bytes) -> Formatter:
    if output is Output.JSON:
        if format_ is not None:
            raise typer.BadParameter("--format and --output json are two ways to print: choose one")
        return json_line
    clean = shown_bytes if is_for_a_terminal() else bytes
    if format_ is None and clean is bytes and null == NULL:
        return value_line
    return template("{value}" if format_ is None else format_, clean, null)


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
