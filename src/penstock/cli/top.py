"""`penstock top`: how busy a cluster is, live: rates, lag, latency, and who is busiest."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import Annotated, Any, Final

import typer

from penstock.cli.arguments import at_least
from penstock.cli.output import Output, json_text, print_json
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
from penstock.cli.talk import say
from penstock.cli.top_tables import lines
from penstock.client.errors import ClientError
from penstock.client.pulse.look import Look, Watcher
from penstock.client.pulse.rates import Pulse, pulse_of
from penstock.core.base.shown import shown

INTERVAL_SECONDS: Final = 2.0
ROWS: Final = 10
PIPED_COLUMNS: Final = 120
"""As wide as a line is that nobody sees at a terminal."""


def top(
    interval: Annotated[
        float, typer.Option("--interval", metavar="SECONDS", callback=check_timeout, help="Between two looks.")
    ] = INTERVAL_SECONDS,
    once: Annotated[bool, typer.Option("--once", help="Two looks, one answer, and no more.")] = False,
    rows: Annotated[
        int, typer.Option("--rows", metavar="N", callback=at_least(1), help="Of topics, groups and clients.")
    ] = ROWS,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Show rates, lag, latency and who is busiest, until ctrl-c. Brokers of Kafka tell offsets only."""
    with connect(bootstrap, timeout) as client:
        watcher = Watcher(client)
        first = watcher.look()
        if once:
            time.sleep(interval)
            _print(pulse_of(first, watcher.look()), output, rows, indent=True)
        elif output is Output.TABLE and is_for_a_terminal():
            _live(watcher, first, interval, rows)
        else:
            _watch(watcher, first, interval, lambda pulse: _print(pulse, output, rows, indent=False))


def _print(pulse: Pulse, output: Output, rows: int, *, indent: bool) -> None:
    if output is Output.TABLE:
        print("\n".join(map(_clean, lines(pulse, _width(), rows))), flush=True)
    elif indent:
        print_json(facts(pulse, rows))
    else:
        print(json_text(facts(pulse, rows)), flush=True)


def facts(pulse: Pulse, rows: int) -> dict[str, Any]:
    lists = {name: [each._asdict() for each in getattr(pulse, name)[:rows]] for name in ("topics", "groups", "clients")}
    return {**pulse._asdict(), "brokers": [each._asdict() for each in pulse.brokers], **lists}


def _width() -> int:
    return shutil.get_terminal_size().columns if is_for_a_terminal() else PIPED_COLUMNS


def _clean(line: str) -> str:
    return shown(line) if is_for_a_terminal() else line


def _live(watcher: Watcher, first: Look, interval: float, rows: int) -> None:
    """In the place of the screen, which is there again at the end."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(highlight=False)
    with Live(console=console, screen=True, auto_refresh=False) as live:

        def draw(text: str) -> None:
            live.update(Text(text, no_wrap=True, overflow="crop"), refresh=True)

        draw("looking ...")

        def show(pulse: Pulse) -> None:
            found = map(_clean, lines(pulse, console.width, rows))
            draw("\n".join(list(found)[: console.height]))

        _watch(watcher, first, interval, show, draw)


def _watch(
    watcher: Watcher,
    first: Look,
    interval: float,
    show: Callable[[Pulse], None],
    tell: Callable[[str], None] = say,
) -> None:
    """Brokers come and go: while nobody answers, that is what is shown."""
    before = first
    while True:
        time.sleep(interval)
        try:
            after = watcher.look()
        except ClientError as failure:
            if not failure.is_absence:
                raise
            tell(f"{failure}; looking again every {interval:g} s")
            continue
        show(pulse_of(before, after))
        before = after
