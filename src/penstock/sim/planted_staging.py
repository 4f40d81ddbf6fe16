"""Planted bugs of the stage in which batches wait to be read: mistakes in its order, in its end, and in its answers."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.apis.pending_produce import PendingProduce
from penstock.core.apis.produced_batch import ProducedBatch
from penstock.core.base.errors import ErrorCode
from penstock.core.partition.partition import Partition
from penstock.core.partition.stage import Stage, Staged
from penstock.core.wire.api.produce import PartitionProduceResponse, ProduceResponse
from penstock.sim.planted import Patch


def _overtaken_in_the_stage() -> list[Patch]:
    """Each batch has a job of its own, and is appended when that is done."""

    def put(self: Stage, staged: Staged) -> None:
        alone = Stage(self.leader)
        alone._queue.append(staged)
        alone._go_on()

    return [(Stage, "put", put)]


def _passed_without_waiting() -> list[Patch]:
    """What needs no reading does not wait for what does."""
    honest = Stage.put

    def put(self: Stage, staged: Staged) -> None:
        if staged.needs_reading:
            honest(self, staged)
        else:
            staged.ready(self.leader, staged.records)

    return [(Stage, "put", put)]


def _staged_outlives_its_role() -> list[Patch]:
    """What waits is appended by a leader that has become a follower meanwhile."""

    def fail(self: Stage, error: ErrorCode) -> None:
        return None

    return [(Stage, "fail", fail)]


def _answered_from_the_stage() -> list[Patch]:
    """A producer hears where its batch will stand, and that all is well, when it goes into the stage."""
    honest = ProducedBatch._stage

    def stage(self: ProducedBatch, records: memoryview) -> None:
        told = self._result
        told.base_offset, told.log_start_offset = self._partition.log.end_offset, self._partition.log.start_offset
        self._result = PartitionProduceResponse(index=told.index, error_code=0, base_offset=-1)
        self._pending = PendingProduce(self._slot, ProduceResponse(responses=[]))
        honest(self, records)

    return [(ProducedBatch, "_stage", stage)]


def _unstaged_is_committed() -> list[Patch]:
    """A producer hears of its batch when it is appended, however many have it."""

    def unstage(
        self: PendingProduce, partition: Partition, next_offset: int, result: PartitionProduceResponse, acks: int
    ) -> None:
        if self._leave_stage(result):
            self._settle()

    return [(PendingProduce, "unstage", unstage)]


STAGING_BUGS: dict[str, Callable[[], list[Patch]]] = {
    "overtaken in the stage": _overtaken_in_the_stage,
    "stage passed by": _passed_without_waiting,
    "staged outlives its role": _staged_outlives_its_role,
    "answered from the stage": _answered_from_the_stage,
    "unstaged is committed": _unstaged_is_committed,
}
