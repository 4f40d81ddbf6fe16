"""What works in some clusters beside what works in each: a chain of transactions, and a live group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.sim.clients.client import Client
from penstock.sim.clients.offsets import Archive
from penstock.sim.cluster_court import ClusterCourt
from penstock.sim.cluster_spec import ClusterSpec
from penstock.sim.cluster_watch import ClusterWatch
from penstock.sim.events import Partition
from penstock.sim.live_groups.work import LiveGroupWork
from penstock.sim.script import Script
from penstock.sim.transactions.work import ChainWork
from penstock.sim.world import World


class Besides:
    """Both, where a spec has them."""

    def __init__(
        self,
        world: World[ClusterCourt],
        spec: ClusterSpec,
        watches: Sequence[ClusterWatch],
        is_over: Callable[[], bool],
    ) -> None:
        self._chain = None if spec.chain is None else ChainWork(world, spec.chain, watches, is_over)
        self._live = None if spec.live_group is None else LiveGroupWork(world, spec.live_group)

    def prepare(self, client: Client) -> Script[None]:
        if self._chain is not None:
            yield from self._chain.prepare(client)

    def begin(self, topic_ids: Mapping[str, bytes], archive: Archive) -> None:
        """Let everybody begin."""
        if self._chain is not None:
            self._chain.begin(topic_ids, archive)
        if self._live is not None:
            self._live.begin(topic_ids, archive)

    def audit(self, client: Client, read_commit: Callable[[Client, str, Partition], Script[None]]) -> Script[None]:
        if self._live is not None:
            yield from self._live.audit(client, read_commit)
        if self._chain is not None:
            yield from self._chain.audit(client)
