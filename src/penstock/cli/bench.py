"""`penstock bench`: how fast a cluster writes and reads records of this machine, and how long one is on its way."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Final

import typer

from penstock.cli import completion
from penstock.cli.arguments import COPIES_MAX, PARTITIONS_MAX, at_least
from penstock.cli.client_settings import CONSUMER, PRODUCER, ConfigOption, PropertyOption, client_settings
from penstock.cli.consume import SIZES
from penstock.cli.measuring import MARK_BYTES, Flow, read, time_records, write
from penstock.cli.output import Output, print_facts
from penstock.cli.produce import make_producer
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.talk import Refused, say
from penstock.client.admin import DEFAULT, Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError

app = typer.Typer(
    help="Measure a cluster, with the client of this command, which is a part of what it measures.",
    no_args_is_help=True,
)
RECORD_BYTES_MAX: Final = 1_000_000
TOPIC_PREFIX: Final = "penstock-bench-"
Topic = Annotated[
    str | None,
    typer.Argument(help="The topic; without one, a new one that is deleted again.", autocompletion=completion.topics),
]
Records = Annotated[int, typer.Option("--records", "-n", callback=at_least(1), help="How many records.")]
RecordBytes = Annotated[
    int, typer.Option("--record-bytes", callback=at_least(1, RECORD_BYTES_MAX), help="The size of a value.")
]
Partitions = Annotated[
    int, typer.Option(callback=at_least(1, PARTITIONS_MAX), help="How many partitions a new topic has.")
]
Copies = Annotated[
    int | None,
    typer.Option(
        callback=at_least(1, COPIES_MAX), help="How many copies of each.", show_default="the cluster's default"
    ),
]


@app.command()
def produce(
    context: typer.Context,
    topic: Topic = None,
    records: Records = 500_000,
    record_bytes: RecordBytes = 100,
    partitions: Partitions = 1,
    replication_factor: Copies = None,
    config: ConfigOption = None,
    property_: PropertyOption = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Write records as fast as it goes, until the last one is acknowledged."""
    settings = _settings(config, property_, PRODUCER)
    with (
        connect(bootstrap, timeout, context, settings) as client,
        _topic_for(client, topic, partitions, replication_factor) as name,
    ):
        _tell(output, write(make_producer(client, settings), name, records, record_bytes))


@app.command()
def consume(
    context: typer.Context,
    topic: Topic = None,
    records: Records = 500_000,
    record_bytes: RecordBytes = 100,
    partitions: Partitions = 1,
    replication_factor: Copies = None,
    config: ConfigOption = None,
    property_: PropertyOption = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Read so many records, or all there are, from the beginning; a new topic is filled with as many first."""
    settings = _settings(config, property_, CONSUMER)
    sizes = {SIZES[name]: int(value) for name, value in settings.items() if name in SIZES}
    with (
        connect(bootstrap, timeout, context, settings) as client,
        _topic_for(client, topic, partitions, replication_factor) as name,
    ):
        if topic is None:
            write(make_producer(client, {}), name, records, record_bytes)
        found = read(client, name, records, sizes)
        if not found.records:
            raise Refused(f"there is nothing in {name}", f"fill it first: penstock bench produce {name}")
        _tell(output, found)


@app.command()
def latency(
    context: typer.Context,
    topic: Topic = None,
    records: Records = 1_000,
    record_bytes: RecordBytes = 100,
    rate: Annotated[float, typer.Option(metavar="N", help="How many records a second.")] = 200.0,
    replication_factor: Copies = None,
    config: ConfigOption = None,
    property_: PropertyOption = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Write records one by one at a rate, and say how long each took to be acknowledged, and to be read."""
    if not 0 < rate <= 1e6:
        raise typer.BadParameter(f"{rate:g} is not above 0 and at most 1000000", param_hint="--rate")
    if record_bytes < MARK_BYTES:
        raise typer.BadParameter(
            f"{record_bytes} is not {MARK_BYTES} or more: it has a number", param_hint="--record-bytes"
        )
    settings = _settings(config, property_, PRODUCER)
    with (
        connect(bootstrap, timeout, context, settings) as client,
        connect(bootstrap, timeout, context, settings) as reading,
        _topic_for(client, topic, 1, replication_factor) as name,
    ):
        producer = make_producer(client, settings)
        # What is made on first use belongs to no record.
        time_records(producer, reading, name, 1, record_bytes, rate)
        delays = time_records(producer, reading, name, records, record_bytes, rate)
    facts: dict[str, Any] = {"records": records, "per_second": rate}
    for what, spread in delays._asdict().items():
        facts |= {f"{what}_{name}_ms": value for name, value in spread._asdict().items()}
    print_facts(output, facts)


def _settings(config: str | None, property_: list[str] | None, table: Mapping[str, Any]) -> dict[str, str]:
    """The settings of a client; transactions are not measured."""
    return client_settings(config, property_, {name: each for name, each in table.items() if "transaction" not in name})


@contextmanager
def _topic_for(client: Client, name: str | None, partitions: int, copies: int | None) -> Iterator[str]:
    """The topic that was named, or one for this run."""
    if name is not None:
        client.topic(name, create=True)
        yield name
        return
    name = f"{TOPIC_PREFIX}{os.urandom(4).hex()}"
    Admin(client).create_topic(name, partitions, copies or DEFAULT)
    try:
        yield name
    finally:
        try:
            Admin(client).delete_topic(name)
        except ClientError as failure:
            say(f"penstock: {failure}: the topic stays; delete it with `penstock topic delete {name} --execute`")


def _tell(output: Output, flow: Flow) -> None:
    print_facts(
        output,
        {
            "records": flow.records,
            "seconds": round(flow.seconds, 6),
            "records_per_second": flow.records_per_second,
            "mb_per_second": flow.megabytes_per_second,
        },
    )
