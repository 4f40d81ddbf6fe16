"""Grafana's dashboards, from a table of panels: what there is to see, and the query behind it."""

from __future__ import annotations

import json
import tomllib
from importlib.resources import files
from typing import Any, Final, NamedTuple

from penstock.cli.generating import templates

PANELS_PER_ROW: Final = 3
WIDTH: Final = 24 // PANELS_PER_ROW
HEIGHT: Final = 8
SCHEMA_VERSION: Final = 39


class Panel(NamedTuple):
    """One picture: its queries, each with what a line is called."""

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    text: str = ""


class Board(NamedTuple):
    """One dashboard."""

    uid: str
    title: str
    rows: tuple[tuple[str, tuple[Panel, ...]], ...]


def boards() -> list[Board]:
    """Those of `templates/dashboards.toml`."""
    table = tomllib.loads(files(templates).joinpath("dashboards.toml").read_text())
    return [_board(each) for each in table["boards"]]


def _board(told: dict[str, Any]) -> Board:
    rows = tuple((row["title"], tuple(map(_told_panel, row["panels"]))) for row in told["rows"])
    return Board(told["uid"], told["title"], rows)


def _told_panel(told: dict[str, Any]) -> Panel:
    queries = tuple((query, name) for query, name in told["queries"])
    return Panel(told["title"], told["unit"], queries, told.get("text", ""))


def as_json(board: Board) -> str:
    """As Grafana imports it; it asks which Prometheus to read."""
    panels: list[dict[str, Any]] = []
    y = 0
    for title, row in board.rows:
        panels.append(
            {"type": "row", "title": title, "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}, "id": len(panels) + 1}
        )
        y += 1
        for at, panel in enumerate(row):
            place = {"x": at % PANELS_PER_ROW * WIDTH, "y": y + at // PANELS_PER_ROW * HEIGHT, "w": WIDTH, "h": HEIGHT}
            panels.append(_panel(panel, place, len(panels) + 1))
        y += -(-len(row) // PANELS_PER_ROW) * HEIGHT
    return json.dumps(
        {
            "uid": board.uid,
            "title": board.title,
            "tags": ["penstock"],
            "schemaVersion": SCHEMA_VERSION,
            "editable": True,
            "refresh": "10s",
            "time": {"from": "now-1h", "to": "now"},
            "templating": {"list": [_source(), _job()]},
            "panels": panels,
        },
        indent=2,
    )


def _panel(panel: Panel, place: dict[str, int], number: int) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${datasource}"}
    return {
        "id": number,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.text,
        "datasource": source,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + at), "datasource": source, "expr": query, "legendFormat": name}
            for at, (query, name) in enumerate(panel.queries)
        ],
    }


def _source() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}


def _job() -> dict[str, Any]:
    return {
        "name": "job",
        "type": "query",
        "label": "Cluster",
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "query": "label_values(penstock_ready, job)",
        "refresh": 1,
    }
