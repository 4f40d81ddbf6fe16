"""The lines of a table, in which no word is cut in two, however narrow the terminal is.

A cell that is too wide is folded where it has gaps: at blanks, behind commas, before the slashes of a path. What has
none and is wider than its column, such as the name of a setting, has its line for itself, and the row goes on below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

GAP: Final = "   "
RULE: Final = "─"
_PIECE = re.compile(r"[^\s,]*,\s*|[^\s,]+\s*")
_PATH_PIECE = re.compile(r"/[^/]*")


def table_lines(
    headings: Sequence[str], rows: Sequence[Sequence[str]], to_the_right: Sequence[bool], width: int | None
) -> list[str]:
    """Headings, a rule, and the rows; a width of None is that of the widest row."""
    widths = _widths([headings, *rows], width)
    table = _Table(widths, to_the_right)
    rule = RULE * (sum(widths) + len(GAP) * (len(widths) - 1))
    return [*table.lines(headings), rule, *(line for row in rows for line in table.lines(row))]


class _Table:
    def __init__(self, widths: Sequence[int], to_the_right: Sequence[bool]) -> None:
        self._widths = widths
        self._to_the_right = to_the_right

    def lines(self, row: Sequence[str]) -> Iterator[str]:
        """One row. Where a cell reaches beyond its column the cells behind it begin on the next line."""
        begin = 0
        folded = [_folded(cell, width) for cell, width in zip(row, self._widths, strict=True)]
        for index, (cell, width) in enumerate(zip(folded, self._widths, strict=True)):
            if max(map(len, cell)) > width:
                yield from self._side_by_side(folded, begin, index + 1)
                begin = index + 1
        if begin < len(folded):
            yield from self._side_by_side(folded, begin, len(folded))

    def _side_by_side(self, folded: Sequence[Sequence[str]], begin: int, end: int) -> Iterator[str]:
        before = [" " * width for width in self._widths[:begin]]
        for parts in zip_longest(*folded[begin:end], fillvalue=""):
            cells = (self._placed(begin + index, part) for index, part in enumerate(parts))
            yield GAP.join([*before, *cells]).rstrip()

    def _placed(self, index: int, part: str) -> str:
        width = self._widths[index]
        return part.rjust(width) if self._to_the_right[index] else part.ljust(width)


def _widths(rows: Sequence[Sequence[str]], width: int | None) -> list[int]:
    """As wide as the widest cells; or as narrow as pieces allow, and what room is left goes to who lacks most."""
    columns = list(zip(*rows, strict=True))
    natural = [max(map(len, column)) for column in columns]
    room = sum(natural) if width is None else width - len(GAP) * (len(columns) - 1)
    if sum(natural) <= room:
        return natural
    widths = [max(len(piece) for cell in column for piece in _pieces(cell)) for column in columns]
    floors = [max(map(len, _pieces(heading))) for heading in rows[0]]
    while (over := sum(widths) - room) > 0 and widths != floors:
        # Cells of the widest column hang over.
        widest = max(range(len(widths)), key=lambda index: (widths[index] > floors[index], widths[index]))
        widths[widest] = max(floors[widest], widths[widest] - over)
    for _ in range(room - sum(widths)):
        neediest = max(range(len(widths)), key=lambda index: natural[index] / widths[index])
        widths[neediest] += 1
    return widths


def _folded(cell: str, width: int) -> list[str]:
    """The lines of a cell: each has as many pieces as there is room for, and at least one."""
    lines = [""]
    for piece in _pieces_as_they_are(cell):
        if lines[-1] and len((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def _pieces(cell: str) -> list[str]:
    """What of a cell is not to be cut; never none."""
    return [piece.rstrip() for piece in _pieces_as_they_are(cell)] or [""]


def _pieces_as_they_are(cell: str) -> list[str]:
    pieces = _PATH_PIECE if cell.startswith("/") else _PIECE
    return pieces.findall(cell)
