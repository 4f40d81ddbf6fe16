"""Run seeds of a quorum, count what happened, name the seed that failed.

python -m penstock.sim.voters.run --seeds 0-99 --machines 3
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from penstock.sim.seed_range import run_seeds, seeds_of
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


def main(argv: Sequence[str] | None = None, write: Callable[[str], object] = sys.stdout.write) -> int:
    """Run the seeds that the command line names; 0 when all is well."""
    parser = argparse.ArgumentParser(prog="penstock.sim.voters.run", description="Run voters in the simulated world.")
    parser.add_argument("--seeds", default="0-9", help="a seed, or a range such as 0-499")
    parser.add_argument("--machines", type=int, default=3, help="how many voters there are")
    arguments = parser.parse_args(argv)
    machines: int = arguments.machines
    of = f" of {machines} machines"
    return run_seeds(seeds_of(arguments.seeds), lambda seed: run_voters(seed, machines), MUST_HAPPEN, write, of)


if __name__ == "__main__":
    sys.exit(main())
