"""How results are printed: a table for people, JSON for programs. Both go to stdout, and nothing else does."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

# A table that is piped somewhere has no edge to be cut at.
PIPED_WIDTH = 10_000


class Output(StrEnum):
    """What `--output` takes."""

    TABLE = "table"
    JSON = "json"


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False), flush=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Rows under headings; numbers to the right, None as a dash."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = [list(row) for row in rows]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, column in enumerate(columns):
        cells = [row[index] for row in shown if row[index] is not None]
        numeric = bool(cells) and all(isinstance(cell, int | float) for cell in cells)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in shown:
        table.add_row(*(Text("-" if cell is None else str(cell)) for cell in row))
    width = None if sys.stdout.isatty() else PIPED_WIDTH
    console = Console(width=width, highlight=False)
    # Rich has ideas of its own about a reader that has gone: it only draws, and the drawing is printed as all else is.
    with console.capture() as drawing:
        console.print(table)
    print(drawing.get(), end="", flush=True)


def print_rows(output: Output, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A list of things: a table, or a JSON list of objects with the columns' names as keys."""
    if output is Output.JSON:
        keys = [column.replace(" ", "_") for column in columns]
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        print_table(columns, rows)


def print_facts(output: Output, facts: Mapping[str, Any]) -> None:
    """One thing: a JSON object, or a line for each fact."""
    if output is Output.JSON:
        print_json(facts)
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name.replace('_', ' '):<{width}}  {'-' if value is None else value}", flush=True)


def bytes_text(count: int) -> str:
    """A number of bytes as people say it."""
    size, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
