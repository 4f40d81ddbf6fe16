"""`penstock doctor`: what is wrong with a cluster, or will be, with what was seen and the command that helps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from penstock.cli.cluster_health import look_at_health
from penstock.cli.output import Output, print_json
from penstock.cli.session import (
    DEFAULT_BOOTSTRAP,
    TIMEOUT_SECONDS,
    Bootstrap,
    OutputOption,
    Timeout,
    check_timeout,
    connect,
)
from penstock.cli.shown import is_for_a_terminal
from penstock.cli.talk import FAILED, say
from penstock.client.checkup.checks import CHECKS, diagnose
from penstock.client.checkup.finding import Finding
from penstock.client.checkup.gathering import LOOKS, gather
from penstock.client.node_metrics import clocks_ms
from penstock.core.base.shown import shown

WINDOW_SECONDS: Final = 3.0


def doctor(
    window: Annotated[
        float,
        typer.Option("--window", metavar="SECONDS", callback=check_timeout, help="How long groups are looked at."),
    ] = WINDOW_SECONDS,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Say what is wrong with a cluster, or will be, and what helps; exits with 1 if there is anything."""
    with connect(bootstrap, timeout) as client:
        look = look_at_health(client)
        clocks = clocks_ms(client, look.brokers)

        def rest() -> None:
            time.sleep(window / (LOOKS - 1))

        facts = gather(client, look.found, look.topics, look.brokers, clocks, rest)
    found = diagnose(facts)
    if output is Output.JSON:
        print_json({"healthy": not found, "findings": [_fact(each) for each in found]})
    else:
        _print(found)
    if found:
        raise typer.Exit(FAILED)


def _fact(finding: Finding) -> dict[str, str]:
    return {**finding._asdict(), "severity": finding.severity.value}


def _print(found: Sequence[Finding]) -> None:
    clean = shown if is_for_a_terminal() else str
    for each in found:
        print(clean(f"{each.severity.value}: {each.about}: {each.evidence} [{each.check}]"))
        print(clean(f"    {each.fix}"), flush=True)
    if not found:
        say(f"nothing is wrong that {len(CHECKS)} checks could see")
