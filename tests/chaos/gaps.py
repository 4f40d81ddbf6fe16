"""How long producers wait when a node dies, hangs, is cut off or has a full disk: `python -m tests.chaos.gaps --help`

The victim leads partitions, follows others, and controls the cluster or not. Beside the longest gap that a producer
saw stands how long it took until somebody named other leaders: the rest of the gap is the client's own. Of two that are
cut off from each other, one may control: then the other is replaced. If neither does, nobody is.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import ElectionType

from penstock.client.blocking import Client
from penstock.client.quorum import describe_quorum
from tests.chaos.cluster import ChaosCluster
from tests.chaos.faults import KINDS, TOPIC, Fault, happening, hold
from tests.chaos.load import Load
from tests.chaos.place import Loopback, OwnWorld, Place
from tests.chaos.watching import Watcher
from tests.waiting import wait_until

SECONDS_MAX = 60.0
HELD_SECONDS = 6.0
LIMITS = {"kill": 1.0, "pause": 3.0, "cut off": 3.0, "cut link": 3.0, "full disk": 3.0}
"""The longest gap in seconds that a producer may see, on a machine that has nothing else to do."""


class Gap(NamedTuple):
    kind: str
    controls: bool
    seconds: float
    decided: float | None

    def __str__(self) -> str:
        who = "controller" if self.controls else "broker"
        decided = "never" if self.decided is None else f"{self.decided * 1000:.0f} ms"
        return f"{self.kind} {who}: longest gap {self.seconds * 1000:.0f} ms, others lead after {decided}"


def controller_of(cluster: ChaosCluster) -> int:
    with Client(cluster.bootstrap, patient=True) as client:
        return describe_quorum(client).leader


def measure(cluster: ChaosCluster, load: Load, kind: str, controls: bool) -> Gap:
    """Hurt the controller, or a node that is not, and wait until all is well."""
    controller = controller_of(cluster)
    victim, other = [each for each in cluster.nodes if each != controller][:2]
    if controls:
        victim, other = controller, victim
    victims = (victim, other) if kind == "cut link" else (victim,)
    _wait_for_preferred(cluster)
    with Watcher(cluster, TOPIC) as watcher:
        begin = time.monotonic()
        with happening(cluster, Fault(kind, victims, HELD_SECONDS)):
            hold(HELD_SECONDS)
        end = time.monotonic()
    cluster.wait_healed(TOPIC)
    wait_until(lambda: load.acknowledged_since(end, len(cluster.nodes)), timeout_s=SECONDS_MAX, what="acks from all")
    assert not load.errors, f"an error reached the application: {load.errors[0]}"
    return Gap(kind, controls, load.longest_gap(begin, end), watcher.told_without(victim, begin))


def _wait_for_preferred(cluster: ChaosCluster) -> None:
    """Let every node lead one partition, so that whoever is hurt leads something. It is asked for again: who was full a
    moment ago is not elected before it has said that it has room."""

    def does_every_node_lead() -> bool:
        cluster.admin.elect_leaders(ElectionType.PREFERRED).result(SECONDS_MAX)
        return len({cluster.leader_of(TOPIC, each) for each in range(len(cluster.nodes))}) == len(cluster.nodes)

    wait_until(does_every_node_lead, timeout_s=SECONDS_MAX, what="every node leads")


def main() -> int:
    options = _options()
    found: list[Gap] = []
    with tempfile.TemporaryDirectory(prefix="penstock-gaps-") as folder:
        place: Place = (OwnWorld if options.own_world else Loopback)(Path(folder), options.nodes)
        with closing(place), ChaosCluster(place, options.nodes) as cluster:
            cluster.create_topic(TOPIC, options.nodes)
            with Load(cluster.bootstrap, TOPIC) as load:
                hold(1.0)
                kinds = [kind for kind in LIMITS if options.only in (None, kind)]
                kinds = [kind for kind in kinds if options.own_world or not KINDS[kind].needs_own_world]
                for _ in range(options.rounds):
                    for kind in kinds:
                        for controls in (False, True):
                            found.append(measure(cluster, load, kind, controls))
                            print(found[-1], flush=True)
                load.finish()
    over = False
    for kind in sorted({gap.kind for gap in found}):
        longest = max(gap.seconds for gap in found if gap.kind == kind)
        over = over or longest > LIMITS[kind]
        print(f"{kind}: longest gap {longest * 1000:.0f} ms, may be {LIMITS[kind] * 1000:.0f} ms")
    return 1 if over else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.gaps", description=__doc__)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=LIMITS, help="one kind of fault")
    parser.add_argument("--own-world", action="store_true", help="started by unshare: a node can be cut off too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
