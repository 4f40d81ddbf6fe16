"""`penstock cluster quorum`: who keeps the metadata, and how far behind they are."""

from __future__ import annotations

from typing import Any

from penstock.cli.output import Output, print_facts, print_json, print_table
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.talk import Refused
from penstock.client.metadata import NO_NODE
from penstock.client.quorum import Member, Quorum, known_quorum

COLUMNS = ("node", "role", "address", "end offset", "lag", "last caught up", "last fetch")


def quorum(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, output: OutputOption = Output.TABLE, timeout: Timeout = TIMEOUT_SECONDS
) -> None:
    """Show the leader of the metadata log, its voters and its observers."""
    with connect(bootstrap, timeout) as client, client.within(timeout):
        client.retry(lambda: client.refresh(()))
        found = known_quorum(client)
    if found.leader == NO_NODE:
        raise Refused("no controller answers", "a majority of them must run: see `penstock cluster health`")
    facts = {"leader": found.leader, "epoch": found.epoch, "high_watermark": found.high_watermark}
    if output is Output.JSON:
        print_json(facts | {"voters": _all(found, found.voters), "observers": _all(found, found.observers)})
        return
    print_facts(output, facts)
    print()
    rows = [_row(found, member, "voter") for member in found.voters]
    rows += [_row(found, member, "observer") for member in found.observers]
    print_table(COLUMNS, rows)


def _all(found: Quorum, members: tuple[Member, ...]) -> list[dict[str, Any]]:
    return [
        {
            "node": member.node_id,
            "addresses": list(member.addresses),
            "end_offset": member.end_offset,
            "lag": found.lag(member),
            "last_caught_up_ms": found.behind_ms(member),
            "last_fetch_timestamp": member.fetched_ms,
        }
        for member in members
    ]


def _row(found: Quorum, member: Member, role: str) -> tuple[Any, ...]:
    fetched_ms = None if member.fetched_ms < 0 else max(found.now_ms - member.fetched_ms, 0)
    return (
        member.node_id,
        "leader" if member.node_id == found.leader and role == "voter" else role,
        ", ".join(member.addresses) or None,
        member.end_offset,
        found.lag(member),
        ago(found.behind_ms(member)),
        ago(fetched_ms),
    )


def ago(duration_ms: int | None) -> str | None:
    """A time span as people say it."""
    if duration_ms is None:
        return None
    return f"{duration_ms} ms ago" if duration_ms < 1_000 else f"{duration_ms / 1_000:.1f} s ago"
