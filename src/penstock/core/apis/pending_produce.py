"""A produce request that waits: for batches to be read before they are appended, for appends to be committed, or for
its time to be up. What was taken is appended even if nobody waits for it any more."""

from __future__ import annotations

from itertools import chain

from penstock.core.base.errors import ErrorCode
from penstock.core.log.log import Log
from penstock.core.node.deadlines import Deadline
from penstock.core.node.node import Node
from penstock.core.node.serving.api import PENDING, Answer
from penstock.core.node.serving.leader_hints import PRODUCE_HINTS_SINCE, hint_producer
from penstock.core.node.serving.slots import Slot
from penstock.core.partition.partition import Partition
from penstock.core.wire.api.produce import PartitionProduceResponse, ProduceResponse

NO_OFFSET = -1


class PendingProduce:
    """A request with batches that are not committed everywhere yet, or not even appended."""

    __slots__ = ("_deadline", "_failed", "_lettered", "_node", "_response", "_slot", "_staged", "_waiting")

    def __init__(self, slot: Slot, response: ProduceResponse) -> None:
        self._slot = slot
        self._response = response
        self._failed = False
        self._deadline: Deadline | None = None
        # By log: another role may take a partition's place, and those who wait go with it.
        self._waiting: dict[Log, list[PartitionProduceResponse]] = {}
        # What is in the stage of its partition.
        self._staged: list[PartitionProduceResponse] = []
        # What is appended, and has dead letters that are not written yet.
        self._lettered: list[PartitionProduceResponse] = []

    def add(self, partition: Partition, next_offset: int, result: PartitionProduceResponse, acks: int) -> None:
        if partition.wait(next_offset, self, acks):
            self._waiting.setdefault(partition.log, []).append(result)

    def stage(self, result: PartitionProduceResponse) -> None:
        """The batch of this result goes into the stage; `unstage` or `fail` follows, unless its time is up."""
        self._staged.append(result)

    def unstage(self, partition: Partition, next_offset: int, result: PartitionProduceResponse, acks: int) -> None:
        """The batch was appended."""
        if self._leave_stage(result):
            if partition.high_watermark < next_offset:
                self.add(partition, next_offset, result, acks)
            self._settle()

    def fail(self, result: PartitionProduceResponse) -> None:
        """The batch was refused, as the result says."""
        if self._leave_stage(result):
            self._failed = True
            self._settle()

    def withdraw(self, result: PartitionProduceResponse) -> None:
        """The batch did not even get there."""
        self._leave_stage(result)

    def await_letters(self, result: PartitionProduceResponse) -> None:
        """The answer waits for the dead letters of this result's batch; `letters_written` follows."""
        self._lettered.append(result)

    def letters_written(self, result: PartitionProduceResponse) -> None:
        """They are, or the result says why not."""
        before = len(self._lettered)
        self._lettered = [each for each in self._lettered if each is not result]
        if len(self._lettered) < before:
            self._failed = self._failed or result.error_code != ErrorCode.NONE
            self._settle()

    def _leave_stage(self, result: PartitionProduceResponse) -> bool:
        """Whether anybody still waits for it."""
        before = len(self._staged)
        self._staged = [each for each in self._staged if each is not result]
        return len(self._staged) < before

    def start(self, node: Node, timeout_ms: int) -> Answer:
        """The finished response if nothing is left to wait for."""
        if not self._is_held:
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
        self._settle()

    def _settle(self) -> None:
        if self._deadline is not None and not self._is_held:
            self._deadline.cancel()
            self._send()

    @property
    def _is_held(self) -> bool:
        return bool(self._waiting or self._staged or self._lettered)

    def _timed_out(self) -> None:
        for result in chain(self._staged, self._lettered, chain.from_iterable(self._waiting.values())):
            result.error_code, result.base_offset = ErrorCode.REQUEST_TIMED_OUT, NO_OFFSET
        self._waiting.clear()
        self._staged.clear()
        self._lettered.clear()
        self._send()

    def _send(self) -> None:
        if self._failed and self._slot.version >= PRODUCE_HINTS_SINCE:
            hint_producer(self._node.image, self._slot.context.listener, self._response)
        self._slot.reply(self._response)
