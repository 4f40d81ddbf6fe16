"""The cluster at a glance: a row for each topic, a column for each broker, and in it a mark for each partition.

Sick topics come first, and healthy ones beyond a bound are only counted, so that the map of a large cluster fits."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from penstock.client.health import State, state_of
from penstock.client.metadata import TopicView

if TYPE_CHECKING:
    from rich.text import Text

MARKS: Final = {
    State.LEADER: ("●", "green"),
    State.IN_SYNC: ("○", "green"),
    State.OUT_OF_SYNC: ("▲", "yellow"),
    State.OFFLINE: ("✗", "bold red"),
    State.NONE: ("·", "bright_black"),
}
GROUP: Final = 10
"""Partitions between two gaps, so that the eye can count."""
STRIP_WIDTH_MIN: Final = GROUP
NAME_WIDTH_MAX: Final = 32
COUNT_WIDTH: Final = 13
GAP: Final = 3
TOPICS_MAX: Final = 40
PIPED_WIDTH: Final = 10_000
"""A map that is piped somewhere has no edge to be cut at."""


def print_map(
    topics: Sequence[TopicView], brokers: Sequence[int], alive: Collection[int], sick: Collection[str], rows_max: int
) -> None:
    """Draw all topics, or as many as `rows_max` allows."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    shown = sorted(topics, key=lambda topic: (topic.name not in sick, topic.name))[:rows_max]
    console = Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False)
    names = min(NAME_WIDTH_MAX, max(len(topic.name) for topic in shown))
    columns = console.width if sys.stdout.isatty() else _columns()
    width = max(STRIP_WIDTH_MIN, (columns - names - COUNT_WIDTH) // len(brokers) - GAP)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("topic", overflow="fold", max_width=NAME_WIDTH_MAX)
    table.add_column("partitions", justify="right")
    for broker in brokers:
        table.add_column(f"broker {broker}", no_wrap=True, style=None if broker in alive else "red")
    for topic in shown:
        table.add_row(
            topic.name, str(len(topic.partitions)), *(_strip(topic, broker, alive, width) for broker in brokers)
        )
    with console.capture() as drawing:
        console.print(table)
        console.print(_legend(), style="dim")
        if left := len(topics) - len(shown):
            console.print(f"{left} more topics, all of them well: --all shows them", style="dim")
    print(drawing.get(), end="", flush=True)


def _strip(topic: TopicView, broker: int, alive: Collection[int], width: int) -> Text:
    from rich.text import Text

    text = Text()
    groups_per_line = max(1, (width + 1) // (GROUP + 1))
    for index, partition in enumerate(topic.partitions):
        if index and index % GROUP == 0:
            text.append("\n" if index // GROUP % groups_per_line == 0 else " ")
        text.append(*MARKS[state_of(broker, partition, alive)])
    return text


def _columns() -> int:
    found = os.environ.get("COLUMNS", "")
    return int(found) if found.isdecimal() else 120


def _legend() -> str:
    return "  ".join(f"{mark} {state.value}" for state, (mark, _) in MARKS.items())
