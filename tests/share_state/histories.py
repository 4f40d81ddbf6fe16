"""Long lives of a share coordinator by seeds, beside a twin that keeps each offset for itself and forgets nothing.

Leaders and group coordinators ask with right and wrong epochs; the log is cut, cold states are written once more, and
whoever is in charge next folds what is left.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from penstock.core.base.errors import ErrorCode
from tests.share_state.coordinator import PARTITIONS, Coordinator

STEPS: Final = 60
OFFSETS: Final = 24
UNCHANGED: Final = -1
Fate = tuple[int, int]
"""(deliveries, state)"""


class Twin:
    """What one partition's state has to be."""

    def __init__(self, state_epoch: int, leader_epoch: int, start: int) -> None:
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start = start
        self.complete = UNCHANGED if start == UNCHANGED else 0
        self.fates: dict[int, Fate] = {}

    def fenced(self, leader_epoch: int, state_epoch: int) -> ErrorCode:
        if leader_epoch < self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.FENCED_STATE_EPOCH if state_epoch < self.state_epoch else ErrorCode.NONE

    def write(self, ranges: list[tuple[int, int, int, int]], start: int, complete: int) -> None:
        for first, last, state, deliveries in ranges:
            for offset in range(first, last + 1):
                self.fates[offset] = max(self.fates.get(offset, (0, 0)), (deliveries, state))
        self.start = self.start if start == UNCHANGED else start
        self.complete = complete
        self.fates = {offset: fate for offset, fate in self.fates.items() if offset >= self.start}


class History:
    """One life."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._coordinator = Coordinator(
            updates_per_snapshot=self._random.choice([0, 1, 3]), cold_interval_ms=1_000, records_per_turn_max=2
        )
        self._twins: dict[int, Twin] = {}

    def play(self) -> None:
        acts = [self._initialize, self._read, self._write, self._write, self._write, self._delete]
        acts += [self._prune, self._refresh, self._move]
        for _ in range(STEPS):
            self._random.choice(acts)()
            self._compare()

    def _epoch(self, known: int) -> int:
        return max(known + self._random.choice([-1, 0, 0, 0, 1]), 0)

    def _initialize(self) -> None:
        index = self._random.randrange(PARTITIONS)
        twin = self._twins.get(index)
        epoch, start = self._epoch(twin.state_epoch if twin else 3), self._random.choice([UNCHANGED, 0, 7])
        code = self._coordinator.initialize(epoch, start, index).error_code
        if twin is not None and epoch < twin.state_epoch:
            assert code == ErrorCode.FENCED_STATE_EPOCH
            return
        assert code == ErrorCode.NONE
        self._twins[index] = Twin(epoch, twin.leader_epoch if twin else 0, start)

    def _read(self) -> None:
        index = self._random.randrange(PARTITIONS)
        twin = self._twins.get(index)
        if twin is None:
            assert self._coordinator.read(5, index).error_code == ErrorCode.INVALID_REQUEST
            return
        epoch = self._epoch(twin.leader_epoch)
        assert self._coordinator.read(epoch, index).error_code == twin.fenced(epoch, twin.state_epoch)
        twin.leader_epoch = max(epoch, twin.leader_epoch)

    def _write(self) -> None:
        index = self._random.randrange(PARTITIONS)
        twin = self._twins.get(index)
        if twin is None:
            assert self._coordinator.write(partition=index).error_code == ErrorCode.INVALID_REQUEST
            return
        leader, state = self._epoch(twin.leader_epoch), self._epoch(twin.state_epoch)
        ranges = [self._range() for _ in range(self._random.randrange(3))]
        start = self._random.choice([UNCHANGED, max(twin.start, 0), max(twin.start, 0) + 3])
        complete = self._random.randrange(9)
        code = self._coordinator.write(
            *ranges, start=start, state_epoch=state, leader_epoch=leader, complete=complete, partition=index
        ).error_code
        assert code == twin.fenced(leader, state)
        if code == ErrorCode.NONE:
            twin.write(ranges, start, complete)

    def _range(self) -> tuple[int, int, int, int]:
        first = self._random.randrange(OFFSETS)
        return first, first + self._random.randrange(6), self._random.choice([0, 2, 4]), self._random.randint(1, 3)

    def _delete(self) -> None:
        index = self._random.randrange(PARTITIONS)
        assert self._coordinator.delete(index).error_code == ErrorCode.NONE
        self._twins.pop(index, None)

    def _prune(self) -> None:
        self._coordinator.prune()

    def _refresh(self) -> None:
        self._coordinator.now_ms += 1_000
        self._coordinator.refresh()

    def _move(self) -> None:
        self._coordinator.fold()

    def _compare(self) -> None:
        for index in range(PARTITIONS):
            twin, summary = self._twins.get(index), self._coordinator.summary(index)
            if twin is None:
                assert summary.start_offset == UNCHANGED
                continue
            found = self._coordinator.read(UNCHANGED, index)
            assert (found.error_code, found.state_epoch, found.start_offset) == (0, twin.state_epoch, twin.start)
            assert summary.delivery_complete_count == twin.complete
            assert _fates(found) == twin.fates


def _fates(read: Any) -> dict[int, Fate]:
    found: dict[int, Fate] = {}
    for each in read.state_batches:
        for offset in range(each.first_offset, each.last_offset + 1):
            assert offset not in found, "an offset is in two ranges"
            found[offset] = each.delivery_count, each.delivery_state
    return found


def play(seed: int) -> None:
    History(seed).play()
