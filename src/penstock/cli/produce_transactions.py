"""`penstock produce --transactional-id`: what is read is committed as a whole, or some thousand records at a time."""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from typing import Annotated

import typer

from penstock.cli import completion
from penstock.cli.arguments import at_least
from penstock.cli.json_record import NewRecord
from penstock.cli.produce_report import Report
from penstock.client.transactional import TransactionalProducer

TransactionalId = Annotated[
    str | None,
    typer.Option(
        metavar="ID",
        help="Write in one transaction: committed at the end of the input, aborted by what fails and by ctrl-c.",
        autocompletion=completion.transactions,
    ),
]
TransactionRecords = Annotated[
    int | None,
    typer.Option(metavar="N", callback=at_least(1), help="Commit after so many records, and begin the next one."),
]


def check_transactional(settings: Mapping[str, str], records: int | None) -> None:
    """What a transaction cannot be without, and what means nothing without one."""
    if (name := settings.get("transactional.id")) is None:
        lonely = "--transaction-records" if records is not None else "transaction.timeout.ms"
        if records is not None or lonely in settings:
            raise typer.BadParameter("it means something with --transactional-id only", param_hint=lonely)
        return
    if not name.strip():
        raise typer.BadParameter("a transactional id is not empty", param_hint="--transactional-id")
    if settings.get("acks", "all") not in ("all", "-1") or settings.get("enable.idempotence") == "false":
        raise typer.BadParameter("a transaction has acks=all and is idempotent", param_hint="--transactional-id")


def send_in_transactions(
    producer: TransactionalProducer,
    send: Callable[[NewRecord], None],
    records: Iterator[NewRecord],
    records_max: int | None,
    report: Report,
) -> None:
    """A transaction begins with its first record: nobody's time runs out before somebody has typed one."""
    for first in records:
        with producer.transaction():
            for record in chain((first,), islice(records, None if records_max is None else records_max - 1)):
                send(record)
        report.committed()
