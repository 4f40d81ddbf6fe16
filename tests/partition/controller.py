"""A controller that never fails, around the decisions of `core/metadata`: sessions, registrations, in-sync sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.alter_partition import plan_alteration
from penstock.core.metadata.broker_fencing import fencing
from penstock.core.metadata.image import RECOVERING, Image, PartitionImage
from penstock.core.wire.api.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from tests.metadata.cluster import Cluster
from tests.partition.court import Key

if TYPE_CHECKING:
    from tests.partition.world import World

SESSION_MS = 150
VERSION = 3


class Controller:
    """Every change makes an image, which every broker gets some time later, if nothing is cut."""

    def __init__(self, world: World, brokers: range) -> None:
        self._world = world
        self.cluster = Cluster(list(brokers))
        self._heard_ms: dict[int, int] = {}
        world.at(10, self._expire)

    @property
    def image(self) -> Image:
        return self.cluster.image

    def partition(self, key: Key) -> PartitionImage:
        return self.cluster.partition(*key)

    def register(self, broker_id: int, incarnation: bytes, previous_epoch: int) -> int | None:
        """A new process; the old one's session ends with that. Gives the epoch of the new one."""
        process = self._world.brokers[broker_id].lineage.incarnation
        if self.cluster.broker(broker_id).incarnation == process != incarnation:
            # It comes late, from a process whose successor is connected.
            return None
        self._fence(broker_id)
        planned = self.cluster.register(broker_id, incarnation_id=incarnation, previous_broker_epoch=previous_epoch)
        self._published()
        return planned.epoch

    def heartbeat(self, broker_id: int, epoch: int, offset: int) -> bool:
        """Whether the broker is who it says and serves; one that has come far enough is let in."""
        if self.cluster.broker(broker_id).epoch != epoch:
            return False
        self._heard_ms[broker_id] = self._world.now_ms
        before = self.image
        self.cluster.beat(broker_id, epoch=epoch, offset=offset)
        if self.image is not before:
            self._published()
        return not self.cluster.broker(broker_id).fenced

    def alter(self, request: AlterPartitionRequest) -> AlterPartitionResponse | ErrorCode:
        before = {key: self.partition(key) for key in self._world.keys}
        try:
            records, answer = plan_alteration(self.image, self.cluster.settings, request, VERSION)
        except ApiError as error:
            return error.code
        self.cluster.apply(records)
        for key, was in before.items():
            now = self.partition(key)
            self._world.counts["shrinks"] += len(now.isr) < len(was.isr)
            self._world.counts["expansions"] += len(now.isr) > len(was.isr)
        if records:
            self._published()
        else:
            self._world.counts["refused alterations"] += 1
        return answer

    def _expire(self) -> None:
        for broker_id, heard_ms in list(self._heard_ms.items()):
            if self._world.now_ms - heard_ms > SESSION_MS:
                self._fence(broker_id)
                self._published()
        self._world.at(10, self._expire)

    def _fence(self, broker_id: int) -> None:
        self._heard_ms.pop(broker_id, None)
        cluster = self.cluster
        cluster.heartbeats.forget(broker_id)
        if not cluster.broker(broker_id).fenced:
            sweep = fencing(cluster.image, cluster.settings, cluster.broker(broker_id))
            cluster.heartbeats.let_go(broker_id, sweep)
            cluster.sweep(sweep)

    def _published(self) -> None:
        self._world.image_changed(self.image)

    def is_recovering(self, key: Key) -> bool:
        return self.partition(key).standing.recovery == RECOVERING
