"""Many seeds in one test: every one that fails is named, and together they must have seen all kinds of trouble."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from penstock.sim.report import Report

# As many seeds as surely meet every kind of trouble, and few enough to hear of a failure before all have run.
SEEDS_PER_TEST = 200
LOG_MUST_HAPPEN = (
    "crash",
    "power-loss",
    "torn-write",
    "disk-full",
    "slow-sync",
    "records-acknowledged",
    "clock-jumps",
    "segment-packed",
)


def run_all(run: Callable[[int], Report], seeds: Sequence[int], must_happen: tuple[str, ...]) -> None:
    counts: Counter[str] = Counter()
    failures = []
    for seed in seeds:
        report = run(seed)
        counts.update(report.counts)
        if report.failure is not None:
            failures.append("\n".join([f"seed {seed}: {report.failure!r}", *report.tail[-40:]]))
    print(f"{len(seeds)} seeds from {seeds[0]}: {dict(sorted(counts.items()))}")
    assert not failures, "\n\n".join(failures)
    assert [what for what in must_happen if not counts[what]] == []
