"""A query with an exactly-once sink in a simulated cluster, from a seed to the verdict."""

from __future__ import annotations

from collections import Counter
from typing import Any

from penstock.sim.chance import Chance
from penstock.sim.clients.admin import TopicPlan
from penstock.sim.clients.client import Client
from penstock.sim.events import Partition
from penstock.sim.script import Script
from penstock.sim.transactions.sink import ATTEMPTS, LONG_MS, QUERY, TASKS, Fates, Protocol, SinkWork
from penstock.testing import SimCluster
from penstock.testing.simulated import _create

NODES = 3
BATCHES = 4
CALM_S_MAX = 600.0
WAIT_S_MAX = 20.0
"""Of a reader, when the query was started again: much less than the longer of the transactions' timeouts."""
SETTINGS = {
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}
TWO_PHASE = {"unstable.api.versions.enable": "true", "transaction.two.phase.commit.enable": "true"}
SOME_DIE = Fates()


class Fault(AssertionError):
    """What a query must not do."""


class WrongCount(Fault):
    """Rows are missing or there again."""


class LeftOpen(Fault):
    """A transaction is in the way of readers, and nobody ends it."""


class TooManyIds(Fault):
    """The coordinators have to remember more of a query with each batch."""


class LostInVain(Fault):
    """What was recorded had been aborted, and no timeout did it."""


def storm_of(seed: int) -> str:
    chance = Chance(seed).fork("storm")
    lines = []
    for number in range(4):
        at = 1 + 3 * number
        node = chance.between(1, NODES)
        lines.append(f"at {at} s {chance.pick(('crash', 'isolate', 'pause'))} {node} for 2 s")
    return "\n".join(lines)


def run_sink(seed: int, two_phase: bool, protocol: Protocol | None = None, fates: Fates = SOME_DIE) -> SinkWork:
    settings = SETTINGS | (TWO_PHASE if two_phase else {})
    cluster = SimCluster(NODES, seed=seed, settings=settings)
    with cluster:
        outputs, commits = (Partition("out", 0), Partition("out", 1)), Partition("commits", 0)
        for plan in (TopicPlan("out", 2, {}, NODES), TopicPlan("commits", 1, {"cleanup.policy": "compact"}, NODES)):
            job = cluster._start(lambda client, plan=plan: _create(client, plan), f"creator of {plan.name}")
            cluster._wait_for(job, CALM_S_MAX)
        work = SinkWork(cluster._world, outputs, commits, BATCHES, two_phase, protocol or Protocol(), fates)
        cluster.storm(storm_of(seed))
        job = cluster._start(work.script, "spark")
        cluster._wait_for(job, CALM_S_MAX)
        cluster.finish()
        for where in (*outputs, commits):
            # A leader that was cut off and does not know of the next one yet would tell of the past.
            cluster._run_while(lambda where=where: not cluster._is_copied(where), CALM_S_MAX, f"replicas of {where}")
        job = cluster._start(work.clear_up, "spark again")
        cluster._wait_for(job, CALM_S_MAX)
        if work.lost and min(fates.timeouts_ms) == LONG_MS:
            raise LostInVain(f"seed {seed}: {work.lost} parts were written again")
        ask: Any = cluster._start(lambda client: ids(work, client), "judge of ids")
        cluster._wait_for(ask, CALM_S_MAX)
        if len(ask.result) > TASKS * ATTEMPTS:
            raise TooManyIds(f"seed {seed}: {ask.result}")
        for where in outputs:
            audit: Any = cluster._start(lambda client, where=where: read(work, client, where), f"judge of {where}")
            before = cluster.now
            cluster._wait_for(audit, CALM_S_MAX)
            if cluster.now - before > WAIT_S_MAX:
                raise LeftOpen(f"seed {seed}: readers of {where} waited for {cluster.now - before:.0f} s")
            found = Counter(audit.result)
            if found != work.expected(where):
                raise WrongCount(
                    f"seed {seed}: {where} has {found - work.expected(where)} too much, lacks "
                    f"{work.expected(where) - found}"
                )
    return work


def ids(work: SinkWork, client: Client) -> Script[list[str]]:
    found = yield from work.desk(client).known(QUERY)
    client.disconnect()
    return found


def read(work: SinkWork, client: Client, where: Partition) -> Script[list[bytes]]:
    found = yield from work.desk(client).committed(where)
    client.disconnect()
    return found
