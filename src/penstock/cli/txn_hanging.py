"""`penstock txn hanging`: open transactions that no coordinator will end."""

import time
from collections.abc import Iterable
from typing import Annotated

import typer

from penstock.cli import completion
from penstock.cli.arguments import duration_ms, time_text
from penstock.cli.consume_range import led
from penstock.cli.output import Output, print_rows
from penstock.cli.places import named_places
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.talk import say
from penstock.client import hanging as finding
from penstock.client.blocking import Client
from penstock.client.hanging import ProducerAt
from penstock.client.metadata import TopicPartition

COLUMNS = ("topic", "partition", "start offset", "producer id", "producer epoch", "coordinator epoch", "last write")


def hanging(
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC[:0,1]",
            help="Only there, instead of everywhere; may be repeated.",
            autocompletion=completion.topics,
        ),
    ] = None,
    longer_than: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Their last record is older: 30s, 15m, 2h. No less than producers' time-outs are."
        ),
    ] = "15m",
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Find transactions that are open in a partition, and that their coordinator knows nothing of."""
    older_than_ms = duration_ms(longer_than, "--longer-than")
    with connect(bootstrap, timeout) as client:
        places = led(client, _places(client, topic or ()))
        found = finding.hanging(client, places, older_than_ms, int(time.time() * 1000))
    print_hanging(output, found)
    if found:
        first = found[0]
        say(f"abort one: penstock txn abort {first.where.topic}:{first.where.partition} --start {first.start_offset}")
    elif output is Output.TABLE:
        say(f"no transaction hangs in {len(places)} partition{'' if len(places) == 1 else 's'}")


def _places(client: Client, topics: Iterable[str]) -> list[TopicPartition]:
    named = [place for text in topics for place in named_places(client, text, "--topic")]
    return named or [TopicPartition(topic.name, one.number) for topic in client.topics() for one in topic.partitions]


def print_hanging(output: Output, found: Iterable[ProducerAt]) -> None:
    is_json = output is Output.JSON
    rows = [
        (
            *each.where,
            each.start_offset,
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.last_timestamp_ms if is_json else time_text(each.last_timestamp_ms),
        )
        for each in found
    ]
    print_rows(output, COLUMNS, rows)
