"""The options that every command of a running cluster has, and the client that they describe."""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final

import typer

from penstock.cli.output import Output
from penstock.client.blocking import Client, parse_addresses
from penstock.client.errors import ClientError
from penstock.client.security import Security, security_of

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
TIMEOUT_SECONDS = 10.0
CLIENT_ID = "penstock-cli"
COMMAND_CONFIG = "PENSTOCK_COMMAND_CONFIG"
"""Names a file of a client's settings, as `--command-config` does."""
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

# Brokers are told time-outs in milliseconds of 32 bits.
TIMEOUT_SECONDS_MAX = 2_000_000.0


def check_timeout(seconds: float | None) -> float | None:
    """A time-out that sockets and brokers understand; "not a number" is not one either."""
    if seconds is not None and not 0 < seconds <= TIMEOUT_SECONDS_MAX:
        raise typer.BadParameter(f"{seconds:g} is not above 0 and at most {TIMEOUT_SECONDS_MAX:.0f}")
    return seconds


def check_bootstrap(text: str) -> str:
    """Addresses that can be read as such; whether somebody is there is another question."""
    try:
        parse_addresses(text)
    except ClientError as failure:
        raise typer.BadParameter(f"{failure}; {failure.hint}") from None
    return text


Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap",
        "--bootstrap-server",
        "-b",
        envvar="PENSTOCK_BOOTSTRAP",
        metavar="HOST:PORT,...",
        callback=check_bootstrap,
        help="Where brokers listen.",
    ),
]
Execute = Annotated[bool, typer.Option("--execute", "--yes", help="Do it; without this, only show it.")]
OutputOption = Annotated[Output, typer.Option("--output", "-o", help="How to print the result.")]
Timeout = Annotated[
    float,
    typer.Option("--timeout", metavar="SECONDS", callback=check_timeout, help="How long to try before giving up."),
]


def connect(
    bootstrap: str,
    timeout: float = TIMEOUT_SECONDS,
    context: typer.Context | None = None,
    settings: Mapping[str, str] = _NOTHING,
) -> Client:
    """A client for what was said on the command line; what was not comes from the settings of a client."""
    settings = {**command_config(), **settings}
    if context is None and bootstrap == DEFAULT_BOOTSTRAP:
        bootstrap = settings.get("bootstrap.servers", bootstrap)
    if context is not None and not is_given(context, "bootstrap"):
        bootstrap = settings.get("bootstrap.servers", bootstrap)
    if (context is None or not is_given(context, "timeout")) and (text := settings.get("request.timeout.ms")):
        timeout = int(text) / 1000
    security = _security(settings)
    return Client(bootstrap, client_id=settings.get("client.id", CLIENT_ID), timeout=timeout, security=security)


def client_security(path: str | None = None) -> Security:
    """How the clients of a command get in, where it needs others than the one it is given; or what a file says."""
    if path is None:
        return _security(command_config())
    from penstock.cli.client_settings import command_settings

    return _security(command_settings(path))


def _security(settings: Mapping[str, str]) -> Security:
    """How to get in; settings that contradict each other are a mistake of whoever gave them."""
    try:
        return security_of(settings)
    except ClientError as failure:
        raise typer.BadParameter("; ".join(filter(None, (str(failure), failure.hint)))) from None


def command_config() -> Mapping[str, str]:
    """The settings of a client that hold for all commands: how it gets in, and where."""
    path = os.environ.get(COMMAND_CONFIG)
    if not path:
        return _NOTHING
    from penstock.cli.client_settings import command_settings

    return command_settings(path)


def is_given(context: typer.Context, name: str) -> bool:
    """Whether somebody has set an option, on the command line or in the environment."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"
