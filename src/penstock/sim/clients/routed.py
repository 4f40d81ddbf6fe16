"""A client of a cluster: asks any machine who leads a partition, and then that one, until it is told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from penstock.sim.chance import Chance
from penstock.sim.clients.client import Client, Connection, Disconnected, Surroundings
from penstock.sim.events import Partition
from penstock.sim.script import Script

NOBODY: Final = -1


class RoutedClient(Client):
    """Machines are known by their numbers, which are their nodes' ids too."""

    is_careful = True
    excuses = frozenset(
        {
            ErrorCode.LEADER_NOT_AVAILABLE,
            ErrorCode.NOT_ENOUGH_REPLICAS,
            ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            ErrorCode.FENCED_LEADER_EPOCH,
            ErrorCode.UNKNOWN_LEADER_EPOCH,
            ErrorCode.OFFSET_NOT_AVAILABLE,
            ErrorCode.INVALID_REPLICATION_FACTOR,
            ErrorCode.BROKER_NOT_AVAILABLE,
        }
    )

    def __init__(self, name: str, world: Surroundings, chance: Chance, machines: Sequence[int]) -> None:
        super().__init__(name, world, chance)
        self._machines = machines
        self._leaders: dict[Partition, int] = {}

    def connect(self) -> Script[Connection]:
        """Give a greeted connection to anybody."""
        while self._connection is None or self._connection.closed:
            yield from self._dial(self.chance.pick(self._machines))
        return self._connection

    def connect_to(self, partition: Partition) -> Script[Connection]:
        """Give a greeted connection to whoever leads a partition."""
        while True:
            leader = self._leaders.get(partition)
            if leader is None:
                yield from self._find_leader(partition)
            elif self._connection is None or self._connection.closed or self._connection.number != leader:
                self.disconnect()
                if not (yield from self._dial(leader)):
                    self.lose(partition)
            else:
                return self._connection

    def lose(self, partition: Partition) -> None:
        """Ask again who leads it."""
        self._leaders.pop(partition, None)

    def _dial(self, number: int) -> Script[bool]:
        connection = Connection(self.name, self.world, number)
        try:
            yield connection.ready
        except Disconnected:
            yield from self.back_off()
            return False
        self._connection = connection
        return True

    def _find_leader(self, partition: Partition) -> Script[None]:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=partition.topic)], allow_auto_topic_creation=False)
        # Not whoever was asked last: it may be cut off, and not know it.
        self.disconnect()
        reply = yield from self.insist(request, MetadataResponse)
        for found in reply.topics[0].partitions:
            if found.partition_index == partition.number and found.leader_id != NOBODY:
                self._leaders[partition] = found.leader_id
                return
        yield from self.back_off()
