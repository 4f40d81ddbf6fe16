"""The live view: what the shop takes in and how far each branch is, as its run says in the registry of pipelines.

On a terminal it is redrawn in place, below the lines that tell the story; elsewhere it is a line now and then.
"""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from examples.orders.story.shop import Shop
from penstock.client.pipeline_runs import Registry, Run, State

REDRAW_S = 0.5
LINE_EVERY_S = 10.0
STYLES = {State.RUNNING: "green", State.STARTING: "yellow", State.LOST: "bold red", State.FAILED: "bold red"}


class View:
    """Use as a context manager; `draw` as often as you like."""

    def __init__(self, console: Console, shop: Shop, registry: Registry, branches: tuple[str, ...]) -> None:
        self._console, self._shop, self._registry, self._branches = console, shop, registry, branches
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._begun = self._line_at = time.monotonic()

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def tell(self, text: str) -> None:
        """One line of the story, with the time since it began."""
        self._console.print(f"[dim]{time.monotonic() - self._begun:5.1f} s[/]  {text}", highlight=False, soft_wrap=True)

    def draw(self) -> None:
        if self._console.is_terminal:
            self._live.update(self._table(self.runs()), refresh=True)
        elif time.monotonic() - self._line_at > LINE_EVERY_S:
            self._line_at = time.monotonic()
            self.tell(self._line(self.runs()))

    def runs(self) -> dict[str, Run]:
        """The newest run of each branch that ever ran, as it is now."""
        now_ms = int(time.time() * 1000)
        return {name: run.seen_at(now_ms) for name, run in self._registry.read().runs.items()}

    def _table(self, runs: dict[str, Run]) -> Table:
        title = f"{self._shop.acknowledged:,} orders acknowledged, {self._shop.per_minute:,} a minute"
        table = Table("branch", "state", "batch", "rows", "rows/s", "behind", "dead letters", title=title)
        for name in self._branches:
            table.add_row(name, *_cells(runs[name]) if name in runs else ("[dim]not there[/]",))
        return table

    def _line(self, runs: dict[str, Run]) -> str:
        shown = [(name, runs[name]) for name in self._branches if name in runs]
        states = ", ".join(f"{name} {run.state} at {run.rows:,}" for name, run in shown)
        return f"[dim]{self._shop.acknowledged:,} orders: {states}[/]"


def _cells(run: Run) -> tuple[str, ...]:
    style = STYLES.get(run.state, "dim")
    lag = "" if run.lag is None else f"{run.lag:,}"
    numbers = (str(run.batch or 0), f"{run.rows:,}", f"{run.rows_per_second:,.0f}", lag, f"{run.dead_letters:,}")
    return (f"[{style}]{run.state}[/]", *numbers)
