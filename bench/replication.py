"""What one replicated request costs each of three nodes: processor time, and how often a node had to be woken for it.

    python -m bench.replication [--seconds S] [--keep]

Latency and throughput depend on whoever else is on the machine; what a request costs hardly does. Requests are
acknowledged by all three, and node 1 leads. `--keep` writes the table to bench/results/replication.json, which later
runs compare themselves with: a cost of more than RATCHET times what was kept fails the run.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

from bench.cluster import PARTITIONS, patiently, replicated_topic
from bench.clusters import NODES, PenstockNodes
from bench.loadgen import Figures, Options, run_load
from bench.processes import PROC, TICKS_PER_S, stat_of
from bench.stages import compare_with_kept

RATCHET = 1.3
WARM_S = 2.0
# Both ends of a run are left out: what is measured is a load that has settled.
EDGE_S = 0.5
KEPT = Path(__file__).parent / "results" / "replication.json"
LOADS: dict[str, Options] = {
    "depth 1, 1 KB": {"connections": 1, "depth": 1, "records": 1, "value_bytes": 1024},
    "depth 5, 100 B": {"connections": 4, "depth": 5, "records": 1, "value_bytes": 100},
    "depth 5, 16 KB": {"connections": 4, "depth": 5, "records": 16, "value_bytes": 1000},
}


class Cost(NamedTuple):
    """What a process has used up since it began."""

    user_s: float
    system_s: float
    wakeups: int

    @classmethod
    def of(cls, pid: int) -> Cost:
        fields = stat_of(pid)
        status = (PROC / str(pid) / "status").read_text()
        switches = next(line for line in status.splitlines() if line.startswith("voluntary_ctxt_switches"))
        return cls(int(fields[11]) / TICKS_PER_S, int(fields[12]) / TICKS_PER_S, int(switches.split()[1]))

    def since(self, before: Cost) -> Cost:
        return Cost(self.user_s - before.user_s, self.system_s - before.system_s, self.wakeups - before.wakeups)


def measure(nodes: PenstockNodes, shape: Options, seconds: float) -> tuple[Figures, list[Cost]]:
    """The generator's figures, and what each node paid in the middle of the run."""
    with replicated_topic(nodes) as name:
        where: Options = {"port": nodes.port_of(1), "topic": name, "partitions": PARTITIONS, "acks": -1}
        patiently(lambda: run_load("produce", {**where, "seconds": WARM_S, "warmup_s": 0, **shape}))
        pids = [nodes.pid_of(number) for number in range(1, NODES + 1)]
        costs: list[Cost] = []

        def watch() -> None:
            time.sleep(EDGE_S)
            before = [Cost.of(pid) for pid in pids]
            time.sleep(seconds)
            costs.extend(Cost.of(pid).since(cost) for pid, cost in zip(pids, before, strict=True))

        watching = threading.Thread(target=watch)
        watching.start()
        figures = run_load("produce", {**where, "seconds": seconds + 2 * EDGE_S, "warmup_s": 0, **shape})
        watching.join()
        return figures, costs


def table(nodes: PenstockNodes, seconds: float) -> dict[str, float]:
    """Microseconds per request by load and node; followers are alike, and their mean is shown."""
    found: dict[str, float] = {}
    for title, shape in LOADS.items():
        figures, (leader, *followers) = measure(nodes, shape, seconds)
        requests = figures["requests_per_s"] * seconds
        print(
            f"{title}: {figures['requests_per_s']:,.0f} requests/s, {figures['mb_per_s']:,.1f} MB/s,"
            f" p50 {figures['p50_ms']:.3f} ms, p99 {figures['p99_ms']:.3f} ms"
        )
        for role, costs in (("leader", [leader]), ("follower", followers)):
            user, system, wakeups = (sum(each) / len(costs) / requests for each in zip(*costs, strict=True))
            print(f"  {role:<9} {user * 1e6:7.1f} us own, {system * 1e6:7.1f} us kernel, {wakeups:5.2f} wakeups")
            found[f"{title}: {role}"] = round((user + system) * 1e6, 1)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.replication", description="What a replicated request costs.")
    parser.add_argument("--seconds", type=float, default=4.0, help="how long each load is watched")
    parser.add_argument("--keep", action="store_true", help="later runs are compared with this one")
    arguments = parser.parse_args()
    nodes = PenstockNodes()
    try:
        nodes.start()
        found = table(nodes, arguments.seconds)
    finally:
        nodes.close()
    return compare_with_kept(found, KEPT, RATCHET)


if __name__ == "__main__":
    sys.exit(main())
