"""`penstock dlq`: records that could not be handled, why, and back with them into the topics that they came from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from penstock.cli import completion
from penstock.cli.arguments import time_text
from penstock.cli.dlq_choice import FromTime, Origin, Reason, ToTime, choice_of
from penstock.cli.dlq_purge import purge
from penstock.cli.dlq_redrive import redrive
from penstock.cli.dlq_show import show
from penstock.cli.output import Output, print_rows
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.talk import say
from penstock.client.blocking import Client
from penstock.client.dead_letters import Choice, Found, letters, read_redriven, spans, topics_of_letters, where_of
from penstock.core.delivery.redriven import Redriven

app = typer.Typer(help="Look at dead letters, bring them back, or let them go.", no_args_is_help=True)

COLUMNS: Final = ("dead letters", "reason", "origin", "letters", "redriven", "oldest", "newest")
NO_REASON: Final = "-"


@dataclass(slots=True)
class Count:
    """The letters of one reason and origin in one topic."""

    letters: int = 0
    redriven: int = 0
    oldest_ms: int = 1 << 63
    newest_ms: int = -1

    def add(self, timestamp_ms: int, is_back: bool) -> None:
        self.letters += 1
        self.redriven += is_back
        self.oldest_ms = min(self.oldest_ms, timestamp_ms)
        self.newest_ms = max(self.newest_ms, timestamp_ms)


@app.command("list")
def list_(
    topics: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TOPIC]...", help="Topics of dead letters; all that end in .dlq.", autocompletion=completion.topics
        ),
    ] = None,
    reason: Reason = None,
    origin: Origin = None,
    from_: FromTime = None,
    to: ToTime = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Count dead letters by reason and by the topic that they came from."""
    choice = choice_of(reason, origin, from_, to)
    with connect(bootstrap, timeout) as client:
        names = topics or topics_of_letters(client)
        redriven = read_redriven(client)
        rows = [row for name in names for row in _rows(client, name, choice, redriven)]
    if not rows and output is Output.TABLE:
        say("there are no such dead letters" if names else "there is no topic of dead letters: none ends in .dlq")
        return
    print_rows(output, COLUMNS, rows)


def _rows(client: Client, topic: str, choice: Choice, redriven: Redriven) -> Iterable[tuple[object, ...]]:
    counts: dict[tuple[str, str], Count] = {}
    for found in letters(client, choice, spans(client, topic)):
        is_back = redriven.has(where_of(client, found.where), found.record.offset)
        counts.setdefault(_kind(found), Count()).add(found.record.timestamp, is_back)
    for (why, whence), count in sorted(counts.items()):
        oldest, newest = time_text(count.oldest_ms), time_text(count.newest_ms)
        yield topic, why, whence, count.letters, count.redriven, oldest, newest


def _kind(found: Found) -> tuple[str, str]:
    """Why it is here, and from where; a record that does not say so has neither."""
    return (NO_REASON, NO_REASON) if found.letter is None else (found.letter.reason, found.letter.topic)


app.command("show")(show)
app.command("redrive")(redrive)
app.command("purge")(purge)
