"""Measures the trade-offs, one cluster of three for each, and draws them.

    python -m bench.tradeoffs [--only NAME]...

The data is in a folder of the disk, not in memory: syncing and cold reads mean nothing on tmpfs. The results go to
bench/results/tradeoffs.json, the pictures to docs/tradeoffs/.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile

from rich.console import Console
from rich.table import Table

from bench.clusters import PenstockNodes
from bench.run import RESULTS, ROOT, commit, say
from bench.tradeoffs.acks import ACKS
from bench.tradeoffs.compression import COMPRESSION
from bench.tradeoffs.drawing import draw
from bench.tradeoffs.experiment import Experiment, Row
from bench.tradeoffs.linger import LINGER
from bench.tradeoffs.partitions import PARTITIONS
from bench.tradeoffs.reading import COLD_READS, DRAINING

EXPERIMENTS = (ACKS, LINGER, COMPRESSION, PARTITIONS, COLD_READS, DRAINING)
PICTURES = ROOT / "docs" / "tradeoffs"


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.tradeoffs", description="What one gives up for what.")
    parser.add_argument("--only", action="append", choices=[each.name for each in EXPERIMENTS], help="repeatable")
    arguments = parser.parse_args()
    chosen = [each for each in EXPERIMENTS if not arguments.only or each.name in arguments.only]
    with tempfile.TemporaryDirectory(dir=ROOT / ".cache") as folder:
        os.environ.setdefault("BENCH_DIR", folder)
        for experiment in chosen:
            rows = measure(experiment)
            show(experiment, rows)
            keep(experiment, rows)
            draw(experiment, rows, PICTURES / f"{experiment.name}.png")


def measure(experiment: Experiment) -> list[Row]:
    say(experiment.question)
    nodes = PenstockNodes()
    try:
        nodes.start()
        return experiment.run(nodes)
    finally:
        nodes.close()


def show(experiment: Experiment, rows: list[Row]) -> None:
    table = Table(title=experiment.question)
    keys = list(rows[0][1])
    table.add_column(experiment.name)
    for key in keys:
        table.add_column(key, justify="right")
    for choice, figures in rows:
        table.add_row(
            choice, *(f"{figures[key]:,.3g}" if figures[key] < 1000 else f"{figures[key]:,.0f}" for key in keys)
        )
    Console(width=150).print(table)


def keep(experiment: Experiment, rows: list[Row]) -> None:
    path = RESULTS / "tradeoffs.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    kept[experiment.name] = {"commit": commit(), "rows": rows}
    path.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
