"""`penstock topic offsets`: which offset a moment has in each partition, and where partitions begin and end."""

from datetime import datetime
from typing import Annotated

import typer

from penstock.cli import completion
from penstock.cli.arguments import time_text, timestamp_ms
from penstock.cli.consume_range import led
from penstock.cli.output import Output, print_rows
from penstock.cli.places import named_places
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.client.offsets import EARLIEST, LATEST, MAX_TIMESTAMP, NO_OFFSET, list_offsets

COLUMNS = ("topic", "partition", "offset", "timestamp", "time")
_WORDS = {"earliest": EARLIEST, "latest": LATEST, "newest": MAX_TIMESTAMP}


def offsets(
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="TOPIC[:0,1]...", help="Topics, or some of their partitions.", autocompletion=completion.topics
        ),
    ],
    at: Annotated[
        str,
        typer.Option(
            metavar="WHERE",
            help="latest, earliest, newest for the record with the highest timestamp, or a time: 2026-01-31T12:00, "
            "@milliseconds, or 15m for a quarter of an hour ago.",
        ),
    ] = "latest",
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Show the first offset of each partition that is not older than a moment; none where all records are older."""
    moment = _WORDS[at] if at in _WORDS else timestamp_ms(at, datetime.now())
    if moment is None:
        raise typer.BadParameter(f"{at!r} is neither {', '.join(_WORDS)} nor a time", param_hint="--at")
    with connect(bootstrap, timeout) as client, client.within(timeout):
        named = [where for text in places for where in named_places(client, text, "TOPIC")]
        found = list_offsets(client, dict.fromkeys(led(client, named, "is known from"), moment))
    rows = []
    for where in sorted(found):
        offset, timestamp = found[where]
        stamp = None if timestamp < 0 else timestamp
        rows.append((*where, None if offset == NO_OFFSET else offset, stamp, stamp and time_text(stamp)))
    print_rows(output, COLUMNS, rows)
