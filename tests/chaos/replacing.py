"""Nodes of a former commit are replaced one by one by today's, under load: `python -m tests.chaos.replacing --help`

The former commit is taken out of the repository. No error may reach a producer, a consumer of a group, or somebody who
administers the cluster, and nothing may be lost or twice, whichever mixture of nodes serves.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from tests.chaos.checker import complaints_about_records, complaints_about_replicas, read_everything
from tests.chaos.cluster import REPLICAS, ChaosCluster
from tests.chaos.faults import TOPIC, hold
from tests.chaos.load import Load
from tests.chaos.place import Loopback
from tests.chaos.reading import Reading

ROOT = Path(__file__).resolve().parent.parent.parent
FORMER = "e479d787d9cf7b52790dcb247afed588ee54031b"
"""The last one before an API was one value, coordinators had one host, and the node was put into packages."""
NODES = 3
SETTLING_SECONDS = 2.0
MIXED_SECONDS = 2.0
ADMIN_SECONDS_MAX = 30.0
UNWANTED = (" ERROR ", "damage", "set aside", "was cut", "Traceback")
"""What no node says while others are replaced."""


class Outcome(NamedTuple):
    """Of the whole replacement, in seconds where not said otherwise."""

    records: int
    longest_gap: float
    p99: float
    commits: int
    repeated: int
    complaints: list[str]

    def __str__(self) -> str:
        return (
            f"{self.records} records, longest gap {self.longest_gap * 1000:.0f} ms, "
            f"p99 {self.p99 * 1000:.0f} ms, {self.commits} commits, {self.repeated} read again"
        )


def former_program(commit: str, folder: Path) -> Sequence[str]:
    """`penstock` as it was: its source is put into a folder."""
    archive = folder / "former.tar"
    command = ["git", "archive", f"--output={archive}", commit, "src"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    remedy = "a shallow clone gets its history with `git fetch --unshallow`"
    assert done.returncode == 0, f"commit {commit} cannot be taken out of the repository ({remedy}): {done.stderr}"
    with tarfile.open(archive) as content:
        content.extractall(folder / "former", filter="data")
    source = folder / "former" / "src"
    python = ("env", f"PYTHONPATH={source}", sys.executable)
    # Were today's found instead, today's nodes would replace today's, and nothing would show that.
    command = [*python, "-c", "import penstock; print(penstock.__file__)"]
    found = Path(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip())
    assert found.is_relative_to(source), f"{found} would run, and not what was taken out to {source}"
    return (*python, "-m", "penstock.cli.main")


def replace(cluster: ChaosCluster, number: int, program: Sequence[str], *, kills: bool) -> None:
    """Stop a node of one version and start another over its folder."""
    if kills:
        cluster.nodes[number].kill()
    else:
        cluster.stop([number])
    cluster.nodes[number].program = program
    cluster.start([number])
    cluster.wait_healed(TOPIC)


def administer(cluster: ChaosCluster, name: str) -> None:
    """What goes through the controller, whichever node is asked and whichever version controls."""
    setting = ConfigEntry("retention.ms", "86400000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[setting])
    for node in cluster.nodes.values():
        admin = cluster.admin_of(node.number)
        admin.create_topics([NewTopic(name, NODES, REPLICAS)])[name].result(ADMIN_SECONDS_MAX)
        admin.incremental_alter_configs([resource])[resource].result(ADMIN_SECONDS_MAX)
        admin.list_consumer_groups().result(ADMIN_SECONDS_MAX)
        admin.delete_topics([name])[name].result(ADMIN_SECONDS_MAX)


def run(folder: Path, former: Sequence[str], killed: int | None = None) -> Outcome:
    """Replace every node. One may be killed instead of stopped, and once before that as the former one it still is."""
    cluster = ChaosCluster(Loopback(folder, NODES), NODES)
    newest = cluster.nodes[1].program
    for node in cluster.nodes.values():
        node.program = former
    with cluster:
        cluster.create_topic(TOPIC, NODES)
        with Load(cluster.bootstrap, TOPIC) as load, Reading(cluster.bootstrap, TOPIC) as reading:
            hold(SETTLING_SECONDS)
            for number in cluster.nodes:
                if number == killed:
                    replace(cluster, number, former, kills=True)
                replace(cluster, number, newest, kills=number == killed)
                hold(MIXED_SECONDS)
                administer(cluster, f"made-{number}")
            load.finish()
            reading.finish(load.acks)
        found = read_everything(cluster.bootstrap, TOPIC, NODES)
        cluster.stop(cluster.nodes)
        complaints = [line for line in cluster.output().splitlines() if any(word in line for word in UNWANTED)]
        complaints += complaints_about_records(load.acks, found)
        for partition in range(NODES):
            complaints += complaints_about_replicas(cluster.partition_folders(TOPIC, partition), REPLICAS)
    gap = load.longest_gap(0.0, float("inf"))
    return Outcome(len(load.acks), gap, load.p99(), reading.commits, reading.repeated, complaints)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.replacing", description=__doc__)
    parser.add_argument("--former", default=FORMER, help="the commit whose nodes are replaced")
    parser.add_argument("--kill", type=int, choices=range(1, NODES + 1), help="a node that is killed, not stopped")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-replacing-") as place:
        folder = Path(place)
        outcome = run(folder, former_program(options.former, folder), options.kill)
    print(outcome, *outcome.complaints, sep="\n")
    return 1 if outcome.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
