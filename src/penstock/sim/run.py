"""The way in: run seeds, count what happened, name the seed that failed.

    python -m penstock.sim.run --seeds 0-499

A seed decides everything: the workload, the faults, the disk's and the network's manners. A run over many seeds in
which some kind of trouble never happened proves little, so it fails too.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence

from penstock.sim.chance import Chance
from penstock.sim.disk import DiskProfile
from penstock.sim.faults import draw_faults
from penstock.sim.network import NetworkProfile
from penstock.sim.node import PenstockNodes
from penstock.sim.report import Report, reported
from penstock.sim.scenario import Scenario, Spec
from penstock.sim.workloads import draw_workload
from penstock.sim.world import World

MUST_HAPPEN = (
    "crash",
    "power-loss",
    "torn-write",
    "disk-full",
    "slow-sync",
    "records-acknowledged",
    "rebalances",
    "commits-acknowledged",
    "static-restarts",
    "partitions-handed-over",
    "record-deletions",
    "records-expired",
    "records-outgrown",
    "records-compacted",
    "rebirths-read",
    "clock-jumps",
)
TAIL_LINES = 60


def draw_spec(seed: int) -> Spec:
    """All that a seed decides besides the course of events."""
    chance = Chance(seed).fork("spec")
    return Spec(
        workload=draw_workload(chance),
        faults=draw_faults(chance),
        disk=DiskProfile(inline=chance.pick((0.0, 0.5, 0.9, 1.0))),
        network=NetworkProfile(drips=chance.pick((0.0, 0.05))),
    )


def run_seed(seed: int, spec: Spec | None = None) -> Report:
    """Run one seed to its end or to its first violation."""
    spec = draw_spec(seed) if spec is None else spec
    workload = spec.workload
    nodes = PenstockNodes(workload.syncs_commits, frozenset(topic.name for topic in workload.reborn))
    world = World(seed, nodes, workload.rules, spec.disk, spec.network)
    return reported(seed, world.scheduler, world.trace, Scenario(world, spec).play)


def main(argv: Sequence[str] | None = None, write: Callable[[str], object] = sys.stdout.write) -> int:
    """Run the seeds that the command line names; 0 when all is well."""
    parser = argparse.ArgumentParser(prog="penstock.sim.run", description="Run a node in the simulated world.")
    parser.add_argument("--seeds", default="0-19", help="a seed, or a range such as 0-499")
    parser.add_argument("--verbose", action="store_true", help="print a line per seed")
    arguments = parser.parse_args(argv)
    totals: Counter[str] = Counter()
    seeds = _parse_seeds(arguments.seeds)
    for seed in seeds:
        report = run_seed(seed)
        totals.update(report.counts)
        if arguments.verbose:
            write(f"seed {seed}: {report.events} events, trace {report.trace_hash}\n")
        if report.failure is not None:
            _describe_failure(report, write)
            return 1
    for what in MUST_HAPPEN:
        write(f"{what:24} {totals[what]}\n")
    missing = [what for what in MUST_HAPPEN if not totals[what]]
    if missing and len(seeds) > 1:
        write(f"never happened: {', '.join(missing)}\n")
        return 1
    return 0


def _describe_failure(report: Report, write: Callable[[str], object]) -> None:
    for line in report.tail[-TAIL_LINES:]:
        write(f"{line}\n")
    write(f"seed {report.seed} failed after {report.events} events: {report.failure!r}\n")
    write(f"again: python -m penstock.sim.run --seeds {report.seed}\n")


def _parse_seeds(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    sys.exit(main())
