"""A cluster's run: topics, then clients at work in a storm, then calm in which everybody must finish, then an audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from penstock.sim.besides import Besides
from penstock.sim.burdens import Burdens
from penstock.sim.clients import hostile_acts
from penstock.sim.clients.admin import Admin
from penstock.sim.clients.client import Client, Disconnected
from penstock.sim.clients.consumer import EARLIEST, LATEST, Consumer, Fetcher
from penstock.sim.clients.hostile import Hostile
from penstock.sim.clients.member import GroupPlan, Member
from penstock.sim.clients.near import NearFetcher
from penstock.sim.clients.offsets import Offsets
from penstock.sim.clients.onlooker import look_on
from penstock.sim.clients.operator import Operator, look_up
from penstock.sim.clients.producer import Producer, ProducerPlan
from penstock.sim.clients.routed import RoutedClient
from penstock.sim.cluster import rack_of
from penstock.sim.cluster_court import ClusterCourt
from penstock.sim.cluster_making import make_cluster, name_of
from penstock.sim.cluster_overview import Overview
from penstock.sim.cluster_spec import ClusterSpec
from penstock.sim.cluster_watch import ClusterWatch, held
from penstock.sim.events import Partition, Read, Stuck
from penstock.sim.model import Model
from penstock.sim.offline import OfflineLogs
from penstock.sim.report import Report, reported
from penstock.sim.scheduler import SECOND
from penstock.sim.script import Actor, Script
from penstock.sim.standstill import Standstill
from penstock.sim.weather import Weather
from penstock.sim.world import World

PREPARE_US_MAX: Final = 120 * SECOND
CALM_US_MAX: Final = 300 * SECOND
SESSIONS: Final = 0.5


class ClusterScenario:
    """Plays a spec in a world."""

    def __init__(self, world: World[ClusterCourt], spec: ClusterSpec) -> None:
        self._world = world
        self._spec = spec
        self._topic_ids: dict[str, bytes] = {}
        self._producers: list[Actor] = []
        self._overview = Overview(world.witness, world.trace)
        self._watches = [
            ClusterWatch(site, self._overview, world.witness, world.trace) for site in world.sites.values()
        ]
        self._besides = Besides(world, spec, self._watches, self._is_over)

    def play(self) -> None:
        """Run it to its end; a violation is raised where it happens."""
        world, scheduler = self._world, self._world.scheduler
        world.boot()
        OfflineLogs(world).look()
        self._finish([world.act("preparer", self._prepare)], PREPARE_US_MAX)
        weather = Weather(world, world.chance.fork("weather"))
        weather.schedule(self._spec.storm)
        Standstill(world, self._overview, self._watches).look()
        self._begin_work()
        scheduler.run_until(scheduler.now_us + self._spec.storm_us)
        weather.end()
        world.winding_down = True
        self._finish(world.actors, CALM_US_MAX)
        self._wait("cluster", self._all_know, CALM_US_MAX)
        self._finish([world.act("auditor", self._audit)], CALM_US_MAX)
        plans = {plan.name: plan for plan in self._spec.all_topics}
        for partition in self._spec.all_partitions:
            self._wait(f"replicas of {partition}", partial(self._is_copied, partition), CALM_US_MAX)
            world.witness.see(held(self._watches, partition, plans[partition.topic].forgets))
        self._wait("drained machines", self._overview.is_drained, CALM_US_MAX)

    def _finish(self, actors: list[Actor], within_us: int) -> None:
        for actor in actors:
            self._wait(actor.name, partial(getattr, actor, "finished"), within_us)

    def _wait(self, who: str, done: Callable[[], bool], within_us: int) -> None:
        scheduler = self._world.scheduler
        if not scheduler.run_while(lambda: not done(), scheduler.now_us + within_us):
            self._world.witness.see(Stuck(who))

    def _all_know(self) -> bool:
        """Whether every machine serves, and knows everything that was decided."""
        nodes = [watch.node for watch in self._watches]
        return all(node is not None and node.image.offset == self._overview.newest.offset for node in nodes)

    def _is_copied(self, partition: Partition) -> bool:
        """Whether nothing moves any more, and every replica has come as far as the others."""
        topic = self._overview.newest.topic(partition.topic)
        assert topic is not None, "it was created and never deleted"
        known = topic.partition(partition.number)
        ends = {watch.number: end for watch in self._watches if (end := watch.end_of(partition)) is not None}
        return not known.is_reassigning and set(ends) == set(known.replicas) and len(set(ends.values())) == 1

    # ---- who works

    def _begin_work(self) -> None:
        world, spec = self._world, self._spec
        for number, plan in enumerate(spec.producers):
            topic_id = self._topic_ids[plan.partition.topic]
            script = _producing(plan, topic_id, self._is_over)
            self._producers.append(world.act(name_of(number), script))
        for partition in {plan.partition: None for plan in spec.producers}:
            world.act(f"consumer-{partition}", partial(self._consume, partition))
        for group in spec.groups:
            for number in range(spec.members_each):
                world.act(f"member-{group.group}-{number}", partial(self._take_part, group))
        for number in range(spec.onlookers):
            world.act(f"onlooker-{number}", self._look_on)
        for number in range(spec.near_readers):
            world.act(f"near-reader-{number}", self._read_near)
        if spec.hostiles:
            Burdens(world, self._watches).look()
        for number in range(spec.hostiles):
            world.act(f"hostile-{number}", self._do_harm)
        for topic in sorted({errand.topic for errand in spec.errands}):
            world.act(f"operator-{topic}", partial(self._operate, topic))
        self._besides.begin(self._topic_ids, ModelArchive(world.witness.model))

    def _is_over(self) -> bool:
        """A run in which little was promised would prove little."""
        return self._world.winding_down and self._world.trace.counts["records-acknowledged"] >= self._spec.records_min

    def _consume(self, partition: Partition, client: Client) -> Script[None]:
        fetcher = Fetcher(client, self._topic_ids, uses_session=client.chance.happens(SESSIONS))
        return Consumer(client, fetcher, [partition], self._all_read).script()

    def _read_near(self, client: Client) -> Script[None]:
        assert isinstance(client, RoutedClient), "there is more than one machine to be near to"
        partition, rack = (
            client.chance.pick(self._spec.partitions),
            rack_of(client.chance.between(1, self._spec.machines)),
        )
        fetcher = NearFetcher(client, self._topic_ids, uses_session=client.chance.happens(SESSIONS), rack=rack)
        return Consumer(client, fetcher, [partition], self._all_read).script()

    def _do_harm(self, client: Client) -> Script[None]:
        machines = [*self._world.sites]
        acts, is_over = hostile_acts.ACTS, lambda: self._world.winding_down
        return Hostile(client, machines, self._spec.partitions, self._topic_ids, acts, is_over).script()

    def _take_part(self, group: GroupPlan, client: Client) -> Script[None]:
        return Member(client, self._fetcher(client), self._offsets(client), group, self._all_read).script()

    def _look_on(self, client: Client) -> Script[None]:
        return look_on(client, self._fetcher(client), self._spec.partitions, self._is_over)

    def _operate(self, topic: str, client: Client) -> Script[None]:
        errands = [errand for errand in self._spec.errands if errand.topic == topic]
        return Operator(client, errands, self._spec.replicas, lambda: self._world.winding_down).script()

    def _fetcher(self, client: Client) -> Fetcher:
        return Fetcher(client, self._topic_ids, uses_session=False)

    def _offsets(self, client: Client) -> Offsets:
        return Offsets(client, self._topic_ids, ModelArchive(self._world.witness.model))

    def _all_read(self, positions: Mapping[Partition, int]) -> bool:
        return all(actor.finished for actor in self._producers) and all(
            position >= self._world.witness.model.known(partition).acknowledged_end
            for partition, position in positions.items()
        )

    # ---- before and after

    def _prepare(self, client: Client) -> Script[None]:
        admin = Admin(client)
        for plan in self._spec.all_topics:
            yield from admin.create(plan)
            yield from admin.topic_id(plan.name)
        yield from self._besides.prepare(client)
        self._topic_ids = yield from admin.topic_ids()
        client.disconnect()

    def _audit(self, client: Client) -> Script[None]:
        yield from Admin(client).topic_ids()
        yield from look_up(client, self._spec.errands)
        for partition in self._spec.partitions:
            yield from self._read_all(client, partition, self._fetcher(client))
        for group in self._spec.groups:
            for partition in group.partitions:
                yield from self._read_commit(client, group.group, partition)
        yield from self._besides.audit(client, self._read_commit)

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

    def _read_commit(self, client: Client, group: str, partition: Partition) -> Script[None]:
        while True:
            try:
                if not (yield from client.find_coordinator(group)):
                    _, code = yield from self._offsets(client).read(group, partition)
                    if not code:
                        return
            except Disconnected:
                pass
            yield from client.back_off()


class ModelArchive:
    """Looks up which commit is due. Where its record stands does not matter: no machine's loss is an excuse."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def due(self, group: str, partition: Partition) -> int:
        return self._model.commits[group, partition].due()

    def shard(self, group: str) -> tuple[None, None]:
        return None, None


def _producing(plan: ProducerPlan, topic_id: bytes, is_over: Callable[[], bool]) -> Callable[[Client], Script[None]]:
    return lambda client: Producer(client, plan, topic_id, is_over).script()


def _insist_on_offset(client: Client, fetcher: Fetcher, partition: Partition, timestamp: int) -> Script[int]:
    while (found := (yield from fetcher.find_offset(partition, timestamp))) is None:
        yield from client.back_off()
    return found


def run_cluster_seed(seed: int, spec: ClusterSpec) -> Report:
    """Run one seed to its end or to its first violation."""
    world = make_cluster(seed, spec)
    return reported(seed, world.scheduler, world.trace, ClusterScenario(world, spec).play)
