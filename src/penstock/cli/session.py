"""The options that every command of a running cluster has, and the client that they describe."""

from typing import Annotated

import typer

from penstock.cli.output import Output
from penstock.client.blocking import Client

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
TIMEOUT_SECONDS = 10.0

# Brokers are told time-outs in milliseconds of 32 bits.
TIMEOUT_SECONDS_MAX = 2_000_000.0


def check_timeout(seconds: float | None) -> float | None:
    """A time-out that sockets and brokers understand; "not a number" is not one either."""
    if seconds is not None and not 0 < seconds <= TIMEOUT_SECONDS_MAX:
        raise typer.BadParameter(f"{seconds:g} is not above 0 and at most {TIMEOUT_SECONDS_MAX:.0f}")
    return seconds


Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap",
        "--bootstrap-server",
        envvar="PENSTOCK_BOOTSTRAP",
        metavar="HOST:PORT,...",
        help="Where brokers listen.",
    ),
]
Execute = Annotated[bool, typer.Option("--execute", help="Do it; without this, only show it.")]
OutputOption = Annotated[Output, typer.Option("--output", "-o", help="How to print the result.")]
Timeout = Annotated[
    float,
    typer.Option("--timeout", metavar="SECONDS", callback=check_timeout, help="How long to try before giving up."),
]


def connect(bootstrap: str, timeout: float = TIMEOUT_SECONDS) -> Client:
    return Client(bootstrap, client_id="penstock-cli", timeout=timeout)
