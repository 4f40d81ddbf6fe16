"""How an answer is printed: a table for people, an object or a line per row for programs."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from enum import StrEnum
from itertools import chain, islice
from typing import Any, Final

from penstock.cli.output import json_text, print_table
from penstock.cli.querying.rows import text_of
from penstock.cli.talk import close_stdout, say

TABLE_ROWS_MAX: Final = 1_000
"""A table is as wide as its widest cell, so that it is held as a whole."""
Pages = Iterable[Sequence[Sequence[Any]]]


class AnswerOutput(StrEnum):
    """What `--output` takes."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def print_answer(output: AnswerOutput, columns: Sequence[str], pages: Pages) -> None:
    """Row by row as they come, but for a table."""
    rows = chain.from_iterable(pages)
    try:
        match output:
            case AnswerOutput.JSON:
                for row in rows:
                    print(json_text({name: _plain(cell) for name, cell in zip(columns, row, strict=True)}))
            case AnswerOutput.CSV:
                _print_csv(columns, rows)
            case AnswerOutput.TABLE:
                _print_table(columns, rows)
        sys.stdout.flush()
    except BrokenPipeError:
        close_stdout()


def _print_csv(columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    write = csv.writer(sys.stdout, lineterminator="\n").writerow
    write(columns)
    for row in rows:
        write(_text(cell) for cell in row)


def _print_table(columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    print_table(columns, [[_cell(cell) for cell in row] for row in islice(rows, TABLE_ROWS_MAX)])
    if next(rows, None) is not None:
        say(f"penstock: there is more than these {TABLE_ROWS_MAX} rows; -o csv and -o json print all")


def _plain(cell: Any) -> Any:
    """A value as JSON has it."""
    match cell:
        case None | bool() | int() | float() | str():
            return cell
        case bytes():
            return text_of(cell)
        case Decimal():
            return int(cell) if cell == cell.to_integral_value() else float(cell)
        case datetime() | date() | time():
            return cell.isoformat()
        case dict():
            return {str(name): _plain(part) for name, part in cell.items()}
        case list() | tuple():
            return [_plain(part) for part in cell]
    return str(cell)


def _text(cell: Any) -> Any:
    plain = _plain(cell)
    return json.dumps(plain, ensure_ascii=False) if isinstance(plain, dict | list | bool) else plain


def _cell(cell: Any) -> Any:
    return cell if isinstance(cell, int | float) and not isinstance(cell, bool) else _text(cell)
