"""A client of a cluster: asks any machine who leads a partition, and then that one, until it is told otherwise.

It has two connections: one to whoever coordinates its group, if it is in one, and one for everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.find_coordinator import Coordinator
from penstock.core.wire.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from penstock.sim.chance import Chance
from penstock.sim.clients.client import NO_EPOCH, Client, ClientWorld, Connection, Disconnected
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

    def __init__(self, name: str, world: ClientWorld, chance: Chance, machines: Sequence[int]) -> None:
        super().__init__(name, world, chance)
        self._machines = machines
        self._leaders: dict[Partition, int] = {}
        self._epochs: dict[Partition, int] = {}
        self._near: dict[Partition, tuple[int, int]] = {}  # Which replica to read from, and until when.
        self._coordinator = NOBODY
        self._to_coordinator: Connection | None = None

    def connect(self) -> Script[Connection]:
        """Give a greeted connection to anybody."""
        while self._connection is None or self._connection.closed:
            self._connection = yield from self._dial(self.chance.pick(self._machines))
        return self._connection

    def connect_to(self, partition: Partition) -> Script[Connection]:
        """Give a greeted connection to whoever leads a partition."""
        return (yield from self._connect_to(partition, lambda leader: leader))

    def connect_to_near(self, partition: Partition) -> Script[Connection]:
        """The same for the replica that its leader has named to read from, if it has."""
        return (yield from self._connect_to(partition, lambda leader: self.near(partition) or leader))

    def _connect_to(self, partition: Partition, choose: Callable[[int], int]) -> Script[Connection]:
        while True:
            leader = self._leaders.get(partition)
            if leader is None:
                yield from self._find_leader(partition)
                continue
            chosen = choose(leader)
            if self._connection is None or self._connection.closed or self._connection.number != chosen:
                self._hang_up()
                self._connection = yield from self._dial(chosen)
                if self._connection is None:
                    self.lose(partition)
            else:
                return self._connection

    def lose(self, partition: Partition) -> None:
        """Ask again who leads it, and who of its replicas is near."""
        self._leaders.pop(partition, None)
        self._near.pop(partition, None)

    def near(self, partition: Partition) -> int | None:
        """The replica to read from, as long as that holds; nothing where that is the leader."""
        machine, until_us = self._near.get(partition, (None, 0))
        return machine if self.world.scheduler.now_us < until_us else None

    def read_from(self, partition: Partition, machine: int, for_us: int) -> None:
        """The leader has named a replica that is nearer."""
        self._near[partition] = machine, self.world.scheduler.now_us + for_us

    def read_from_leader(self, partition: Partition) -> None:
        self._near.pop(partition, None)

    def fetchable(self, positions: dict[Partition, int]) -> dict[Partition, int]:
        """One of them, since each may have another leader."""
        partition = self.chance.pick(list(positions))
        return {partition: positions[partition]}

    def epoch_of(self, partition: Partition) -> int:
        return self._epochs.get(partition, NO_EPOCH)

    def learn_epoch(self, partition: Partition, epoch: int) -> None:
        if epoch > self.epoch_of(partition):
            self._epochs[partition] = epoch
            self.lose(partition)

    def find_coordinator(self, key: str, key_type: int = 0) -> Script[int]:
        """Not of whoever was asked last: it may be cut off, and not know it."""
        self._hang_up()
        return (yield from super().find_coordinator(key, key_type))

    def connect_to_coordinator(self) -> Script[Connection]:
        """Give a greeted connection to the coordinator that was found; one that is gone has to be found again."""
        if self._to_coordinator is None or self._to_coordinator.closed:
            self._to_coordinator = yield from self._dial(self._coordinator)
            if self._to_coordinator is None:
                raise Disconnected
        return self._to_coordinator

    def disconnect(self) -> None:
        self._hang_up()
        self._leave_coordinator()

    # ---- inside

    def _coordinated(self, found: Coordinator) -> int:
        if found.error_code == ErrorCode.NONE and found.node_id != self._coordinator:
            self._leave_coordinator()
            self._coordinator = found.node_id
        return found.error_code

    def _hang_up(self) -> None:
        super().disconnect()

    def _leave_coordinator(self) -> None:
        if self._to_coordinator is not None:
            self._to_coordinator.close()

    def _dial(self, number: int) -> Script[Connection | None]:
        connection = Connection(self.name, self.world, number)
        try:
            yield connection.ready
        except Disconnected:
            yield from self.back_off()
            return None
        return connection

    def _find_leader(self, partition: Partition) -> Script[None]:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=partition.topic)], allow_auto_topic_creation=False)
        # Not whoever was asked last: it may be cut off, and not know it.
        self._hang_up()
        reply = yield from self.insist(request, MetadataResponse)
        for found in reply.topics[0].partitions:
            is_led = found.leader_id != NOBODY and found.leader_epoch >= self.epoch_of(partition)
            if found.partition_index == partition.number and is_led:
                self._leaders[partition] = found.leader_id
                self._epochs[partition] = found.leader_epoch
                return
        yield from self.back_off()
