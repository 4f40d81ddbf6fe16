"""Every node in turn is stopped and started, again and again, under load: `python -m tests.chaos.rolling --help`

No error may reach the application, no partition may be without a leader for long, and a producer should hardly notice.
"""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

from tests.chaos.cluster import ChaosCluster, on_loopback
from tests.chaos.faults import TOPIC, hold
from tests.chaos.load import Load
from tests.chaos.watching import Watcher

NODES = 3
LEADERLESS_SECONDS_MAX = 0.5
P99_SECONDS_MAX = 0.25
SETTLING_SECONDS = 2.0


class Outcome(NamedTuple):
    """Of all rounds together, in seconds."""

    restarts: int
    leaderless: float
    p99: float
    longest_gap: float

    def __str__(self) -> str:
        return (
            f"{self.restarts} restarts: without a leader for {self.leaderless * 1000:.0f} ms at most, "
            f"produce p99 {self.p99 * 1000:.0f} ms, longest gap {self.longest_gap * 1000:.0f} ms"
        )

    @property
    def is_well(self) -> bool:
        return self.leaderless <= LEADERLESS_SECONDS_MAX and self.p99 <= P99_SECONDS_MAX


def run(cluster: ChaosCluster, rounds: int) -> Outcome:
    cluster.create_topic(TOPIC, NODES)
    with Load(cluster.bootstrap, TOPIC) as load:
        hold(SETTLING_SECONDS)
        load.latencies.clear()
        with Watcher(cluster, TOPIC) as watcher:
            for number in list(cluster.nodes) * rounds:
                cluster.stop([number])
                cluster.start([number])
                cluster.wait_healed(TOPIC)
        load.finish()
    return Outcome(
        rounds * NODES,
        max(watcher.longest_leaderless(partition) for partition in range(NODES)),
        load.p99(),
        load.longest_gap(0.0, float("inf")),
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.rolling", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    with on_loopback(NODES) as cluster:
        outcome = run(cluster, options.rounds)
    print(outcome)
    return 0 if outcome.is_well else 1


if __name__ == "__main__":
    sys.exit(main())
