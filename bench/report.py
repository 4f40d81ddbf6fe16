"""From rounds to a verdict: medians, ratios, floors, a table, a file and a picture."""

import json
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.table import Table

from bench.loadgen import Figures
from bench.scenarios import Metric

Rounds = dict[str, list[Figures]]


class Measured(Protocol):
    """What a line is about: its figures, and what they must reach."""

    @property
    def name(self) -> str: ...

    @property
    def metrics(self) -> tuple[Metric, ...]: ...


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of one scenario, with what became of it."""

    scenario: str
    metric: str
    unit: str
    penstock: float | None
    kafka: float | None
    floor: float | None
    ratio: float | None
    ratio_floor: float | None
    higher_is_better: bool
    bound: str
    verdict: str


def lines_of(scenario: Measured, rounds: Rounds) -> list[Line]:
    return [_line(scenario, metric, rounds) for metric in scenario.metrics]


def _line(scenario: Measured, metric: Metric, rounds: Rounds) -> Line:
    penstock = _median(rounds.get("penstock", []), metric.key)
    kafka = _median(rounds.get("kafka", []), metric.key)
    ratio = penstock / kafka if penstock is not None and kafka else None
    return Line(
        scenario.name,
        metric.key,
        metric.unit,
        penstock,
        kafka,
        _median(rounds.get("floor", []), metric.key),
        ratio,
        metric.ratio_floor,
        metric.higher_is_better,
        _bound(metric),
        _verdict(metric, penstock, ratio),
    )


def _median(rounds: list[Figures], key: str) -> float | None:
    values = [figures[key] for figures in rounds if key in figures]
    return statistics.median(values) if values else None


def _bound(metric: Metric) -> str:
    sign = ">=" if metric.higher_is_better else "<="
    parts = []
    if metric.ratio_floor is not None:
        aim = f" (aim {metric.ratio_aim:g}x)" if metric.ratio_aim is not None else ""
        parts.append(f"{sign} {metric.ratio_floor:g}x{aim}")
    if metric.limit is not None:
        parts.append(f"{sign} {metric.limit:g} {metric.unit}")
    return ", ".join(parts)


def _verdict(metric: Metric, penstock: float | None, ratio: float | None) -> str:
    checks = [
        _reached(metric, value, bound)
        for value, bound in ((ratio, metric.ratio_floor), (penstock, metric.limit))
        if value is not None and bound is not None
    ]
    if not checks:
        return ""
    return "pass" if all(checks) else "MISS"


def _reached(metric: Metric, value: float, bound: float) -> bool:
    return value >= bound if metric.higher_is_better else value <= bound


def print_table(
    lines: list[Line], title: str = "Penstock beside Apache Kafka (medians)", floor: str = "C floor"
) -> None:
    table = Table(title=title)
    for heading in ("scenario", "figure"):
        table.add_column(heading)
    for heading in ("penstock", "kafka", "ratio", floor):
        table.add_column(heading, justify="right")
    for heading in ("must be", ""):
        table.add_column(heading)
    for line in lines:
        style = {"pass": "green", "MISS": "red"}.get(line.verdict)
        figures = (_number(line.penstock), _number(line.kafka), f"{_number(line.ratio)}x" if line.ratio else "")
        cells = (line.scenario, f"{line.metric} ({line.unit})", *figures, _number(line.floor))
        table.add_row(*cells, line.bound, line.verdict, style=style)
    Console(width=150).print(table)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def write_results(path: Path, machine: dict[str, Any], lines: list[Line], rounds: dict[str, Rounds]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": machine, "lines": [asdict(line) for line in lines], "rounds": rounds}
    path.write_text(json.dumps(content, indent=1) + "\n")


def draw(path: Path, lines: list[Line], rival: str = "Apache Kafka") -> None:
    """Ratios to Kafka, turned so that to the right is always better."""
    # Only the plot needs it, and a run without results to compare should not.
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.use("Agg")
    shown = [line for line in lines if line.ratio]
    if not shown:
        return
    figure, axes = plt.subplots(figsize=(11, 0.4 * len(shown) + 1.5))
    for row, line in enumerate(shown):
        assert line.ratio is not None, "only lines with a ratio are drawn"
        times = _times_better(line, line.ratio)
        axes.barh(row, times - 1, left=1, color="#b23a48" if line.verdict == "MISS" else "#2a7f62")
        if line.ratio_floor is not None:
            axes.plot([_times_better(line, line.ratio_floor)] * 2, [row - 0.4, row + 0.4], color="black", linewidth=2)
        axes.annotate(f" {times:.2f}x  {_number(line.penstock)} {line.unit}", (max(times, 1), row), va="center", size=8)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}x")
    axes.margins(x=0.2)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_yticks(range(len(shown)), [f"{line.scenario}: {line.metric}" for line in shown])
    axes.invert_yaxis()
    axes.set_xlabel(f"times better than {rival} in the same run; the black mark is what must be reached")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _times_better(line: Line, ratio: float) -> float:
    return ratio if line.higher_is_better else 1 / ratio
