"""A live group at work in a cluster: processes of both protocols, one after another, until all is quiet and owned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from penstock.sim.clients.client import Client
from penstock.sim.clients.consumer import Fetcher
from penstock.sim.clients.member import GroupPlan
from penstock.sim.clients.offsets import Archive, Offsets
from penstock.sim.clients.troubles import Crashed
from penstock.sim.events import Partition
from penstock.sim.live_groups.classic import ClassicMember
from penstock.sim.live_groups.fate import Fate
from penstock.sim.live_groups.heartbeater import Heartbeater
from penstock.sim.live_groups.holdings import Board, Holdings
from penstock.sim.live_groups.plan import GROUP, LiveGroupPlan
from penstock.sim.scheduler import MS, SECOND
from penstock.sim.script import Script, Sleep
from penstock.sim.world import World

ABSENT_US: Final = (10 * MS, 8 * SECOND)


class LiveGroupWork:
    """What a live group's plan comes to."""

    def __init__(self, world: World[Any], plan: LiveGroupPlan) -> None:
        self._world = world
        self._plan = plan
        self._board = Board(plan.partitions, world.trace.counts)
        self._is_settled = False

    def begin(self, topic_ids: Mapping[str, bytes], archive: Archive) -> None:
        """Let everybody begin."""
        for number in range(self._plan.members):
            self._world.act(f"live-{number}", partial(self._come_and_go, topic_ids, archive))

    def audit(self, client: Client, read_commit: Callable[[Client, str, Partition], Script[None]]) -> Script[None]:
        """Read what is committed once more."""
        for partition in self._plan.partitions:
            yield from read_commit(client, GROUP, partition)

    def _come_and_go(self, topic_ids: Mapping[str, bytes], archive: Archive, client: Client) -> Script[None]:
        """One process after another."""
        life = 0
        while not self._is_over():
            yield Sleep(client.chance.between(*ABSENT_US))
            life += 1
            offsets = Offsets(client, topic_ids, archive)
            holdings = Holdings(client, offsets, GROUP, f"{client.name}/{life}", self._board)
            try:
                yield from self._process(client, life, holdings, offsets, topic_ids)
            except Crashed:
                holdings.keep()
            client.disconnect()

    def _process(
        self, client: Client, life: int, holdings: Holdings, offsets: Offsets, topic_ids: Mapping[str, bytes]
    ) -> Script[None]:
        plan, fate = self._plan, Fate(client.chance, self._plan, self._is_quiet, self._is_over)
        if client.chance.happens(plan.classic):
            fetcher = Fetcher(client, topic_ids, uses_session=False)
            group = GroupPlan(GROUP, plan.partitions, cooperative=plan.is_cooperative)
            return ClassicMember(client, fetcher, offsets, group, holdings, fate).live()
        topic_id = topic_ids[plan.topic.name]
        return Heartbeater(client, plan, holdings, fate, topic_id, f"{client.name}-{life}").live()

    def _is_quiet(self) -> bool:
        return self._world.winding_down

    def _is_over(self) -> bool:
        """From the moment on at which all is quiet and each partition has one holder."""
        self._is_settled = self._is_settled or (self._world.winding_down and self._board.is_settled)
        return self._is_settled
