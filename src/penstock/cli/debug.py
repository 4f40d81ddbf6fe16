"""`penstock debug bundle`: what somebody needs to see who is asked for help, in one file."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.output import Output, bytes_text, print_rows
from penstock.cli.plain import DATA_DIR
from penstock.cli.session import (
    DEFAULT_BOOTSTRAP,
    TIMEOUT_SECONDS,
    Bootstrap,
    OutputOption,
    Timeout,
    command_config,
    connect,
)
from penstock.cli.talk import say

if TYPE_CHECKING:
    from penstock.cli.debugging.bundle import Part
    from penstock.cli.debugging.here import Place
    from penstock.cli.debugging.redacting import Redactor
    from penstock.client.blocking import Client

app = typer.Typer(help="Help others to help.", no_args_is_help=True)

COLUMNS = ("file", "what", "bytes")
TIMES_MAX = 6
"""All that the cluster is asked may take as long as so many answers."""
NOT_IN_IT = "not in it: records, keys, schemas, passwords, tokens; names of topics, groups, users and hosts are"


@app.command()
def bundle(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    data_dir: Annotated[str, typer.Option(help="The folder of `penstock up`, if it is on this machine.")] = DATA_DIR,
    config: Annotated[str | None, typer.Option("--config", "-c", help="Or: server.properties of a node here.")] = None,
    file: Annotated[str | None, typer.Option(help="Where it is written; without this, a name with the time.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would hold.")] = False,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Collect versions, settings, metadata, groups, metrics and the ends of logs in one tar.gz, without secrets. What
    cannot be got is said in its place."""
    from penstock.cli.debugging.bundle import write
    from penstock.cli.debugging.here import learn_security, places
    from penstock.cli.debugging.redacting import Redactor

    redact = Redactor()
    found = places(config, data_dir)
    with connect(_address(bootstrap, found), timeout) as client, client.within(TIMES_MAX * timeout):
        planned = list(_parts(found, None if config else data_dir, client, redact))
        if dry_run:
            print_rows(output, COLUMNS[:2], ((each.name, each.what) for each in planned))
            say(f"nothing was written; {NOT_IN_IT}")
            return
        learn_security(data_dir, redact)
        redact.client(command_config())
        path = time.strftime("penstock-debug-%Y%m%dT%H%M%SZ.tar.gz", time.gmtime()) if file is None else file
        say(f"collecting {len(planned)} files; {NOT_IN_IT}")
        written = write(path, iter(planned), redact)
    print_rows(output, COLUMNS, ((each.name, each.what, each.size_bytes) for each in written))
    say(f"{path} has {bytes_text(os.path.getsize(path))}: look at it before you hand it on")


def _address(bootstrap: str, found: "list[Place]") -> str:
    """Who names nobody means the nodes of the folder."""
    if bootstrap != DEFAULT_BOOTSTRAP:
        return bootstrap
    from penstock.cli.node_settings import address_of

    addresses = []
    for each in found:
        with suppress(OSError), open(each.settings_path, encoding="utf-8") as file:
            addresses.append(address_of(file.read()))
    return ",".join(filter(None, addresses)) or bootstrap


def _parts(found: "list[Place]", data_dir: str | None, client: "Client", redact: "Redactor") -> "Iterator[Part]":
    from penstock.cli.debugging import cluster, endpoints, here

    yield from here.parts(found, data_dir, redact)
    yield from endpoints.parts(found)
    yield from cluster.parts(client)
