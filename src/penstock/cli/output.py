"""How results are printed: a table for people, JSON for programs. Both go to stdout, and nothing else does."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from penstock.cli.shown import is_for_a_terminal
from penstock.cli.table_lines import RULE, table_lines
from penstock.core.base.shown import shown

# JSON itself escapes the other control characters.
_C1 = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Output(StrEnum):
    """What `--output` takes."""

    TABLE = "table"
    JSON = "json"


def print_json(value: Any) -> None:
    print(json_text(value, indent=2), flush=True)


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON, in which a terminal finds no escape code: what could be one is written as JSON writes it."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return _C1.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Rows under headings; numbers to the right, None as a dash. Without rows nothing, and no headings either."""
    shown_rows = [list(row) for row in rows]
    if not shown_rows:
        return
    to_the_right = [_is_of_numbers(column) for column in zip(*shown_rows, strict=True)]
    cells = [["-" if cell is None else _cell(cell) for cell in row] for row in shown_rows]
    if is_for_a_terminal():
        _print_at_a_terminal(columns, cells, to_the_right)
    else:
        # What is piped somewhere has no edge to be folded at.
        print("\n".join(table_lines(columns, cells, to_the_right, None)), flush=True)


def _is_of_numbers(column: Sequence[Any]) -> bool:
    known = [cell for cell in column if cell is not None]
    return bool(known) and all(isinstance(cell, int | float) for cell in known)


def _print_at_a_terminal(columns: Sequence[str], cells: Sequence[Sequence[str]], to_the_right: Sequence[bool]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    lines = table_lines(columns, cells, to_the_right, console.width)
    rule = next(index for index, line in enumerate(lines) if line.startswith(RULE))
    with console.capture() as drawing:
        for index, line in enumerate(lines):
            console.print(Text(line, "bold" if index < rule else ""), soft_wrap=True)
    # Rich has ideas of its own about a reader that has gone: it only draws, and the drawing is printed as all else is.
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
        print(f"{name.replace('_', ' '):<{width}}  {'-' if value is None else _cell(value)}", flush=True)


def _cell(value: Any) -> str:
    return shown(str(value)) if is_for_a_terminal() else str(value)


def bytes_text(count: int) -> str:
    """A number of bytes as people say it."""
    size, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
