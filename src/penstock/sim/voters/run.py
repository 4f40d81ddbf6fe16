"""Run seeds of a quorum, count what happened, name the seed that failed.

python -m penstock.sim.voters.run --seeds 0-99 --machines 3
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence

from penstock.sim.voters.scenario import run_voters

MUST_HAPPEN = (
    "elections",
    "truncations",
    "snapshot-loads",
    "confirmed",
    "crash",
    "power-loss",
    "outage-after-vote",
)
TAIL_LINES = 60


def main(argv: Sequence[str] | None = None, write: Callable[[str], object] = sys.stdout.write) -> int:
    """Run the seeds that the command line names; 0 when all is well."""
    parser = argparse.ArgumentParser(prog="penstock.sim.voters.run", description="Run voters in the simulated world.")
    parser.add_argument("--seeds", default="0-9", help="a seed, or a range such as 0-499")
    parser.add_argument("--machines", type=int, default=3, help="how many voters there are")
    arguments = parser.parse_args(argv)
    first, _, last = arguments.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    totals: Counter[str] = Counter()
    for seed in seeds:
        report = run_voters(seed, arguments.machines)
        totals.update(report.counts)
        if report.failure is not None:
            tail = "\n".join(report.tail[-TAIL_LINES:])
            write(f"{tail}\nseed {seed} of {arguments.machines} machines failed: {report.failure!r}\n")
            return 1
    missing = [name for name in MUST_HAPPEN if not totals[name]]
    write(f"{len(seeds)} seed(s): " + ", ".join(f"{totals[name]} {name}" for name in MUST_HAPPEN) + "\n")
    if missing and len(seeds) > 1:
        write(f"never happened: {', '.join(missing)}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
