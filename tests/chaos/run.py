"""One run: a cluster under load, faults one after the other, and the verdict. `python -m tests.chaos.run --help`

The report says the schedule, what each fault did to the flow of acknowledgements, and the longest gap of each kind.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path

from tests.chaos.checker import complaints_about_records, complaints_about_replicas, read_everything
from tests.chaos.cluster import REPLICAS, ChaosCluster
from tests.chaos.faults import TOPIC, Fault, draw, happening, hold
from tests.chaos.load import Load
from tests.chaos.place import Loopback, OwnWorld, Place
from tests.chaos.sealing import open_sealed, sealing_settings
from tests.waiting import wait_until

RECOVERY_SECONDS_MAX = 60.0
COMPLAINTS_MAX = 10
GAP_SECONDS_MAX = 15.0
"""Beyond the time that a fault lasts: far more than it takes, because the machine may be doing other things."""


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="penstock-chaos-") as folder:
        place: Place = (OwnWorld if options.own_world else Loopback)(Path(folder), options.nodes)
        faults = draw(options.seed, options.nodes, options.faults, options.own_world)
        faults = [fault for fault in faults if options.only in (None, fault.kind)]
        settings = sealing_settings(Path(folder)) if options.sealed else None
        with closing(place), ChaosCluster(place, options.nodes, settings, is_secure=options.secure) as cluster:
            complaints = _run_and_tell(cluster, faults)
    for complaint in complaints[:COMPLAINTS_MAX]:
        print(complaint)
    print(f"seed {options.seed}: {len(complaints)} complaints after {len(faults)} faults")
    return 1 if complaints else 0


def _run_and_tell(cluster: ChaosCluster, faults: list[Fault]) -> list[str]:
    """When something is wrong, the nodes' own words tell more."""
    complaints = ["the run was cut short"]
    try:
        complaints = run(cluster, faults)
    finally:
        if complaints:
            print(cluster.output(), file=sys.stderr)
    return complaints


def run(cluster: ChaosCluster, faults: list[Fault]) -> list[str]:
    """Hurt the cluster under load; what is wrong afterwards."""
    partitions = len(cluster.nodes)
    cluster.create_topic(TOPIC, partitions)
    gaps: dict[str, list[float]] = defaultdict(list)
    complaints: list[str] = []
    with Load(cluster.bootstrap, TOPIC) as load:
        _wait_for_acks(load, partitions)
        for fault in faults:
            gap = _play(cluster, load, fault)
            gaps[fault.kind].append(gap)
            if gap > fault.seconds + GAP_SECONDS_MAX:
                complaints.append(f"slow: nothing was acknowledged for {gap:.1f} s during {fault}")
        load.finish()
    for kind, each in sorted(gaps.items()):
        print(f"{kind}: {len(each)} times, longest gap {max(each) * 1000:.0f} ms, median {_median(each) * 1000:.0f} ms")
    return complaints + _verdict(cluster, load, partitions)


def _play(cluster: ChaosCluster, load: Load, fault: Fault) -> float:
    """Do one thing and wait until the cluster is whole again; the longest gap that a partition's producers saw."""
    print(fault, end=": ", flush=True)
    begin = time.monotonic()
    with happening(cluster, fault):
        hold(fault.seconds)
    cluster.wait_healed(TOPIC)
    _wait_for_acks(load, len(cluster.nodes))
    end = time.monotonic()
    assert not load.errors, f"{fault}: an error reached the application: {load.errors[0]}"
    gap = load.longest_gap(begin, end)
    print(f"longest gap {gap * 1000:.0f} ms, whole again after {end - begin:.1f} s", flush=True)
    return gap


def _wait_for_acks(load: Load, partitions: int) -> None:
    now = time.monotonic()
    wait_until(
        lambda: load.acknowledged_since(now, partitions),
        timeout_s=RECOVERY_SECONDS_MAX,
        what="every partition acknowledges",
    )


def _verdict(cluster: ChaosCluster, load: Load, partitions: int) -> list[str]:
    cluster.wait_healed(TOPIC)
    found = read_everything(cluster.bootstrap, TOPIC, partitions)
    complaints = complaints_about_records(load.acks, found)
    cluster.stop(cluster.nodes)
    open_sealed(cluster)
    for partition in range(partitions):
        complaints += complaints_about_replicas(cluster.partition_folders(TOPIC, partition), REPLICAS)
    print(f"{len(load.acks)} records acknowledged, {len(found)} read, on {len(cluster.nodes)} nodes")
    return complaints


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.run", description=__doc__)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--faults", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="leave out the faults of other kinds")
    parser.add_argument("--secure", action="store_true", help="nodes speak SASL_SSL with each other")
    parser.add_argument("--sealed", action="store_true", help="the nodes encrypt what they keep")
    parser.add_argument("--own-world", action="store_true", help="started by unshare: links and disks can be hurt too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
