"""`penstock query`: SQL over topics, and over folders of tables beside them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from penstock.cli.arguments import assignments, at_least
from penstock.cli.querying.answers import AnswerOutput, print_answer
from penstock.cli.querying.engine import Engine, quoted, require_duckdb
from penstock.cli.querying.fields import BASE, fields_of, view
from penstock.cli.querying.folders import folder_table
from penstock.cli.querying.statement import Statement, Table, read_statement
from penstock.cli.querying.topics import TopicTable, range_of, sample, value_reader
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, Timeout, connect
from penstock.client.blocking import Client

SAMPLE_RECORDS = 1_000
MEMORY = "1GB"


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT; topics are its tables.", show_default=False)],
    from_: Annotated[
        str,
        typer.Option(
            "--from", metavar="WHERE", help="earliest, an offset, -N for the last N of each partition, or a time."
        ),
    ] = "earliest",
    to: Annotated[
        str | None, typer.Option(metavar="WHERE", help="The first not to read: an offset, a time, -N, or end.")
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option("--table", metavar="NAME=DIR", help="A folder of Parquet or Delta as a table; may be repeated."),
    ] = None,
    registry: Annotated[
        str | None,
        typer.Option(
            "--registry", envvar="PENSTOCK_REGISTRY", metavar="URL,...", help="Reads values by the schemas they name."
        ),
    ] = None,
    sample_: Annotated[
        int,
        typer.Option(
            "--sample", metavar="N", callback=at_least(1), help="So many records say what fields the values have."
        ),
    ] = SAMPLE_RECORDS,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="What the answer may take: 512MB, 4GB.")] = MEMORY,
    files: Annotated[
        bool, typer.Option("--files", help="Let the statement read and write files, as read_csv does.")
    ] = False,
    output: Annotated[
        AnswerOutput,
        typer.Option("--output", "-o", help="table; json: an object per line; csv: with the columns' names."),
    ] = AnswerOutput.TABLE,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Answer a question in SQL from topics: committed records, up to where the topics end now."""
    require_duckdb()
    folders = {name: Path(folder) for name, folder in assignments(table or (), "--table").items()}
    dial = partial(connect, bootstrap, timeout)
    with Engine(memory, files=files) as engine:
        statement = read_statement(engine, sql)
        for name, folder in folders.items():
            engine.table(name, folder_table(folder))
        topics = [one for one in statement.tables if one.topic not in folders]
        if topics:
            _add_topics(engine, statement, topics, _Wish(dial, from_, to, registry, sample_))
        print_answer(output, *engine.answer(sql))


class _Wish(NamedTuple):
    """How topics are to be read."""

    dial: Callable[[], Client]
    from_: str
    to: str | None
    registry: str | None
    sample: int


def _add_topics(engine: Engine, statement: Statement, tables: list[Table], wish: _Wish) -> None:
    """Each as a stream of records, and a view of it with the fields of the values, where one may be wanted."""
    columns, with_fields = _columns(statement)
    with wish.dial() as client:
        for table in tables:
            source = f"{table.topic} records"
            found = range_of(client, table.topic, wish.from_, wish.to)
            engine.table(source, TopicTable(found, columns, wish.dial, wish.registry, engine.failures))
            values = sample(client, found, wish.sample, value_reader(wish.registry)) if with_fields else ()
            _add_view(engine, table, view(source, columns, fields_of(values)))


def _columns(statement: Statement) -> tuple[list[str], bool]:
    """Those that the statement names. A name that no record has may be a field of the value."""
    with_fields = statement.wants_all or not statement.columns <= set(BASE)
    named = [column for column in BASE if statement.wants(column) or (with_fields and column == "value")]
    # A count needs rows, whatever stands in them.
    return named or ["offset"], with_fields


def _add_view(engine: Engine, table: Table, select: str) -> None:
    name = quoted(table.name)
    if table.schema:
        engine.run(f"CREATE SCHEMA IF NOT EXISTS {quoted(table.schema)}")
        name = f"{quoted(table.schema)}.{name}"
    engine.run(f"CREATE VIEW {name} AS {select}")
