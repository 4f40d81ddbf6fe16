"""A picture of one trade-off: the same choices beside each other, once for each thing they cost."""

from __future__ import annotations

from pathlib import Path

from bench.tradeoffs.experiment import Experiment, Row


def draw(experiment: Experiment, rows: list[Row], path: Path) -> None:
    # Only the picture needs it, and the tables should not wait for it.
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.use("Agg")
    figure, panels = plt.subplots(
        1, len(experiment.shown), figsize=(4.2 * len(experiment.shown), 0.35 * len(rows) + 1.6)
    )
    choices = [choice for choice, _ in rows]
    for number, (axes, (key, title)) in enumerate(zip(panels, experiment.shown, strict=True)):
        values = [figures[key] for _, figures in rows]
        bars = axes.barh(choices, values, color="#2a7f62")
        axes.bar_label(bars, [f" {value:,.3g}" if value < 1000 else f" {value:,.0f}" for value in values], size=8)
        axes.set_title(title, size=9)
        axes.set_yticks(range(len(choices)), choices if number == 0 else [""] * len(choices), size=8)
        axes.margins(x=0.25)
        axes.invert_yaxis()
    figure.suptitle(experiment.question, size=10)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
