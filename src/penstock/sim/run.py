"""The way in: run seeds, count what happened, name the seed that failed.

    penstock sim --seeds 0-499
    penstock sim --seeds 0-99 --nodes 3

A seed decides everything: the workload, the faults, the disk's and the network's manners. A run over many seeds in
which some kind of trouble never happened proves little, and says so.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from penstock.sim.chance import Chance
from penstock.sim.clients.hostile_acts import ACTS
from penstock.sim.cluster_scenario import run_cluster_seed
from penstock.sim.cluster_spec import WITH_LIVE_GROUPS, ClusterSpec, draw_cluster, parse_happenings
from penstock.sim.court import Court
from penstock.sim.disk import DiskProfile
from penstock.sim.errands import OF_A_VOTER
from penstock.sim.faults import draw_faults
from penstock.sim.network import NetworkProfile
from penstock.sim.node import PenstockNodes
from penstock.sim.report import Report, reported
from penstock.sim.scenario import Scenario, Spec
from penstock.sim.scheduler import SECOND
from penstock.sim.staging import stage_node
from penstock.sim.storm import KINDS
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
    "job-examine_all",
)
CLUSTER_MUST_HAPPEN = (
    "records-acknowledged",
    "elections",
    "in-sync-shrinks",
    "full-disks-relieved",
    "drains",
    "truncations",
    "snapshot-loads",
    "reassignments",
    "voter-changes",
    "unclean-stops",
    "rebalances",
    "commits-acknowledged",
    "coordinator-changes",
    "Decided",
    "TopicDecided",
    "EndSeen",
    "near-fetches",
    "Ended",
    "Brought",
    "live-group-takes",
    "Committed",
    "live-group-changes",
    "torn-write",
    "slow-sync",
    "job-examine_all",
    *(f"fault-{kind}" for kind in KINDS),
    *(f"hostile-{act}" for act in ACTS),
)
CLUSTER_SEEDS_MIN = 50
"""Fewer may miss some kind of fault."""
STAGINGS = 0.3
TAIL_LINES = 60
IDLE_US = 600 * SECOND


def draw_spec(seed: int, stagings: float = STAGINGS) -> Spec:
    """All that a seed decides besides the course of events. Whether batches wait to be read has dice of its own:
    without that a seed is what it was before."""
    chance = Chance(seed).fork("spec")
    spec = Spec(
        workload=draw_workload(chance),
        faults=draw_faults(chance),
        disk=DiskProfile(inline=chance.pick((0.0, 0.5, 0.9, 1.0))),
        network=NetworkProfile(drips=chance.pick((0.0, 0.05))),
    )
    staging = chance.fork("staging")
    return stage_node(staging, spec) if staging.happens(stagings) else spec


def run_seed(seed: int, spec: Spec | None = None) -> Report:
    """Run one seed to its end or to its first violation."""
    spec = draw_spec(seed) if spec is None else spec
    workload = spec.workload
    reborn = frozenset(topic.name for topic in workload.reborn)
    nodes = PenstockNodes(workload.syncs_commits, reborn, spec.settings)
    world = World(
        seed, nodes, lambda scheduler, trace: Court(scheduler, trace, workload.rules), spec.disk, spec.network
    )
    return reported(seed, world.scheduler, world.trace, Scenario(world, spec).play)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run: seeds of one node, or of a cluster in a storm that is drawn or written down; or nodes at rest."""

    seeds: range
    nodes: int = 1
    storm: str | None = None
    idle: bool = False

    @property
    def must_happen(self) -> tuple[str, ...]:
        """What happens somewhere among enough seeds, or they prove little."""
        if self.idle:
            return ()
        if self.nodes == 1:
            return MUST_HAPPEN if len(self.seeds) > 1 else ()
        return CLUSTER_MUST_HAPPEN if len(self.seeds) >= CLUSTER_SEEDS_MIN and self.storm is None else ()

    def run(self, seed: int) -> Report:
        is_alone = self.nodes == 1 and not self.idle
        return run_seed(seed) if is_alone else run_cluster_seed(seed, self.cluster(seed))

    def cluster(self, seed: int) -> ClusterSpec:
        """The cluster of a seed, and its storm."""
        if self.idle:
            return ClusterSpec(self.nodes, storm_us=IDLE_US, records_min=0)
        drawn = draw_cluster(seed, self.nodes, WITH_LIVE_GROUPS)
        if self.storm is None:
            return drawn
        faults, errands = parse_happenings(self.storm)
        needs_seats = any(errand.kind in OF_A_VOTER for errand in errands)
        return replace(drawn, storm=faults, errands=errands, is_dynamic=drawn.is_dynamic or needs_seats)

    def again(self, seed: int) -> str:
        """The command that repeats a seed."""
        nodes = f" --nodes {self.nodes}" if self.nodes > 1 else ""
        storm = "" if self.storm is None else " --storm FILE"
        return f"penstock sim --seeds {seed}{nodes}{storm}{' --idle' if self.idle else ''}"


@dataclass(slots=True)
class Tally:
    """What many seeds came to."""

    counts: Counter[str] = field(default_factory=Counter)
    simulated_us: int = 0
    events: int = 0
    failed: Report | None = None

    def add(self, report: Report) -> None:
        self.counts.update(report.counts)
        self.simulated_us += report.simulated_us
        self.events += report.events
        if report.failure is not None:
            self.failed = report


def run_seeds(plan: Plan, heard: Callable[[Report], None] = lambda report: None) -> Tally:
    """Run seeds until one fails."""
    tally = Tally()
    for seed in plan.seeds:
        report = plan.run(seed)
        tally.add(report)
        heard(report)
        if tally.failed is not None:
            break
    return tally


def describe(plan: Plan, tally: Tally, write: Callable[[str], object]) -> int:
    """Say what happened, and in the last line what that means; gives 0 when no promise was broken."""
    if tally.failed is not None:
        _describe_failure(plan, tally.failed, write)
    else:
        for what in () if plan.idle else MUST_HAPPEN if plan.nodes == 1 else CLUSTER_MUST_HAPPEN:
            write(f"{what:24} {tally.counts[what]}\n")
    write(f"{verdict(plan, tally)}\n")
    return int(tally.failed is not None)


def verdict(plan: Plan, tally: Tally) -> str:
    """What a run came to, in one line."""
    if tally.failed is not None:
        return f"BROKEN: seed {tally.failed.seed} shows how; it is repeated by `{plan.again(tally.failed.seed)}`"
    seeds = "1 seed" if len(plan.seeds) == 1 else f"{len(plan.seeds)} seeds"
    missing = [what for what in plan.must_happen if not tally.counts[what]]
    weakness = f"; these seeds did not bring {', '.join(missing)}: more of them prove more" if missing else ""
    return f"KEPT: no promise was broken in {seeds}, {tally.simulated_us / SECOND:.0f} simulated seconds{weakness}"


def main(argv: Sequence[str] | None = None, write: Callable[[str], object] = sys.stdout.write) -> int:
    """Run the seeds that the command line names; 0 when all is well."""
    parser = argparse.ArgumentParser(prog="penstock.sim.run", description="Run nodes in the simulated world.")
    parser.add_argument("--seeds", default="0-19", help="a seed, or a range such as 0-499")
    parser.add_argument("--nodes", type=int, default=1, help="how many machines there are")
    parser.add_argument("--verbose", action="store_true", help="print a line per seed")
    arguments = parser.parse_args(argv)
    plan = Plan(parse_seeds(arguments.seeds), arguments.nodes)

    def heard(report: Report) -> None:
        if arguments.verbose:
            write(f"seed {report.seed}: {report.events} events, trace {report.trace_hash}\n")

    return describe(plan, run_seeds(plan, heard), write)


def parse_seeds(text: str) -> range:
    """A seed, or a range of them."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _describe_failure(plan: Plan, report: Report, write: Callable[[str], object]) -> None:
    for line in report.tail[-TAIL_LINES:]:
        write(f"{line}\n")
    if plan.nodes > 1:
        write(f"the storm:\n{plan.cluster(report.seed).written}")
    write(f"seed {report.seed} failed after {report.events} events: {report.failure!r}\n")


if __name__ == "__main__":
    sys.exit(main())
