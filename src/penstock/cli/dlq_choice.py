"""Which dead letters are meant: by why they are here, by where they came from, by when they were written."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

import typer

from penstock.cli import completion
from penstock.cli.arguments import timestamp_ms
from penstock.client.dead_letters import Choice

LetterTopic = Annotated[
    str, typer.Argument(metavar="TOPIC", help="A topic of dead letters.", autocompletion=completion.topics)
]
Reason = Annotated[
    str | None, typer.Option(metavar="CLASS", help="Only letters of this reason, as `dlq list` names it.")
]
Origin = Annotated[str | None, typer.Option(metavar="TOPIC", help="Only letters that came from this topic.")]
FromTime = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="Only letters written since then: 2026-01-31T12:00, or 2h ago."),
]
ToTime = Annotated[str | None, typer.Option("--to", metavar="TIME", help="Only letters written before then.")]


def choice_of(
    reason: str | None, origin: str | None, from_: str | None, to: str | None, at: Iterable[str] | None = None
) -> Choice:
    now = datetime.now()
    return Choice(
        reason,
        origin,
        _moment(from_, "--from", now),
        _moment(to, "--to", now),
        frozenset(position(each, "--at") for each in at) if at else None,
    )


def _moment(text: str | None, option: str, now: datetime) -> int | None:
    if text is None:
        return None
    moment = timestamp_ms(text, now)
    if moment is None:
        raise typer.BadParameter(f"{text!r} is no time, such as 2026-01-31T12:00 or 2h", param_hint=option)
    return moment


def position(text: str, option: str) -> tuple[int, int]:
    """`0:15`: the letter at offset 15 of partition 0."""
    partition, colon, offset = text.partition(":")
    if not colon or not partition.isdecimal() or not offset.isdecimal():
        raise typer.BadParameter(f"{text!r} is not PARTITION:OFFSET, such as 0:15", param_hint=option)
    return int(partition), int(offset)
