"""`penstock txn abort`: a transaction that hangs in a partition, or the one of a transactional id; shown before it is
done."""

import time
from typing import Annotated

import typer

from penstock.cli import completion
from penstock.cli.arguments import at_least, time_text
from penstock.cli.output import Output, print_rows
from penstock.cli.places import named_places
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, Execute, OutputOption, Timeout, connect
from penstock.cli.talk import Refused, say
from penstock.cli.txn_hanging import print_hanging
from penstock.client import hanging as finding
from penstock.client.blocking import Client
from penstock.client.hanging import ProducerAt
from penstock.client.transactions import Described, Transactions

ID_COLUMNS = ("transactional id", "state", "producer id", "producer epoch", "started", "partitions")
# With an age that each has: the person says which one it is.
ANY_AGE_MS = -(1 << 62)


def abort(
    place: Annotated[
        str | None,
        typer.Argument(metavar="[TOPIC:N]", help="The partition where it hangs.", autocompletion=completion.topics),
    ] = None,
    start: Annotated[
        int | None,
        typer.Option(
            "--start", "--start-offset", metavar="N", callback=at_least(0), help="The offset at which it begins there."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--transactional-id",
            metavar="ID",
            help="Abort what is open under this id, and fence its producer.",
            autocompletion=completion.transactions,
        ),
    ] = None,
    execute: Execute = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Abort a transaction that hangs in a partition (see `txn hanging`), or that of an id: shows it unless --execute
    is given."""
    if (place is None) == (name is None) or (place is None) != (start is None):
        raise typer.BadParameter("give either TOPIC:N and --start, or --transactional-id")
    with connect(bootstrap, timeout) as client:
        if place is not None and start is not None:
            _abort_hanging(client, place, start, execute, output)
        elif name is not None:
            _terminate(client, name, execute, output)
    say("the transaction is aborted" if execute else "nothing is aborted yet: add --execute to do it")


def _abort_hanging(client: Client, place: str, start: int, execute: bool, output: Output) -> None:
    found = _found(client, place, start)
    if execute:
        finding.abort(client, found)
    print_hanging(output, [found])


def _found(client: Client, place: str, start: int) -> ProducerAt:
    """The transaction that begins there, if it hangs."""
    places = named_places(client, place, "TOPIC:N")
    if len(places) != 1:
        raise typer.BadParameter(f"{place} names {len(places)} partitions: name one", param_hint="TOPIC:N")
    here = [each for each in finding.producers(client, places) if each.is_open]
    chosen = next((each for each in here if each.start_offset == start), None)
    if chosen is None:
        offsets = ", ".join(str(each.start_offset) for each in here)
        raise Refused(
            f"no open transaction begins at offset {start} of {places[0]}",
            f"there are open ones from {offsets} on" if here else "none is open there",
        )
    now_ms = int(time.time() * 1000)
    if chosen.transaction not in {each.transaction for each in finding.hanging(client, places, ANY_AGE_MS, now_ms)}:
        raise Refused(
            f"the transaction of producer {chosen.producer_id} does not hang: its coordinator will end it everywhere",
            f"see `penstock txn list --producer-id {chosen.producer_id}`, and abort it with --transactional-id",
        )
    return chosen


def _terminate(client: Client, name: str, execute: bool, output: Output) -> None:
    transactions = Transactions(client)
    known = transactions.describe(name)
    if not known.is_open:
        raise Refused(f"transactional id {name} has no open transaction: it is {known.state}")
    if execute:
        transactions.terminate(known)
    print_rows(output, ID_COLUMNS, [_row(known, output)])


def _row(known: Described, output: Output) -> tuple[object, ...]:
    is_json = output is Output.JSON
    places: object = [str(where) for where in known.partitions]
    if not is_json:
        places = ", ".join(map(str, known.partitions))
    started = known.started_ms if is_json or known.started_ms is None else time_text(known.started_ms)
    return (known.transactional_id, known.state, known.producer_id, known.producer_epoch, started, places)
