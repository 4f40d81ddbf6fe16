"""A run as one HTML page that needs nothing beside it: the verdict, the gaps, and records by minute as plots."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from itertools import groupby
from typing import Any, Final

WIDTH: Final = 900
HEIGHT: Final = 80
_STYLE: Final = (
    "body{font:14px sans-serif;margin:2em;max-width:60em}table{border-collapse:collapse}"
    "td,th{padding:.2em .8em;border-bottom:1px solid #ddd;text-align:left}.bad{color:#b00020}.good{color:#1b7f3b}"
    "svg{background:#f6f6f6;display:block}path{fill:#3568b8}"
)


def page(facts: dict[str, Any], minutes: Sequence[tuple[str, int, int]]) -> str:
    """`minutes` are topic, minute and records, in order."""
    verdict = "<p class=good>It adds up.</p>" if facts["adds_up"] else "<p class=bad>It does NOT add up.</p>"
    parts = [
        f"<h1>Audit of {_time(facts['at_ms'])}</h1>",
        verdict,
        _table("Gaps", ("kind", "where", "first", "end", "why"), facts["gaps"]),
        _table("Pipelines", ("pipeline", "what", "where", "told", "found", "note"), facts["sums"]),
        _table("Partitions", ("partition", "first", "end", "new_records", "gaps"), facts["partitions"]),
        "<h2>Records by minute</h2>",
        *(_plot(topic, [(at, records) for _, at, records in those]) for topic, those in groupby(minutes, _topic)),
    ]
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>Audit</title><style>{_STYLE}</style>"
    return f"{head}<body>{''.join(parts)}</body></html>\n"


def _topic(minute: tuple[str, int, int]) -> str:
    return minute[0]


def _table(title: str, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return ""
    heads = "".join(f"<th>{column.replace('_', ' ')}</th>" for column in columns)
    lines = "".join(f"<tr>{''.join(f'<td>{_cell(row[column])}</td>' for column in columns)}</tr>" for row in rows)
    return f"<h2>{title}</h2><table><tr>{heads}</tr>{lines}</table>"


def _cell(value: Any) -> str:
    return "-" if value is None else escape(str(value))


def _plot(topic: str, points: Sequence[tuple[int, int]]) -> str:
    """As many bars as fit, each the sum of its minutes."""
    first, last = points[0][0], points[-1][0]
    per_bar = (last - first) // WIDTH + 1
    bars: dict[int, int] = {}
    for minute, records in points:
        place = (minute - first) // per_bar
        bars[place] = bars.get(place, 0) + records
    top = max(max(bars.values()), 1)
    step = WIDTH / ((last - first) // per_bar + 1)
    drawn = "".join(
        f"M{place * step:.1f} {HEIGHT}v-{records / top * HEIGHT:.1f}h{step:.1f}V{HEIGHT}z"
        for place, records in bars.items()
    )
    span = f"{_time(first * 60_000)} to {_time(last * 60_000)}, at most {top} in {per_bar} min"
    return f"<h3>{escape(topic)}</h3><svg width={WIDTH} height={HEIGHT}><path d='{drawn}'/></svg><p>{span}</p>"


def _time(at_ms: int) -> str:
    """Times of records are their producers': some are none."""
    try:
        return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, ValueError, OSError):
        return f"{at_ms} ms"
