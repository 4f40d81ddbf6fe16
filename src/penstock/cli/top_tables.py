"""The tables of `penstock top`, as wide as there is room: what matters least goes first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from penstock.cli.output import bytes_text
from penstock.client.pulse.rates import Pulse

WIDE: Final = 100
MIDDLE: Final = 70
GAP: Final = 2


class Column(NamedTuple):
    """`least` is the width of a terminal that it is shown from."""

    title: str
    field: str
    shown: Callable[[Any], str]
    least: int = 0


class Table(NamedTuple):
    title: str
    columns: list[str]
    rows: list[list[str]]


def per_second(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.1f}"


def bytes_per_second(value: float | None) -> str:
    return "-" if value is None else bytes_text(int(value))


def signed(value: float) -> str:
    return "0" if abs(value) < 0.05 else f"{value:+,.0f}" if abs(value) >= 10 else f"{value:+.1f}"


def share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g} ms"


def number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


BROKERS: Final = (
    Column("broker", "broker", str),
    Column("address", "address", str, MIDDLE),
    Column("state", "state", str),
    Column("in/s", "bytes_in", bytes_per_second),
    Column("out/s", "bytes_out", bytes_per_second),
    Column("records/s", "records_in", per_second, MIDDLE),
    Column("requests/s", "requests", per_second, WIDE),
    Column("clients", "connections", number, WIDE),
    Column("busy", "busy", share),
    Column("p99", "produce_p99_ms", milliseconds, MIDDLE),
)
TOPICS: Final = (
    Column("topic", "topic", str),
    Column("partitions", "partitions", number, MIDDLE),
    Column("records/s", "records_in", per_second),
    Column("in/s", "bytes_in", bytes_per_second),
    Column("out/s", "bytes_out", bytes_per_second),
)
GROUPS: Final = (
    Column("group", "group", str),
    Column("state", "state", str, MIDDLE),
    Column("lag", "lag", number),
    Column("lag/s", "lag_change", signed),
    Column("read/s", "read", per_second),
)
CLIENTS: Final = (
    Column("client", "client", str),
    Column("connections", "connections", number, MIDDLE),
    Column("in/s", "bytes_in", bytes_per_second),
    Column("out/s", "bytes_out", bytes_per_second),
)


def tables(pulse: Pulse, width: int, rows_max: int) -> list[Table]:
    """Those that have rows. All brokers are shown: one that is away is what somebody looks for."""
    found = [
        _table("brokers", BROKERS, pulse.brokers, width),
        _table("topics", TOPICS, pulse.topics[:rows_max], width),
        _table("groups", GROUPS, pulse.groups[:rows_max], width),
        _table("clients", CLIENTS, pulse.clients[:rows_max], width),
    ]
    return [table for table in found if table.rows]


def _table(title: str, columns: Sequence[Column], things: Sequence[Any], width: int) -> Table:
    shown = [column for column in columns if column.least <= width]
    rows = [[column.shown(getattr(thing, column.field)) for column in shown] for thing in things]
    return Table(title, [column.title for column in shown], rows)


def headline(pulse: Pulse) -> str:
    away = sum(broker.state != "up" for broker in pulse.brokers)
    count = len(pulse.brokers)
    parts = [
        f"{count} broker{'' if count == 1 else 's'}" + (f", {away} away" if away else ""),
        "no controller" if pulse.controller is None else f"controller {pulse.controller}",
        f"{pulse.partitions} partitions",
        f"{pulse.leaderless} offline" if pulse.leaderless else "",
        f"{pulse.under_replicated} under-replicated" if pulse.under_replicated else "",
    ]
    return " · ".join(filter(None, parts))


def lines(pulse: Pulse, width: int, rows_max: int) -> list[str]:
    """All of it as text, no line longer than there is room: names are cut, figures are not."""
    found = [headline(pulse)[:width]]
    for table in tables(pulse, width, rows_max):
        found += ["", *_drawn(table, width)]
    return found


def _drawn(table: Table, width: int) -> list[str]:
    widths = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
    room = width - sum(widths[1:]) - GAP * (len(widths) - 1)
    widths[0] = max(min(widths[0], room), 1)
    return [_line(row, widths)[:width] for row in (table.columns, *table.rows)]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """The name on the left, all else to the right."""
    name = row[0] if len(row[0]) <= widths[0] else f"{row[0][: widths[0] - 1]}…"
    others = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
    return (" " * GAP).join([name.ljust(widths[0]), *others]).rstrip()
