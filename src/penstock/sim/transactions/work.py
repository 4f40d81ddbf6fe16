"""A chain at work in a cluster: its programs and readers, a watch over what hangs, and the audit when all is quiet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any, Final

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.features import TRANSACTION_VERSION
from penstock.core.wire.api.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse
from penstock.sim.clients.chain_link import Link, LinkMember, LinkTwin
from penstock.sim.clients.chain_source import ChainSource
from penstock.sim.clients.client import Client, Disconnected
from penstock.sim.clients.committed import CommittedFetcher, CommittedPart, read_committed
from penstock.sim.clients.consumer import LATEST
from penstock.sim.clients.offsets import Archive, Offsets
from penstock.sim.clients.routed import RoutedClient
from penstock.sim.clients.transactor import SECOND_PROTOCOL, ProgramPlan, Transactor
from penstock.sim.clients.troubles import Troubles
from penstock.sim.cluster import rack_of
from penstock.sim.cluster_watch import ClusterWatch
from penstock.sim.events import Partition
from penstock.sim.model import OFFSETS_TOPIC
from penstock.sim.scheduler import SECOND
from penstock.sim.script import Actor, Script, Sleep
from penstock.sim.transactions.events import ChainRead, Hanging
from penstock.sim.transactions.plan import ChainPlan, LinkPlan, partitions_of
from penstock.sim.transactions.values import root_of
from penstock.sim.world import World

UPGRADE: Final = 1
DOWNGRADE: Final = 2
FLIP_US_MAX: Final = 15 * SECOND
LOOK_US: Final = 2 * SECOND
HANGS_US: Final = 60 * SECOND
READERS: Final = 2


class ChainWork:
    """What a chain's plan comes to."""

    def __init__(
        self, world: World[Any], plan: ChainPlan, watches: Sequence[ClusterWatch], is_over: Callable[[], bool]
    ) -> None:
        self._world = world
        self._plan = plan
        self._watches = watches
        self._is_over = is_over
        self._topic_ids: Mapping[str, bytes] = {}
        self._stages: list[list[Actor]] = []
        self._stable: dict[Partition, tuple[int, int]] = {}
        for watch in watches:
            watch.chained = frozenset(topic.name for topic in plan.topics)

    def prepare(self, client: Client) -> Script[None]:
        """Agree on the level of transactions."""
        if self._plan.level < SECOND_PROTOCOL:
            yield from self._agree(client, self._plan.level)

    def begin(self, topic_ids: Mapping[str, bytes], archive: Archive) -> None:
        """Let everybody begin."""
        world, plan, self._topic_ids = self._world, self._plan, topic_ids
        self._stages = [
            [world.act(f"chain-{each.transactional_id}", partial(self._source, each)) for each in plan.sources]
        ]
        for stage, link in enumerate(plan.links):
            begun = [
                world.act(f"chain-{link.group.group}-{number}", partial(self._link, stage, link, each, archive))
                for number, each in enumerate(link.programs)
            ]
            self._stages.append(begun)
        for number in range(READERS):
            world.act(f"chain-reader-{number}", self._read)
        if plan.flips:
            world.act("chain-operator", self._flip)
        self._look()

    def audit(self, client: Client) -> Script[None]:
        """Read everything once more, in each rack; each topic must have what came of the one before."""
        inputs: list[str] | None = None
        for number, topic in enumerate(self._plan.topics):
            outputs: list[str] = []
            for each in partitions_of(topic):
                for machine in self._world.sites:
                    found = yield from self._read_all(client, machine, each)
                outputs += found
            if inputs is not None:
                group = self._plan.links[number - 1].group.group
                self._world.witness.see(ChainRead(topic.name, group, tuple(inputs), tuple(outputs)))
            inputs = outputs

    # ---- who works

    def _source(self, plan: ProgramPlan, client: Client) -> Script[None]:
        troubles = self._troubles(client, plan)

        def live(number: int) -> Transactor:
            mine = replace(plan, transactional_id=f"{plan.transactional_id}-{number}")
            return self._live(client, mine, troubles)

        return ChainSource(client, live, partitions_of(self._plan.topics[0]), self._is_over).script()

    def _link(self, stage: int, plan: LinkPlan, program: ProgramPlan, archive: Archive, client: Client) -> Script[None]:
        troubles, fetcher = self._troubles(client, program), self._fetcher(client)
        live, is_done = partial(self._live, client, program, troubles), partial(self._is_done, stage)
        link = Link(client, fetcher, plan.group.group, plan.outputs, troubles)
        if not plan.are_members:
            return LinkTwin(client, plan.group, is_done, link, live, self._topic_ids).script()
        offsets = Offsets(client, self._topic_ids, archive)
        return LinkMember(client, fetcher, offsets, plan.group, is_done, link, live, self._topic_ids).script()

    def _read(self, client: Client) -> Script[None]:
        fetcher = self._fetcher(client, uses_session=True)
        return read_committed(client, fetcher, self._plan.partitions, self._are_done)

    def _flip(self, client: Client) -> Script[None]:
        """Let the level go down and up, whatever is open; programs go on as they have begun."""
        level = self._plan.level
        while not self._world.winding_down:
            yield Sleep(client.chance.between(1, FLIP_US_MAX))
            level = SECOND_PROTOCOL + 1 - level
            yield from self._agree(client, level)
        client.disconnect()

    def _agree(self, client: Client, level: int) -> Script[None]:
        kind = UPGRADE if level == SECOND_PROTOCOL else DOWNGRADE
        update = FeatureUpdateKey(feature=TRANSACTION_VERSION, max_version_level=level, upgrade_type=kind)
        request = UpdateFeaturesRequest(feature_updates=[update])
        while (yield from client.insist(request, UpdateFeaturesResponse)).error_code != ErrorCode.NONE:
            yield from client.back_off()

    def _live(self, client: Client, plan: ProgramPlan, troubles: Troubles) -> Transactor:
        desk = RoutedClient(client.name, self._world, client.chance.fork("desk"), [*self._world.sites])
        return Transactor(client, desk, plan, self._topic_ids, troubles)

    def _troubles(self, client: Client, plan: ProgramPlan) -> Troubles:
        return Troubles(client.chance.fork("troubles"), lambda: self._world.winding_down, plan.hurries)

    def _fetcher(self, client: Client, uses_session: bool = False) -> CommittedFetcher:
        return self._fetcher_in(client, client.chance.between(1, len(self._world.sites)), uses_session)

    def _fetcher_in(self, client: Client, machine: int, uses_session: bool = False) -> CommittedFetcher:
        assert isinstance(client, RoutedClient), "there is more than one machine to be near to"
        return CommittedFetcher(client, self._topic_ids, uses_session, rack_of(machine))

    def _is_done(self, stage: int, positions: Mapping[Partition, int]) -> bool:
        """Whether all is read that will ever be written there."""
        return all(actor.finished for actor in self._stages[stage]) and self._reach(positions)

    def _reach(self, positions: Mapping[Partition, int]) -> bool:
        transactions = self._world.witness.model.transactions
        return all(position >= transactions.acknowledged_end(each) for each, position in positions.items())

    def _are_done(self) -> bool:
        return all(actor.finished for actors in self._stages for actor in actors)

    # ---- who watches

    def _look(self) -> None:
        """Once nothing disturbs anybody, an open transaction ends soon."""
        now_us = self._world.scheduler.now_us
        for each in self._watched() if self._world.winding_down else ():
            for watch in self._watches:
                found = watch.stable_end(each)
                if found is not None:
                    self._judge(each, *found, now_us)
        self._world.scheduler.after(LOOK_US, self._look)

    def _judge(self, each: Partition, stable_end: int, high_watermark: int, now_us: int) -> None:
        before, since_us = self._stable.get(each, (None, 0))
        if before != stable_end or stable_end == high_watermark:
            self._stable[each] = stable_end, now_us
        elif now_us - since_us > HANGS_US:
            self._world.witness.see(Hanging(each, stable_end, high_watermark))

    def _watched(self) -> list[Partition]:
        newest = self._watches[0].newest.topic(OFFSETS_TOPIC)
        shards = 0 if newest is None else len(newest)
        return [*self._plan.partitions, *(Partition(OFFSETS_TOPIC, index) for index in range(shards))]

    # ---- the audit

    def _read_all(self, client: Client, machine: int, partition: Partition) -> Script[list[str]]:
        """All that counts, from a machine's rack; where that gives a damaged batch, the rest from the next one's. A bit
        that flips in an active segment, or behind the scrub, is not found before the scrub comes by again."""
        racks = cycle(sorted(self._world.sites, key=lambda each: (each < machine, each)))
        fetcher = self._fetcher_in(client, next(racks))
        client.lose(partition)
        position, roots = 0, list[str]()
        end = yield from self._end_of(client, fetcher, partition)
        while position < end:
            try:
                for part in (yield from fetcher.fetch({partition: position})):
                    assert isinstance(part, CommittedPart), "its fetcher gives nothing else"
                    roots += [root_of(value) for offset, value in part.records if offset >= position]
                    position = part.goes_on_at or position
                    if part.damaged:
                        fetcher = self._fetcher_in(client, next(racks))
                        client.lose(partition)
            except Disconnected:
                yield from client.back_off()
        return roots

    def _end_of(self, client: Client, fetcher: CommittedFetcher, partition: Partition) -> Script[int]:
        while (end := (yield from fetcher.find_offset(partition, LATEST))) is None:
            yield from client.back_off()
        return end
