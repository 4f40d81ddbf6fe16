"""A scenario: a workload and faults in one world, from the first topic to the last audit.

Four acts: prepare (topics), trouble (everybody works, faults fall), quiet (faults end, everybody must finish), audit
(everything is read once more and compared with the model).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.core.groups.routing import partition_for_group
from penstock.sim.clients.admin import Admin, TopicPlan
from penstock.sim.clients.client import Client, Disconnected
from penstock.sim.clients.consumer import EARLIEST, LATEST, Consumer, Fetcher
from penstock.sim.clients.deleter import Deleter
from penstock.sim.clients.member import GroupPlan, Member
from penstock.sim.clients.mute import Mute
from penstock.sim.clients.offsets import Offsets
from penstock.sim.clients.producer import Producer, ProducerPlan
from penstock.sim.clients.reborn import Haunter, Phoenix, live_and_die
from penstock.sim.court import Court
from penstock.sim.disk import DiskProfile
from penstock.sim.events import Partition, Read, Stuck
from penstock.sim.faults import PEACE, FaultPlan, Injector
from penstock.sim.model import OFFSETS_TOPIC
from penstock.sim.network import NetworkProfile
from penstock.sim.node import SETTINGS
from penstock.sim.offline import OfflineLogs
from penstock.sim.scheduler import SECOND
from penstock.sim.script import Actor, Script, Sleep
from penstock.sim.workloads import Workload
from penstock.sim.world import World

PREPARE_US_MAX = 600 * SECOND
QUIET_US_MAX = 600 * SECOND
FLEETING_ROUNDS = 4
REBIRTHS = 5
SETTLE_US = 8 * SECOND
"""How long the node is left alone before the audit, so that retention has had its say."""
SHARDS = int(SETTINGS["offsets.topic.num.partitions"])


@dataclass(frozen=True, slots=True)
class Spec:
    """All that decides a run, besides its seed."""

    workload: Workload
    faults: FaultPlan = PEACE
    trouble_us: int = 10 * SECOND
    disk: DiskProfile = field(default_factory=DiskProfile)
    network: NetworkProfile = field(default_factory=NetworkProfile)
    settings: Mapping[str, str] = field(default_factory=dict)


class Scenario:
    """Plays a spec in a world."""

    def __init__(self, world: World[Court], spec: Spec) -> None:
        self._world = world
        self._spec = spec
        self._topic_ids: dict[str, bytes] = {}
        self._producers: list[Actor] = []
        self._phoenixes: list[Phoenix] = []

    def play(self) -> None:
        """Run all four acts; a violation is raised where it happens."""
        world = self._world
        world.boot()
        OfflineLogs(world).look()
        self._finish([world.act("preparer", self._prepare)], PREPARE_US_MAX)
        injector = Injector(world.first, world.chance.fork("faults"))
        until_us = world.scheduler.now_us + self._spec.trouble_us
        injector.schedule(self._spec.faults, world.scheduler.now_us, until_us)
        self._begin_work()
        world.scheduler.run_until(until_us)
        injector.end()
        world.winding_down = True
        self._finish(world.actors, QUIET_US_MAX)
        self._finish([world.act("auditor", self._audit)], QUIET_US_MAX)

    def _finish(self, actors: list[Actor], within_us: int) -> None:
        deadline_us = self._world.scheduler.now_us + within_us
        if not self._world.scheduler.run_while(lambda: not all(actor.finished for actor in actors), deadline_us):
            self._world.witness.see(Stuck(next(actor.name for actor in actors if not actor.finished)))

    # ---- who works

    def _begin_work(self) -> None:
        world, workload = self._world, self._spec.workload
        for number, plan in enumerate(workload.producers):
            self._producers.append(world.act(f"producer-{number}", self._producer(plan)))
        for number in range(workload.consumers):
            world.act(f"consumer-{number}", self._consumer)
        for group in workload.groups:
            for number in range(workload.members_each):
                world.act(f"member-{group.group}-{number}", self._member(group))
        for number in range(workload.fleeting_topics):
            world.act(f"admin-{number}", lambda client: Admin(client).come_and_go(client.name, FLEETING_ROUNDS))
        for number in range(workload.deleters):
            world.act(f"deleter-{number}", self._deleter)
        for topic in workload.reborn:
            self._begin_rebirths(Phoenix(topic))
        for number in range(workload.mutes):
            world.act(f"mute-{number}", lambda client: Mute(client).script())

    def _begin_rebirths(self, phoenix: Phoenix) -> None:
        world, name = self._world, phoenix.plan.name
        self._phoenixes.append(phoenix)
        world.act(f"phoenix-{name}", lambda client: live_and_die(client, phoenix, REBIRTHS))
        world.act(f"haunter-{name}", lambda client: Haunter(client, phoenix, self._is_over).script())

    def _is_over(self) -> bool:
        return self._world.winding_down

    def _deleter(self, client: Client) -> Script[None]:
        return Deleter(client, self._fetcher(client), self._spec.workload.deletable, self._is_over).script()

    def _producer(self, plan: ProducerPlan) -> Any:
        topic_id = self._topic_ids[plan.partition.topic]
        return lambda client: Producer(client, plan, topic_id, self._is_over).script()

    def _consumer(self, client: Client) -> Script[None]:
        fetcher = Fetcher(client, self._topic_ids, uses_session=client.chance.happens(0.8))
        return Consumer(client, fetcher, self._spec.workload.partitions, self._all_read).script()

    def _member(self, plan: GroupPlan) -> Any:
        return lambda client: Member(
            client, self._fetcher(client), self._offsets(client), plan, self._all_read
        ).script()

    def _fetcher(self, client: Client) -> Fetcher:
        return Fetcher(client, self._topic_ids, uses_session=False)

    def _offsets(self, client: Client) -> Offsets:
        return Offsets(client, self._topic_ids, WorldArchive(self._world))

    def _all_read(self, positions: Mapping[Partition, int]) -> bool:
        return all(actor.finished for actor in self._producers) and all(
            position >= self._world.witness.model.known(partition).acknowledged_end
            for partition, position in positions.items()
        )

    # ---- before and after

    def _prepare(self, client: Client) -> Script[None]:
        admin = Admin(client)
        for plan in self._spec.workload.topics:
            yield from admin.create(TopicPlan(plan.name, plan.partitions, plan.configs))
        self._topic_ids = yield from admin.topic_ids()
        client.disconnect()

    def _audit(self, client: Client) -> Script[None]:
        yield Sleep(SETTLE_US)
        topic_ids = yield from Admin(client).topic_ids()
        for partition in self._spec.workload.partitions:
            yield from self._read_all(client, partition, self._fetcher(client))
        for phoenix in self._phoenixes:
            fetcher = Fetcher(client, topic_ids, uses_session=False, life=phoenix.partition.life)
            yield from self._read_all(client, phoenix.partition, fetcher)
        for plan in self._spec.workload.groups:
            for partition in plan.partitions:
                yield from self._offsets(client).read(plan.group, partition)

    def _read_all(self, client: Client, partition: Partition, fetcher: Fetcher) -> Script[None]:
        start = yield from fetcher.find_offset(partition, EARLIEST)
        end = yield from fetcher.find_offset(partition, LATEST)
        assert start is not None
        assert end is not None
        position, records, size_bytes = start, list[tuple[int, bytes]](), 0
        while position < end:
            try:
                for part in (yield from fetcher.fetch({partition: position})):
                    records += [record for record in part.records if record[0] >= position]
                    position = part.goes_on_at or position
                    size_bytes += part.size_bytes
            except Disconnected:
                yield from client.back_off()
        self._world.witness.see(Read(partition, start, end, tuple(records), size_bytes))


class WorldArchive:
    """Looks up what is known of commits."""

    def __init__(self, world: World[Court]) -> None:
        self._world = world

    def due(self, group: str, partition: Partition) -> int:
        """The number of the commit that must be there by now."""
        return self._world.witness.model.commits[group, partition].due()

    def shard(self, group: str) -> tuple[Partition, int | None]:
        """The group's shard, and where its log ends now if that can be known."""
        shard = Partition(OFFSETS_TOPIC, partition_for_group(group, SHARDS))
        state = self._world.first.logs().get(shard)
        return shard, None if state is None else state.end_offset
