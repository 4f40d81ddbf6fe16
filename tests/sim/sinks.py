"""A query with an exactly-once sink in a simulated cluster, from a seed to the verdict."""

from __future__ import annotations

from collections import Counter
from typing import Any

from penstock.sim.chance import Chance
from penstock.sim.clients.admin import TopicPlan
from penstock.sim.clients.client import Client
from penstock.sim.events import Partition
from penstock.sim.script import Script
from penstock.sim.transactions.sink import Protocol, SinkWork
from penstock.testing import SimCluster
from penstock.testing.simulated import _create

NODES = 3
BATCHES = 4
CALM_S_MAX = 600.0
SETTINGS = {
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}
TWO_PHASE = {"unstable.api.versions.enable": "true", "transaction.two.phase.commit.enable": "true"}


class WrongCount(AssertionError):
    """Rows are missing or there again."""


def storm_of(seed: int) -> str:
    chance = Chance(seed).fork("storm")
    lines = []
    for number in range(4):
        at = 1 + 3 * number
        node = chance.between(1, NODES)
        lines.append(f"at {at} s {chance.pick(('crash', 'isolate', 'pause'))} {node} for 2 s")
    return "\n".join(lines)


def run_sink(seed: int, two_phase: bool, protocol: Protocol | None = None) -> SinkWork:
    settings = SETTINGS | (TWO_PHASE if two_phase else {})
    cluster = SimCluster(NODES, seed=seed, settings=settings)
    with cluster:
        outputs, commits = (Partition("out", 0), Partition("out", 1)), Partition("commits", 0)
        for plan in (TopicPlan("out", 2, {}, NODES), TopicPlan("commits", 1, {"cleanup.policy": "compact"}, NODES)):
            job = cluster._start(lambda client, plan=plan: _create(client, plan), f"creator of {plan.name}")
            cluster._wait_for(job, CALM_S_MAX)
        work = SinkWork(cluster._world, outputs, commits, BATCHES, two_phase, protocol or Protocol())
        cluster.storm(storm_of(seed))
        job = cluster._start(work.script, "spark")
        cluster._wait_for(job, CALM_S_MAX)
        cluster.finish()
        for where in outputs:
            audit: Any = cluster._start(lambda client, where=where: read(work, client, where), f"judge of {where}")
            cluster._wait_for(audit, CALM_S_MAX)
            found = Counter(audit.result)
            if found != work.expected(where):
                raise WrongCount(
                    f"seed {seed}: {where} has {found - work.expected(where)} too much, lacks "
                    f"{work.expected(where) - found}"
                )
    return work


def read(work: SinkWork, client: Client, where: Partition) -> Script[list[bytes]]:
    found = yield from work.desk(client).committed(where)
    client.disconnect()
    return found
