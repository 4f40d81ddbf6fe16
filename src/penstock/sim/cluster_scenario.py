"""A cluster's run: topics, then clients at work in a storm, then calm in which everybody must finish, then an audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from penstock.sim.chance import Chance
from penstock.sim.clients.admin import Admin, TopicPlan
from penstock.sim.clients.client import Client, Disconnected
from penstock.sim.clients.consumer import EARLIEST, LATEST, Consumer, Fetcher
from penstock.sim.clients.producer import Producer, ProducerPlan
from penstock.sim.cluster import ClusterNodes
from penstock.sim.cluster_court import ClusterCourt
from penstock.sim.cluster_watch import ClusterWatch, held
from penstock.sim.disk import DiskProfile
from penstock.sim.events import Partition, Read, Stuck
from penstock.sim.network import NetworkProfile
from penstock.sim.report import Report, reported
from penstock.sim.rules import rules_of
from penstock.sim.scheduler import MS, SECOND
from penstock.sim.script import Actor, Script
from penstock.sim.storm import Fault, draw_storm
from penstock.sim.weather import Weather
from penstock.sim.world import World

STORM_US: Final = 60 * SECOND
FAULTS_MIN: Final = 10
RECORDS_MIN: Final = 1_000
PREPARE_US_MAX: Final = 120 * SECOND
CALM_US_MAX: Final = 300 * SECOND
REPLICAS_MAX: Final = 3
THINK_US_MAX: Final = 800 * MS
TAKES_WHAT_IS_NOT_SYNCED: Final = frozenset({"power-loss", "failed-sync"})
NEVER: Final = str((1 << 63) - 1)
ACKS_ALL: Final = -1


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """All that decides a run, besides its seed."""

    machines: int
    storm: tuple[Fault, ...] = ()
    storm_us: int = STORM_US
    records_min: int = RECORDS_MIN
    topics: tuple[TopicPlan, ...] = ()
    producers: tuple[ProducerPlan, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    disk: DiskProfile = field(default_factory=DiskProfile)
    network: NetworkProfile = field(default_factory=NetworkProfile)

    @property
    def partitions(self) -> tuple[Partition, ...]:
        return tuple(Partition(topic.name, number) for topic in self.topics for number in range(topic.partitions))


def draw_cluster(seed: int, machines: int) -> ClusterSpec:
    """A workload, and a storm that takes nothing from it that was promised."""
    chance = Chance(seed).fork("spec")
    storm = draw_storm(chance, machines, STORM_US, FAULTS_MIN)
    is_synced = chance.happens(0.5)
    topics = _draw_topics(chance, machines, is_synced)
    partitions = [Partition(topic.name, number) for topic in topics for number in range(topic.partitions)]
    return ClusterSpec(
        machines,
        storm=storm if is_synced else _bearable(storm, unlucky=chance.between(1, machines)),
        topics=topics,
        producers=_draw_producers(chance, partitions),
        disk=DiskProfile(inline=chance.pick((0.0, 0.5, 0.9, 1.0))),
        network=NetworkProfile(drips=chance.pick((0.0, 0.05))),
    )


def _bearable(storm: tuple[Fault, ...], unlucky: int) -> tuple[Fault, ...]:
    """Records that are not synced before they are acknowledged survive the power loss of one of two that have them, and
    not of both: so only one machine ever loses its power."""
    return tuple(fault for fault in storm if fault.one == unlucky or fault.kind not in TAKES_WHAT_IS_NOT_SYNCED)


def _draw_topics(chance: Chance, machines: int, is_synced: bool) -> tuple[TopicPlan, ...]:
    replicas = min(REPLICAS_MAX, machines)
    configs = {
        "min.insync.replicas": str(min(2, replicas)),
        "flush.messages": "1" if is_synced else NEVER,
        "segment.ms": str(chance.pick((5_000, 600_000))),
        "retention.ms": "-1",
    }
    return (TopicPlan("kept", chance.between(1, 3), configs, replicas),)


def _draw_producers(chance: Chance, partitions: list[Partition]) -> tuple[ProducerPlan, ...]:
    """For each partition one who is promised something, and one who may have asked for less. Whoever sends more at
    once thinks longer, and so do many: all runs are about as large."""
    plans = []
    for partition in partitions:
        for acks in (ACKS_ALL, chance.pick((ACKS_ALL, ACKS_ALL, 1, 0))):
            window_max = 5 if acks == ACKS_ALL and chance.happens(0.7) else 1
            think_us_max = window_max * len(partitions) * THINK_US_MAX
            plans.append(ProducerPlan(partition, acks, window_max > 1, window_max, think_us_max))
    return tuple(plans)


class ClusterScenario:
    """Plays a spec in a world."""

    def __init__(self, world: World[ClusterCourt], spec: ClusterSpec) -> None:
        self._world = world
        self._spec = spec
        self._topic_ids: dict[str, bytes] = {}
        self._producers: list[Actor] = []
        self._watches = [ClusterWatch(site, world.witness, world.trace) for site in world.sites.values()]

    def play(self) -> None:
        """Run it to its end; a violation is raised where it happens."""
        world, scheduler = self._world, self._world.scheduler
        world.boot()
        self._finish([world.act("preparer", self._prepare)], PREPARE_US_MAX)
        weather = Weather(world, world.chance.fork("weather"))
        weather.schedule(self._spec.storm)
        self._begin_work()
        scheduler.run_until(scheduler.now_us + self._spec.storm_us)
        weather.end()
        world.winding_down = True
        self._finish(world.actors, CALM_US_MAX)
        self._finish([world.act("auditor", self._audit)], CALM_US_MAX)
        self._wait("cluster", self._all_serve, CALM_US_MAX)
        for partition in self._spec.partitions:
            self._wait(f"replicas of {partition}", partial(self._is_copied, partition), CALM_US_MAX)
            world.witness.see(held(self._watches, partition))

    def _finish(self, actors: list[Actor], within_us: int) -> None:
        for actor in actors:
            self._wait(actor.name, partial(getattr, actor, "finished"), within_us)

    def _wait(self, who: str, done: Callable[[], bool], within_us: int) -> None:
        scheduler = self._world.scheduler
        if not scheduler.run_while(lambda: not done(), scheduler.now_us + within_us):
            self._world.witness.see(Stuck(who))

    def _all_serve(self) -> bool:
        return all(site.machine.running for site in self._world.sites.values())

    def _is_copied(self, partition: Partition) -> bool:
        """Whether every replica has come as far as the others."""
        ends = [end for watch in self._watches if (end := watch.end_of(partition)) is not None]
        replicas = next(topic.replicas for topic in self._spec.topics if topic.name == partition.topic)
        return len(ends) == replicas and len(set(ends)) == 1

    # ---- who works

    def _begin_work(self) -> None:
        world, spec = self._world, self._spec
        for number, plan in enumerate(spec.producers):
            topic_id = self._topic_ids[plan.partition.topic]
            script = _producing(plan, topic_id, self._is_over)
            self._producers.append(world.act(_name(number), script))
        for partition in spec.partitions:
            world.act(f"consumer-{partition}", self._consuming(partition))

    def _is_over(self) -> bool:
        """A run in which little was promised would prove little."""
        return self._world.winding_down and self._world.trace.counts["records-acknowledged"] >= self._spec.records_min

    def _consuming(self, partition: Partition) -> Callable[[Client], Script[None]]:
        return lambda client: Consumer(client, self._fetcher(client), [partition], self._all_read).script()

    def _fetcher(self, client: Client) -> Fetcher:
        return Fetcher(client, self._topic_ids, uses_session=False)

    def _all_read(self, positions: Mapping[Partition, int]) -> bool:
        return all(actor.finished for actor in self._producers) and all(
            position >= self._world.witness.model.known(partition).acknowledged_end
            for partition, position in positions.items()
        )

    # ---- before and after

    def _prepare(self, client: Client) -> Script[None]:
        admin = Admin(client)
        for plan in self._spec.topics:
            yield from admin.create(plan)
            yield from admin.topic_id(plan.name)
        self._topic_ids = yield from admin.topic_ids()
        client.disconnect()

    def _audit(self, client: Client) -> Script[None]:
        yield from Admin(client).topic_ids()
        for partition in self._spec.partitions:
            yield from self._read_all(client, partition, self._fetcher(client))

    def _read_all(self, client: Client, partition: Partition, fetcher: Fetcher) -> Script[None]:
        start = yield from _insist_on_offset(client, fetcher, partition, EARLIEST)
        end = yield from _insist_on_offset(client, fetcher, partition, LATEST)
        position, records, size_bytes = start, list[tuple[int, bytes]](), 0
        while position < end:
            try:
                for part in (yield from fetcher.fetch({partition: position})):
                    records += [record for record in part.records if position <= record[0] < end]
                    position = part.goes_on_at or position
                    size_bytes += part.size_bytes
            except Disconnected:
                yield from client.back_off()
        self._world.witness.see(Read(partition, start, end, tuple(records), size_bytes))


def _name(number: int) -> str:
    return f"producer-{number}"


def _producing(plan: ProducerPlan, topic_id: bytes, is_over: Callable[[], bool]) -> Callable[[Client], Script[None]]:
    return lambda client: Producer(client, plan, topic_id, is_over).script()


def _insist_on_offset(client: Client, fetcher: Fetcher, partition: Partition, timestamp: int) -> Script[int]:
    while (found := (yield from fetcher.find_offset(partition, timestamp))) is None:
        yield from client.back_off()
    return found


def make_cluster(seed: int, spec: ClusterSpec) -> World[ClusterCourt]:
    """A world of real nodes, none of them started yet."""
    rules = {topic.name: rules_of(topic.configs) for topic in spec.topics}
    hopeful = frozenset(_name(number) for number, plan in enumerate(spec.producers) if plan.acks != ACKS_ALL)
    return World(
        seed,
        ClusterNodes(spec.machines, spec.settings),
        lambda scheduler, trace: ClusterCourt(scheduler, trace, rules, hopeful),
        spec.disk,
        spec.network,
        machines=spec.machines,
    )


def run_cluster_seed(seed: int, spec: ClusterSpec) -> Report:
    """Run one seed to its end or to its first violation."""
    world = make_cluster(seed, spec)
    return reported(seed, world.scheduler, world.trace, ClusterScenario(world, spec).play)
