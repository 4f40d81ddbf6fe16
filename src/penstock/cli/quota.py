"""`penstock quota`: how much clients may produce, fetch, ask and change, and how often they may connect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

import typer

from penstock.cli.output import Output, print_json, print_rows
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.talk import Refused, say
from penstock.client.quotas import WORDS, alter_quotas, entity_text, parse_bytes, quotas
from penstock.core.base.quotas import (
    CLIENT_ID,
    CONNECTION,
    FETCH,
    IP,
    MUTATION,
    PRODUCE,
    REQUEST,
    USER,
    QuotaEntity,
)

app = typer.Typer(help="Bound what clients may ask of a cluster.", no_args_is_help=True)

COLUMNS = ("whose", *WORDS)
OTHERS: Final = "*"

User = Annotated[str | None, typer.Option(metavar="NAME", help="Of this user; '*': of each one without its own.")]
ClientId = Annotated[str | None, typer.Option(metavar="ID", help="Of this client id; '*': of each other one.")]
Address = Annotated[str | None, typer.Option("--ip", metavar="IP", help="Of this address; '*': of each other one.")]


@app.command("list")
def list_(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """List all quotas, bytes per second, percent of a node's time, changes and connections per second."""
    with connect(bootstrap, timeout) as client:
        found = quotas(client)
    if output is Output.JSON:
        print_json([{"entity": dict(each.entity), **each.values} for each in found])
    elif found:
        rows = [(entity_text(each.entity), *(_shown(each.values.get(key)) for key in WORDS.values())) for each in found]
        print_rows(output, COLUMNS, rows)
    else:
        say("there are no quotas: everybody may ask for as much as there is")


@app.command("set")
def set_(
    user: User = None,
    client_id: ClientId = None,
    address: Address = None,
    produce: Annotated[str | None, typer.Option(metavar="BYTES", help="Bytes per second: 500k, 10M.")] = None,
    fetch: Annotated[str | None, typer.Option(metavar="BYTES", help="Bytes per second: 500k, 20M.")] = None,
    request: Annotated[float | None, typer.Option(metavar="PERCENT", help="Of the time of each node.")] = None,
    mutation: Annotated[
        float | None, typer.Option(metavar="N", help="Partitions that are created or deleted per second.")
    ] = None,
    connections: Annotated[int | None, typer.Option(metavar="N", help="New connections per second; with --ip.")] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Set quotas of a user, a client id, both, or an address; what is not named stays as it is."""
    entity = _entity(user, client_id, address)
    given = {
        PRODUCE: None if produce is None else bytes_of(produce, "--produce"),
        FETCH: None if fetch is None else bytes_of(fetch, "--fetch"),
        REQUEST: request,
        MUTATION: mutation,
        CONNECTION: connections,
    }
    wanted = {key: float(value) for key, value in given.items() if value is not None}
    _check(entity, wanted)
    with connect(bootstrap, timeout) as client:
        alter_quotas(client, entity, wanted)
    say(f"{entity_text(entity)}: {', '.join(f'{key}={_shown(value)}' for key, value in wanted.items())}")


@app.command("delete")
def delete(
    user: User = None,
    client_id: ClientId = None,
    address: Address = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Only this one: produce, fetch, ...; may be repeated.")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Take quotas away: all that somebody has, or --only some."""
    entity = _entity(user, client_id, address)
    if unknown := [each for each in only or () if each not in WORDS]:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(WORDS)}", param_hint="--only")
    with connect(bootstrap, timeout) as client:
        has: Mapping[str, float] = next((each.values for each in quotas(client) if each.entity == entity), {})
        gone = [key for key in has if not only or key in {WORDS[each] for each in only}]
        if not gone:
            raise Refused(f"{entity_text(entity)} has no such quota", "see `penstock quota list`")
        alter_quotas(client, entity, dict.fromkeys(gone))
    say(f"{entity_text(entity)}: {', '.join(gone)} deleted")


def _entity(user: str | None, client_id: str | None, address: str | None) -> QuotaEntity:
    if address is not None and (user is not None or client_id is not None):
        raise typer.BadParameter("an address has a quota of its own: leave --user and --client-id out")
    given = ((CLIENT_ID, client_id), (IP, address), (USER, user))
    entity = tuple((kind, None if name == OTHERS else name) for kind, name in given if name is not None)
    if not entity:
        raise typer.BadParameter("say whose quota it is: --user, --client-id, both, or --ip")
    return entity


def _check(entity: QuotaEntity, wanted: Mapping[str, float]) -> None:
    if not wanted:
        raise typer.BadParameter(f"say how much: {', '.join(f'--{word}' for word in WORDS)}")
    of_address = entity[0][0] == IP
    if of_address != (CONNECTION in wanted) or (of_address and len(wanted) > 1):
        raise typer.BadParameter("--connections is for an address (--ip), and all else for users and client ids")
    for key, value in wanted.items():
        if not value > 0:
            raise typer.BadParameter(f"{key} must be greater than 0; `penstock quota delete` takes a quota away")


def bytes_of(text: str, option: str) -> int:
    found = parse_bytes(text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is no number of bytes: 500000, 500k, 10M", param_hint=option)
    return found


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:g}" if value % 1 else f"{value:.0f}"
