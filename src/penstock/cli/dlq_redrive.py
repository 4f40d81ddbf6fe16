"""`penstock dlq redrive`: dead letters go back into the topics that they came from, each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Final

import typer

from penstock.cli import completion
from penstock.cli.arguments import at_least
from penstock.cli.dlq_choice import FromTime, LetterTopic, Origin, Reason, ToTime, choice_of
from penstock.cli.output import Output, print_rows
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, Execute, OutputOption, Timeout, connect
from penstock.cli.talk import Refused, say
from penstock.client.blocking import Client
from penstock.client.dead_letters import Choice, Found, Redrive, letters, read_redriven, spans, where_of
from penstock.client.errors import ClientError
from penstock.client.transactional import FENCED
from penstock.core.delivery.redriven import Redriven

COLUMNS: Final = ("into", "reason", "letters")
RATE_MAX: Final = 1_000_000

Kinds = Counter[tuple[str, str]]


def redrive(
    topic: LetterTopic,
    reason: Reason = None,
    origin: Origin = None,
    from_: FromTime = None,
    to: ToTime = None,
    at: Annotated[
        list[str] | None, typer.Option(metavar="PARTITION:OFFSET", help="Only this letter; may be repeated.")
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC", help="Into this topic, and not where they came from.", autocompletion=completion.topics
        ),
    ] = None,
    rate: Annotated[
        int | None,
        typer.Option(metavar="N", callback=at_least(1, RATE_MAX), help="At most so many letters per second."),
    ] = None,
    execute: Execute = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Bring dead letters back into the topics that they came from, each once: shows how many unless --execute is
    given. It may be ended at any time, and goes on where it was when it is called again."""
    choice = choice_of(reason, origin, from_, to, at)
    if into == topic:
        raise typer.BadParameter("letters do not go back into the topic that they are in", param_hint="--into")
    with connect(bootstrap, timeout) as client:
        targets = _Targets(client, into)
        if execute:
            counts = _execute(client, topic, choice, targets, rate)
        else:
            counts = Counter(map(targets.kind, _chosen(client, topic, choice, read_redriven(client), targets)))
    print_rows(output, COLUMNS, [(*kind, count) for kind, count in sorted(counts.items())])
    targets.say_lost()
    if not counts:
        say("there is nothing to bring back")
    else:
        say("the letters are back" if execute else "nothing is brought back yet: add --execute to do it")


class _Targets:
    """Into which topic a letter goes, and whether that is there."""

    def __init__(self, client: Client, into: str | None) -> None:
        self._client = client
        self.into = into
        self._known = {each.name for each in client.topics()}
        self._lost: Counter[str] = Counter()
        if into is not None and into not in self._known:
            raise Refused(f"there is no topic {into}", "create it: penstock topic create, or choose another one")

    def has(self, found: Found) -> bool:
        name = self._name(found)
        if name in self._known:
            return True
        self._lost["" if found.letter is None else name] += 1
        return False

    def kind(self, found: Found) -> tuple[str, str]:
        return self._name(found), "-" if found.letter is None else found.letter.reason

    def say_lost(self) -> None:
        for name, count in self._lost.items():
            what = f"came from {name}, which is gone" if name else "do not say where they came from"
            say(f"{count} letters {what}: --into TOPIC brings them elsewhere")

    def _name(self, found: Found) -> str:
        return self.into or ("" if found.letter is None else found.letter.topic)


def _chosen(client: Client, topic: str, choice: Choice, redriven: Redriven, targets: _Targets) -> Iterator[Found]:
    """The letters that are meant, can go somewhere, and are not back already."""
    for found in letters(client, choice, spans(client, topic)):
        is_back = redriven.has(where_of(client, found.where), found.record.offset)
        if not is_back and targets.has(found):
            yield found


def _execute(client: Client, topic: str, choice: Choice, targets: _Targets, rate: int | None) -> Kinds:
    counts: Kinds = Counter()
    total = 0

    def counted(each: Found) -> Found:
        counts[targets.kind(each)] += 1
        return each

    def done(count: int) -> None:
        nonlocal total
        total += count
        say(f"{total} letters are back")

    run = Redrive(client, topic, into=targets.into, rate=rate)
    try:
        redriven = run.begin()
        run.bring_back(map(counted, _chosen(client, topic, choice, redriven, targets)), done)
    except ClientError as failure:
        if failure.code in FENCED:
            raise Refused(
                f"somebody else began to bring back the letters of {topic}, and took over",
                "let that one end; nothing is brought back twice",
            ) from None
        raise
    return counts
