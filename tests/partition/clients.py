"""Producers of the test world: one batch at a time, sent again until somebody takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.partition.partition import Partition
from penstock.core.records.build import build_batch
from tests.partition.court import Key

if TYPE_CHECKING:
    from tests.partition.broker import Broker
    from tests.partition.network import Reply
    from tests.partition.world import World

TIMEOUT_MS = 150
RETRY_MS = 10


class Waiter:
    """A producer's answer that waits for a commit."""

    def __init__(self, reply: Reply, base_offset: int) -> None:
        self._reply = reply
        self._base_offset = base_offset

    def committed(self, partition: Partition, error: ErrorCode) -> None:
        self._reply(self._base_offset if error is ErrorCode.NONE else error)


class Producer:
    """Writes numbered values to one partition. An idempotent one asks for acks=all and repeats what nobody has
    acknowledged; a plain one asks for acks=1 and never looks back."""

    def __init__(self, world: World, number: int, key: Key, *, idempotent: bool) -> None:
        self._world = world
        self._key = key
        self._id = number
        self._idempotent = idempotent
        self._name = b"%b-%d" % (b"idempotent" if idempotent else b"plain", number)
        self._dice = world.chance.fork(f"producer-{number}")
        self._count = 0
        self._leader = 1
        self._is_busy = False
        self._is_stopped = False

    def start(self) -> None:
        """Go on, unless what was sent before is still being repeated."""
        self._is_stopped = False
        if not self._is_busy:
            self._is_busy = True
            self._world.at(self._dice.between(1, 50), self._send_next)

    def stop(self) -> None:
        """Begin nothing new."""
        self._is_stopped = True

    def _send_next(self) -> None:
        self._is_busy = not self._is_stopped
        if self._is_busy:
            count = self._dice.between(1, 3)
            self._send([b"%b:%d" % (self._name, self._count + n) for n in range(count)])

    def _send(self, values: list[bytes]) -> None:
        broker = self._world.brokers[self._leader]
        self._world.network.ask(
            None,
            broker,
            lambda reply: self._arrive(broker, values, reply),
            lambda answer: self._answered(values, answer),
            TIMEOUT_MS,
        )

    def _arrive(self, broker: Broker, values: list[bytes], reply: Reply) -> None:
        partition = broker.partitions.get(self._key)
        if partition is None:
            reply(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return
        acks = -1 if self._idempotent else 1
        batch = memoryview(self._batch(values))
        try:
            appended = partition.append(batch, 9, self._world.now_ms, acks)
        except ApiError as error:
            reply(error.code)
            return
        if acks == 1:
            self._world.took_alone(broker, self._key, partition.leader_epoch)
        if not partition.wait(appended.next_offset, Waiter(reply, appended.base_offset), acks):
            reply(appended.base_offset)

    def _batch(self, values: list[bytes]) -> bytearray:
        records = [(None, value, (), self._world.now_ms) for value in values]
        if not self._idempotent:
            return build_batch(records)
        return build_batch(records, producer_id=self._id, producer_epoch=0, base_sequence=self._count)

    def _answered(self, values: list[bytes], answer: object) -> None:
        """An offset, an error, or None if nobody answered."""
        is_offset = isinstance(answer, int) and not isinstance(answer, ErrorCode)
        if is_offset and self._idempotent:
            assert isinstance(answer, int)
            for offset, value in enumerate(values, answer):
                self._world.acknowledged(self._key, offset, value)
        if not is_offset:
            self._leader = self._world.leader_seen_by_clients(self._key, self._leader)
        if is_offset or not self._idempotent:
            self._count += len(values)
            self._world.at(self._dice.skewed(2, 60), self._send_next)
        else:
            self._world.counts["retries"] += 1
            self._world.at(RETRY_MS, lambda: self._send(values))
