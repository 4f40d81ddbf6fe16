"""`penstock txn`: the transactions that are open, what belongs to them, and those that hang."""

import re
import time
from enum import StrEnum
from typing import Annotated, Any

import typer

from penstock.cli import completion
from penstock.cli.arguments import duration_ms, time_text
from penstock.cli.outage import say_silent
from penstock.cli.output import Output, print_facts, print_json, print_rows, print_table
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.talk import say
from penstock.cli.txn_abort import abort
from penstock.cli.txn_hanging import hanging
from penstock.client.transactions import ANY_AGE, Described, Transactions

app = typer.Typer(help="Look at transactions, find those that hang, abort them.", no_args_is_help=True)

COLUMNS = ("transactional id", "state", "producer id", "coordinator")


class State(StrEnum):
    """What `--state` takes, in Kafka's words."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"


@app.command("list")
def list_(
    state: Annotated[
        list[State] | None, typer.Option(case_sensitive=False, help="Only those in this one; may be repeated.")
    ] = None,
    longer_than: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only transactions that are open for longer: 30s, 15m, 2h.")
    ] = None,
    producer_id: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="Only whose producer id this is; may be repeated."),
    ] = None,
    pattern: Annotated[
        str | None, typer.Option(metavar="REGEX", help="Only ids that this describes from end to end: 'shop-.*'.")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """List transactional ids and the state of their transactions."""
    older_than_ms = ANY_AGE if longer_than is None else duration_ms(longer_than, "--longer-than")
    described = _pattern(pattern)
    with connect(bootstrap, timeout) as client:
        found, silent = Transactions(client).known(state or (), producer_id or (), older_than_ms)
    say_silent(silent, "transactional ids")
    rows = [each for each in found if described.fullmatch(each.transactional_id)]
    if not rows and output is Output.TABLE:
        say("there are no such transactional ids" if found or _is_filtered(state, longer_than, producer_id) else _NONE)
        return
    print_rows(output, COLUMNS, rows)


_NONE = "there are no transactional ids yet; write in a transaction: penstock produce TOPIC --transactional-id ID"


def _is_filtered(*filters: Any) -> bool:
    return any(each is not None for each in filters)


def _pattern(text: str | None) -> re.Pattern[str]:
    try:
        return re.compile(".*" if text is None else text, re.DOTALL)
    except re.error as failure:
        raise typer.BadParameter(
            f"{text!r} is no regular expression: {failure}; shop-.* is one", param_hint="--pattern"
        ) from None


@app.command()
def describe(
    name: Annotated[
        str, typer.Argument(metavar="ID", help="The transactional id.", autocompletion=completion.transactions)
    ],
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Show the transaction of an id, and the partitions in which it is open."""
    with connect(bootstrap, timeout) as client:
        known = Transactions(client).describe(name)
    if output is Output.JSON:
        places = [where._asdict() for where in known.partitions]
        print_json(facts_of(known) | {"partitions": places})
        return
    started = None if known.started_ms is None else time_text(known.started_ms)
    print_facts(output, facts_of(known) | {"started": started})
    if known.partitions:
        print()
        print_table(("topic", "partition"), known.partitions)


def facts_of(known: Described) -> dict[str, Any]:
    is_open = known.is_open and known.started_ms is not None
    return {
        "transactional_id": known.transactional_id,
        "state": known.state,
        "producer_id": known.producer_id,
        "producer_epoch": known.producer_epoch,
        "timeout_ms": known.timeout_ms,
        "started": known.started_ms,
        "open_ms": max(0, int(time.time() * 1000) - (known.started_ms or 0)) if is_open else None,
        "coordinator": known.coordinator,
    }


app.command("hanging")(hanging)
app.command("abort")(abort)
