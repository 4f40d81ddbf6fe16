"""Run seeds of clusters with topics that demand schemas, count what happened, name the seed that failed.

python -m penstock.sim.validation.run --seeds 0-99
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from penstock.sim.seed_range import run_seeds, seeds_of
from penstock.sim.validation.scenario import run_validation

MUST_HAPPEN = ("told-none", "told-invalid_record", "dead-letters", "crash")


def main(argv: Sequence[str] | None = None, write: Callable[[str], object] = sys.stdout.write) -> int:
    """Run the seeds that the command line names; 0 when all is well."""
    parser = argparse.ArgumentParser(prog="penstock.sim.validation.run", description="Run simulated topics.")
    parser.add_argument("--seeds", default="0-9", help="a seed, or a range such as 0-499")
    seeds = seeds_of(parser.parse_args(argv).seeds)
    return run_seeds(seeds, run_validation, MUST_HAPPEN, write)


if __name__ == "__main__":
    sys.exit(main())
