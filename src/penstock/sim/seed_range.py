"""Run a range of seeds of one world, count what happened, name the seed that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from penstock.sim.report import Report

TAIL_LINES: Final = 60


def seeds_of(text: str) -> range:
    """`7` is a seed, `0-499` a range."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def run_seeds(
    seeds: range, run: Callable[[int], Report], must_happen: Sequence[str], write: Callable[[str], object], of: str = ""
) -> int:
    """0 when all is well; a run over several seeds in which some trouble never came proves little, and says so."""
    totals: Counter[str] = Counter()
    for seed in seeds:
        report = run(seed)
        totals.update(report.counts)
        if report.failure is not None:
            tail = "\n".join(report.tail[-TAIL_LINES:])
            write(f"{tail}\nseed {seed}{of} failed: {report.failure!r}\n")
            return 1
    missing = [name for name in must_happen if not totals[name]]
    write(f"{len(seeds)} seed(s): " + ", ".join(f"{totals[name]} {name}" for name in must_happen) + "\n")
    if missing and len(seeds) > 1:
        write(f"never happened: {', '.join(missing)}\n")
        return 1
    return 0
