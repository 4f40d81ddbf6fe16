"""`penstock audit run` and `report`: count what brokers keep and what pipelines wrote, and say whether it adds up."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from penstock.cli.output import Output, print_json, print_table
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.talk import Refused, say
from penstock.client.audit.book import Book
from penstock.client.audit.logs import Log, audited_topics, count_topic
from penstock.client.audit.metrics import write_metrics
from penstock.client.audit.page import page
from penstock.client.audit.sinks import sums

BOOK: Final = Path("penstock-audit.db")
LOG_COLUMNS: Final = ("partition", "from", "to", "new records", "verdict")
SUM_COLUMNS: Final = ("pipeline", "what", "where", "told", "found", "verdict")

BookOption = Annotated[Path, typer.Option("--book", metavar="FILE", help="Where counts are kept, outside the cluster.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also as a page with plots, in one file.")]


def run(
    topics: Annotated[list[str] | None, typer.Argument(metavar="[TOPIC...]", help="All of users' without any.")] = None,
    book: BookOption = BOOK,
    only_new: Annotated[
        bool, typer.Option("--only-new", help="Do not count again what the book has; only that it is still there.")
    ] = False,
    html: Html = None,
    metrics: Annotated[
        Path | None, typer.Option("--metrics", metavar="FILE", help="Also as metrics, for a textfile collector.")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Count logs and sinks, hold them against the book and each other; exit code 1 where something is missing,
    doubled, swapped or changed."""
    with connect(bootstrap, timeout) as client:
        chosen = topics or audited_topics(client)
        for topic in chosen:
            client.topic(topic)
        with Book(book) as kept:
            logs = [log for topic in chosen for log in count_topic(client, topic, kept, is_only_new=only_new)]
            facts = _facts(logs, [] if topics else [one._asdict() | {"adds_up": one.adds_up} for one in sums(client)])
            kept.keep(facts["at_ms"], facts)
    if metrics is not None:
        write_metrics(metrics, facts)
    _end(facts, book, html, output)


def report(book: BookOption = BOOK, html: Html = None, output: OutputOption = Output.TABLE) -> None:
    """Show what the newest run found, without a cluster; exit code 1 as there."""
    with Book(book, is_made=False) as kept:
        facts = kept.newest()
    if facts is None:
        raise Refused(f"nothing was counted into {book} yet", "penstock audit run")
    _end(facts, book, html, output)


def _facts(logs: list[Log], found: list[dict[str, Any]]) -> dict[str, Any]:
    """A run as the book keeps it, and as JSON is printed."""
    gaps = [{**gap._asdict(), "where": str(gap.where)} for log in logs for gap in log.gaps]
    return {
        "at_ms": int(time.time() * 1000),
        "adds_up": not gaps and all(one["adds_up"] for one in found),
        "partitions": [
            {
                "partition": str(log.where),
                "first": log.first,
                "end": log.end,
                "new_records": log.records,
                "gaps": len(log.gaps),
                "is_compacted": log.is_compacted,
            }
            for log in logs
        ],
        "gaps": gaps,
        "sums": found,
    }


def _end(facts: dict[str, Any], book: Path, html: Path | None, output: Output) -> None:
    if html is not None:
        with Book(book, is_made=False) as kept:
            html.write_text(page(facts, list(kept.minutes())), encoding="utf-8")
    if output is Output.JSON:
        print_json(facts)
    else:
        _print(facts)
    if not facts["adds_up"]:
        raise typer.Exit(1)


def _print(facts: dict[str, Any]) -> None:
    print_table(LOG_COLUMNS, [_log_row(each) for each in facts["partitions"]])
    if facts["sums"]:
        print()
        print_table(SUM_COLUMNS, [_sum_row(each) for each in facts["sums"]])
    for gap in facts["gaps"]:
        say(f"{gap['kind']}: {gap['where']} [{gap['first']}, {gap['end']}): {gap['why']}")
    say("it adds up" if facts["adds_up"] else "it does NOT add up")


def _log_row(log: dict[str, Any]) -> tuple[Any, ...]:
    verdict = f"{log['gaps']} gaps" if log["gaps"] else "compacted: only its end" if log["is_compacted"] else "whole"
    return (log["partition"], log["first"], log["end"], log["new_records"], verdict)


def _sum_row(one: dict[str, Any]) -> tuple[Any, ...]:
    verdict = "not counted" if one["found"] is None else "adds up" if one["adds_up"] else "DIFFERS"
    note = f"{verdict}: {one['note']}" if one["note"] else verdict
    return (one["pipeline"], one["what"], one["where"], one["told"], one["found"], note)
