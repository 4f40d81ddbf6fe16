"""One partition's batch of a produce request that does not take the fast path: from where it came in to where it is
appended or refused.

It may have to wait, first for somebody to vouch for its transaction, then for being read; its bytes are kept, and
counted, meanwhile. Once it waits it is appended when its turn comes, whatever has become of the connection.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from penstock.core.apis.pending_produce import NO_OFFSET, PendingProduce
from penstock.core.apis.produce_transactions import ADDS_FROM, is_transactional, not_vouched, transacting, verification
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.serving.slots import Slot
from penstock.core.partition.leader import Leader
from penstock.core.partition.partition import Appended, Partition
from penstock.core.partition.stage import Outcome
from penstock.core.partition.verification import Verification
from penstock.core.records.batch import BatchHeader, read_header
from penstock.core.records.diverting import Diverted
from penstock.core.records.errors import RecordError
from penstock.core.records.validate import NeedsReading
from penstock.core.wire.api.produce import BatchIndexAndErrorMessage, PartitionProduceResponse, ProduceRequest

# Of these a producer wants to know whether what it lacks was deleted, so the answer says where the log starts.
_LOOKED_AT = (
    ErrorCode.INVALID_TIMESTAMP,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.UNKNOWN_PRODUCER_ID,
)


class ProducedBatch:
    """`take` is called once; what comes of it is in the result, at once or when the pending request hears of it."""

    __slots__ = ("_is_waiting", "_node", "_partition", "_pending", "_request", "_result", "_slot", "_vouched")

    def __init__(
        self,
        node: Node,
        partition: Partition,
        request: ProduceRequest,
        slot: Slot,
        pending: PendingProduce,
        result: PartitionProduceResponse,
    ) -> None:
        self._node = node
        self._partition = partition
        self._request = request
        self._slot = slot
        self._pending = pending
        self._result = result
        self._vouched: Verification | None = None
        self._is_waiting = False

    def take(self, records: memoryview) -> None:
        """Append the batch, or let it wait; raises the error its producer gets, unless it waits by then."""
        if self._request.transactional_id is not None and is_transactional(records):
            header = read_header(records)
            vouched = verification(self._node, self._partition, header, self._slot.version >= ADDS_FROM)
            self._vouched = vouched
            if not vouched.is_verified:
                self._await_vouching(vouched, records, header)
                return
        self._append(records)

    def _append(self, records: memoryview) -> None:
        partition, now_ms = self._partition, self._node.now_ms
        if partition.stage is None:
            try:
                appended = partition.append(records, self._slot.version, now_ms, self._request.acks, self._vouched)
            except NeedsReading:
                pass
            else:
                self._appended(partition, appended)
                return
        self._stage(records)

    # Waiting for the coordinator

    def _await_vouching(self, vouched: Verification, records: memoryview, header: BatchHeader) -> None:
        node, version, partition = self._node, self._slot.version, self._partition
        held = bytearray(records)
        self._hold(len(held))
        if vouched.wait(partial(self._heard, held)):
            who = transacting(self._request, version, header)
            node.cluster.transaction_verifier.ask(who, partition.topic, partition.index, vouched.answered)

    def _heard(self, held: bytearray, code: ErrorCode) -> None:
        self._give_back(len(held))
        self._go_on(partial(self._append_vouched, held, code))

    def _append_vouched(self, held: bytearray, code: ErrorCode) -> None:
        if code is not ErrorCode.NONE:
            raise not_vouched(code, self._slot.version)
        if self._partition.removed:
            # Another role of the same replica may have taken its place, and those who wait with it.
            self._partition = self._node.replicas.get(self._partition.topic, self._partition.index) or self._partition
        if self._partition.removed:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._append(memoryview(held))

    # Waiting in the stage

    def _stage(self, records: memoryview) -> None:
        was_waiting, size = self._is_waiting, len(records)
        self._hold(size)
        try:
            self._partition.append_later(records, self._slot.version, self._node.now_ms, partial(self._examined, size))
        except ApiError:
            self._give_back(size)
            if not was_waiting:
                self._pending.withdraw(self._result)
            raise

    def _examined(self, size: int, leader: Leader, outcome: Outcome) -> None:
        self._give_back(size)
        self._go_on(partial(self._append_examined, leader, outcome))

    def _append_examined(self, leader: Leader, outcome: Outcome) -> None:
        if isinstance(outcome, ApiError):
            raise outcome
        if isinstance(outcome, Diverted):
            self._append_diverted(leader, outcome)
            return
        if leader.rules.diverts and leader.has_taken(outcome):
            self._append_diverted(leader, Diverted(outcome, [], outcome))
            return
        appended = leader.append_examined(outcome, self._node.now_ms, self._request.acks, self._vouched)
        self._appended(leader, appended)

    def _append_diverted(self, leader: Leader, diverted: Diverted) -> None:
        """Append what is left; the answer waits for the dead letters as well."""
        letters, size = leader.schemas.dead_letters, len(diverted.whole)
        letters.check(leader, diverted.letters)
        self._hold(size)
        try:
            was_taken = leader.has_taken(diverted.rest)
            rest = bytearray(diverted.rest)
            appended = leader.append_examined(rest, self._node.now_ms, self._request.acks, self._vouched)
        except ApiError:
            self._give_back(size)
            raise
        if self._request.acks != 0:
            self._pending.await_letters(self._result)
        self._appended(leader, appended)
        written = partial(self._letters_written, size)
        if was_taken:
            letters.write_again(leader, appended.base_offset, diverted, written)
        else:
            letters.write(leader, appended.base_offset, diverted.letters, written)

    def _letters_written(self, size: int, error: ApiError | None) -> None:
        self._give_back(size)
        if self._request.acks != 0:
            if error is not None and not self._result.error_code:
                fail(self._node, self._partition.topic, self._result, error)
            self._pending.letters_written(self._result)

    # Both

    def _hold(self, size: int) -> None:
        self._node.staging.take(self._slot.connection, size)
        if self._request.acks != 0 and not self._is_waiting:
            self._pending.stage(self._result)
        self._is_waiting = True

    def _give_back(self, size: int) -> None:
        self._node.staging.give_back(self._slot.connection, size)

    def _go_on(self, step: Callable[[], None]) -> None:
        """Nobody is there any more to raise an error to."""
        try:
            step()
        except ApiError as error:
            fail(self._node, self._partition.topic, self._result, error)
            if self._request.acks == 0:
                self._slot.connection.close()
            self._pending.fail(self._result)

    def _appended(self, partition: Partition, appended: Appended) -> None:
        result, acks = self._result, self._request.acks
        result.base_offset = appended.base_offset
        result.log_append_time_ms = appended.append_time_ms
        result.log_start_offset = partition.log.start_offset
        if self._is_waiting:
            self._pending.unstage(partition, appended.next_offset, result, acks)
        elif partition.high_watermark < appended.next_offset and acks != 0:
            self._pending.add(partition, appended.next_offset, result, acks)


def fail(node: Node, name: str | None, result: PartitionProduceResponse, error: ApiError) -> None:
    """Say in a result why its batch was refused."""
    errors = error.record_errors if isinstance(error, RecordError) else ()
    if name is not None and (traffic := node.replicas.traffic.get(name)) is not None:
        traffic.produces_failed += 1
    partition = node.replicas.get(name, result.index) if name is not None and error.code in _LOOKED_AT else None
    result.error_code, result.base_offset = node.error("Produce", error.code), NO_OFFSET
    result.log_start_offset = NO_OFFSET if partition is None else partition.log.start_offset
    result.record_errors = [
        BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=text) for at, text in errors
    ]
    result.error_message = error.message
