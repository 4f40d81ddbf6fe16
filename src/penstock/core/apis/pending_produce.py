"""A produce request that waits for its appends to be committed, or for its time to be up."""

from __future__ import annotations

from itertools import chain

from penstock.core.base.errors import ErrorCode
from penstock.core.log.log import Log
from penstock.core.node.leader_hints import PRODUCE_HINTS_SINCE, hint_producer
from penstock.core.node.node import Node
from penstock.core.node.slots import PENDING, Answer, Slot
from penstock.core.partition.partition import Partition
from penstock.core.wire.api.produce import PartitionProduceResponse, ProduceResponse

NO_OFFSET = -1


class PendingProduce:
    """A request whose appends are not committed everywhere yet."""

    __slots__ = ("_deadline", "_failed", "_node", "_response", "_slot", "_waiting")

    def __init__(self, slot: Slot, response: ProduceResponse) -> None:
        self._slot = slot
        self._response = response
        self._failed = False
        # By log: another role may take a partition's place, and those who wait go with it.
        self._waiting: dict[Log, list[PartitionProduceResponse]] = {}

    def add(self, partition: Partition, next_offset: int, result: PartitionProduceResponse, acks: int) -> None:
        if partition.wait(next_offset, self, acks):
            self._waiting.setdefault(partition.log, []).append(result)

    def start(self, node: Node, timeout_ms: int) -> Answer:
        """The finished response if nothing is left to wait for."""
        if not self._waiting:
            return self._response
        self._node = node
        self._deadline = node.deadlines.at(node.now_ms + max(timeout_ms, 0), self._timed_out)
        return PENDING

    def committed(self, partition: Partition, error: ErrorCode) -> None:
        results = self._waiting.get(partition.log)
        if results is None:
            return
        # Where a request has two batches for one partition: they are committed oldest first and lost newest first.
        result = results.pop(0 if error is ErrorCode.NONE else -1)
        if not results:
            del self._waiting[partition.log]
        if error is not ErrorCode.NONE:
            result.error_code, result.base_offset = error, NO_OFFSET
            self._failed = True
        if not self._waiting:
            self._deadline.cancel()
            self._send()

    def _timed_out(self) -> None:
        for result in chain.from_iterable(self._waiting.values()):
            result.error_code, result.base_offset = ErrorCode.REQUEST_TIMED_OUT, NO_OFFSET
        self._waiting.clear()
        self._send()

    def _send(self) -> None:
        if self._failed and self._slot.version >= PRODUCE_HINTS_SINCE:
            hint_producer(self._node.image, self._slot.connection.listener, self._response)
        self._slot.reply(self._response)
