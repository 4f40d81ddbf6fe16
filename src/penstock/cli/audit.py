"""`penstock audit trail`: who changed what, and who was refused, as nodes keep it in a topic of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Final

import typer

from penstock.cli import audit_counts
from penstock.cli.arguments import timestamp_ms
from penstock.cli.output import Output, json_text
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.talk import Refused, say
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import NO_OFFSET, edges, list_offsets
from penstock.client.reading import Reader
from penstock.core.base.errors import ErrorCode

app = typer.Typer(help="Who changed what, and whether what was written is there.", no_args_is_help=True)

TRAIL: Final = TopicPartition("__penstock_audit", 0)
AGAIN_S: Final = 1.0
EVENTS: Final = ("change", "refused", "authentication")

app.command("run")(audit_counts.run)
app.command("report")(audit_counts.report)


@app.command()
def trail(
    since: Annotated[str, typer.Option(metavar="TIME", help="From then on: 2026-01-31T12:00, or 15m ago.")] = "",
    principal: Annotated[str | None, typer.Option(metavar="USER", help="Only what this user did: alice.")] = None,
    api: Annotated[str | None, typer.Option(metavar="NAME", help="Only this kind of request: DeleteTopics.")] = None,
    event: Annotated[str | None, typer.Option(help="Only these: change, refused, authentication.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more at the end.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Print the audit trail, a line for each event; `penstock.audit.enable` switches it on."""
    if event is not None and event not in EVENTS:
        raise typer.BadParameter(f"{event!r} is none of {', '.join(EVENTS)}", param_hint="--event")
    wanted = {"principal": principal and f"User:{principal}", "api": api, "event": event}
    with connect(bootstrap, timeout) as client:
        for found in _events(client, since, follow):
            if all(value is None or found.get(key) == value for key, value in wanted.items()):
                print(json_text(found) if output is Output.JSON else _line(found), flush=follow)


def _events(client: Client, since: str, follow: bool) -> Iterator[dict[str, Any]]:
    first, end = _edges(client, follow)
    if since:
        moment = timestamp_ms(since, datetime.now())
        if moment is None:
            raise typer.BadParameter(f"{since!r} is no time", param_hint="--since")
        offset, _ = list_offsets(client, {TRAIL: moment})[TRAIL]
        first = end if offset == NO_OFFSET else offset
    if first >= end and not follow:
        say("nothing is on record")
        return
    reader = Reader(client, {TRAIL: first}, until=None if follow else {TRAIL: end})
    for chunk in reader:
        for record in chunk.records:
            yield json.loads(record.value or b"{}")


def _edges(client: Client, follow: bool) -> tuple[int, int]:
    """Where the trail begins and ends. It comes into being with the first event, for which --follow waits."""
    hint = "switch it on: penstock config alter --broker default --set penstock.audit.enable=true"
    is_told = False
    while True:
        try:
            return edges(client, [TRAIL])[TRAIL]
        except ClientError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
        if not follow:
            raise Refused("there is no audit trail in this cluster", hint)
        if not is_told:
            say(f"nothing is on record yet; if nothing ever comes, {hint}")
            is_told = True
        time.sleep(AGAIN_S)


def _line(event: dict[str, Any]) -> str:
    """For people: when, who, what, and what came of it."""
    names = "; ".join(" ".join(map(_shown, texts)) for texts in event.get("names", {}).values())
    result = event.get("result", "")
    said = ", ".join(result) if isinstance(result, list) else result
    times = f" ({event['times']} times)" if "times" in event else ""
    who = f"{event.get('principal', '')} at {event.get('address', '')}" if "principal" in event else ""
    parts = (event.get("time"), event.get("event"), who, event.get("api"), names, said)
    return "  ".join(_shown(str(part)) for part in parts if part) + times


def _shown(text: str) -> str:
    """Names come from clients: what is not to be printed is spelled out."""
    return "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in text)
