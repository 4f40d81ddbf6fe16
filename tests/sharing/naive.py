"""A share partition that keeps every record by itself: slow, and too plain to be wrong in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from penstock.core.base.errors import ErrorCode
from penstock.core.sharing.asked import Acknowledgement, ShareSettings, Wanted
from penstock.core.sharing.states import ACKNOWLEDGED, ACQUIRED, ARCHIVED, AVAILABLE, State

DONE = (ACKNOWLEDGED, ARCHIVED)


@dataclass
class Record:
    state: State = AVAILABLE
    count: int = 0
    member: str = ""
    deadline_ms: int = 0
    waits_for: State | None = None


class Refused(Exception):
    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


class NaiveSharePartition:
    def __init__(self, start: int, stored: dict[int, tuple[State, int]]) -> None:
        self.start = self.end = start
        self.records: dict[int, Record] = {}
        if stored:
            self.end = max(stored) + 1
            for offset in range(start, self.end):
                self.records[offset] = Record(*stored.get(offset, (AVAILABLE, 0)))
        self.advance()

    def facts(self) -> list[tuple[int, State, int, str, int, bool]]:
        return [
            (offset, each.state, each.count, each.member, each.deadline_ms, each.waits_for is not None)
            for offset, each in sorted(self.records.items())
        ]

    def complete_count(self) -> int:
        return sum((each.state if each.waits_for is None else each.waits_for) in DONE for each in self.records.values())

    def next_fetch_offset(self) -> int:
        return min((offset for offset, each in self.records.items() if each.state is AVAILABLE), default=self.end)

    def advance(self) -> None:
        while self.start in self.records:
            head = self.records[self.start]
            if head.waits_for is not None or head.state not in DONE:
                return
            del self.records[self.start]
            self.start += 1

    # Giving out

    def acquire(
        self,
        wanted: Wanted,
        offset: int,
        batches: Sequence[tuple[int, int]],
        settings: ShareSettings,
        now_ms: int,
        aborted: Sequence[tuple[int, int]],
    ) -> dict[int, int]:
        first, last = batches[0][0], batches[-1][1]
        for each in range(offset, first):
            if each in self.records and self.records[each].state is AVAILABLE:
                self.records[each] = Record(ARCHIVED, self.records[each].count)
        taken, alone = self._again(wanted, first, last, batches, settings)
        if len(taken) < wanted.records_max and not alone:
            taken += self._new(wanted.records_max - len(taken), wanted, first, last, batches, settings)
        told: dict[int, int] = {}
        for each in taken:
            record = self.records[each]
            record.count += 1
            if any(low <= each <= high for low, high in aborted):
                self.records[each] = Record(ARCHIVED, record.count)
            else:
                record.state, record.member = ACQUIRED, wanted.member
                record.deadline_ms = now_ms + settings.lock_ms
                told[each] = record.count
        self.advance()
        return told

    def _again(
        self, wanted: Wanted, first: int, last: int, batches: Sequence[tuple[int, int]], settings: ShareSettings
    ) -> tuple[list[int], bool]:
        taken: list[int] = []
        for count, group in self._regions():
            near = [each for each in group if first <= each <= last]
            if not near or len(taken) >= wanted.records_max:
                continue
            if count >= max(2, (settings.deliveries_max + 1) // 2):
                most = 1 if count >= settings.deliveries_max - 1 else max(1, len(group) // 2)
                return taken or near[: min(most, wanted.records_max)], True
            taken += _aligned(near, wanted.records_max - len(taken), wanted, batches)
        return taken, False

    def _regions(self) -> list[tuple[int, list[int]]]:
        """Available records in a row that were delivered as often."""
        free = sorted(offset for offset, each in self.records.items() if each.state is AVAILABLE)
        keyed = [((self.records[each].count, each - at), each) for at, each in enumerate(free)]
        return [(key[0], [each for _, each in group]) for key, group in groupby(keyed, key=lambda pair: pair[0])]

    def _new(
        self,
        left: int,
        wanted: Wanted,
        first: int,
        last: int,
        batches: Sequence[tuple[int, int]],
        settings: ShareSettings,
    ) -> list[int]:
        low = max(self.end, first)
        if low > last:
            return []
        if not self.records:
            self.start = self.end = low
        while self.end < low:
            self.records[self.end] = Record(ARCHIVED)
            self.end += 1
        left = min(left, settings.in_flight_max - (self.end - self.start))
        if left <= 0:
            return []
        taken = _aligned(list(range(low, last + 1)), left, wanted, batches)
        for each in taken:
            self.records[each] = Record()
        self.end = taken[-1] + 1
        return taken

    # Taking back

    def acknowledge(
        self, member: str, said: Iterable[Acknowledgement], settings: ShareSettings, now_ms: int
    ) -> list[int] | ErrorCode:
        waiting: list[int] = []
        try:
            for each in said:
                self._acknowledge(member, each, settings, now_ms, waiting)
        except Refused as refused:
            for offset in waiting:
                self.records[offset].waits_for = None
            return refused.code
        return waiting

    def _acknowledge(
        self, member: str, said: Acknowledgement, settings: ShareSettings, now_ms: int, waiting: list[int]
    ) -> None:
        if said.last < self.start:
            return
        if not self.records:
            raise Refused(ErrorCode.INVALID_RECORD_STATE)
        if said.last >= self.end:
            raise Refused(ErrorCode.INVALID_REQUEST)
        for offset in range(max(said.first, self.start), said.last + 1):
            kind = said.types[0] if len(said.types) == 1 else said.types[offset - said.first]
            record = self.records[offset]
            if record.state is not ACQUIRED or record.member != member or record.waits_for is not None:
                raise Refused(ErrorCode.INVALID_RECORD_STATE)
            if kind == 4:
                if not settings.renews:
                    raise Refused(ErrorCode.INVALID_RECORD_STATE)
                record.deadline_ms = now_ms + settings.lock_ms
            else:
                record.waits_for = self._outcome((ARCHIVED, ACKNOWLEDGED, AVAILABLE, ARCHIVED)[kind], record, settings)
                waiting.append(offset)

    def release(self, member: str, settings: ShareSettings) -> list[int]:
        waiting = []
        for offset, record in self.records.items():
            if record.state is ACQUIRED and record.member == member and record.waits_for is None:
                record.waits_for = self._outcome(AVAILABLE, record, settings)
                waiting.append(offset)
        return sorted(waiting)

    def give_up(self, now_ms: int, settings: ShareSettings) -> list[int]:
        """Where they become dead letters, records whose last lock is over wait for that."""
        waiting = []
        for offset, record in sorted(self.records.items()):
            is_over = record.state is ACQUIRED and record.waits_for is None and record.deadline_ms <= now_ms
            if settings.buries and is_over and record.count >= settings.deliveries_max:
                record.waits_for = ARCHIVED
                waiting.append(offset)
        return waiting

    def expire(self, now_ms: int, settings: ShareSettings) -> dict[int, tuple[State, int]]:
        gone = {}
        for offset, record in sorted(self.records.items()):
            if record.state is ACQUIRED and record.waits_for is None and record.deadline_ms <= now_ms:
                gone[offset] = self._outcome(AVAILABLE, record, settings), record.count
        for offset, (state, count) in gone.items():
            self.records[offset] = Record(state, count)
        self.advance()
        return gone

    def completed(self, waiting: list[int], stored: bool) -> None:
        for offset in waiting:
            record = self.records.get(offset)
            if record is not None:
                if stored and record.waits_for is not None:
                    self.records[offset] = Record(record.waits_for, record.count)
                record.waits_for = None
        self.advance()

    def log_starts_at(self, offset: int) -> None:
        if offset > self.start:
            self.records = {each: record for each, record in self.records.items() if each >= offset}
            self.start, self.end = offset, max(self.end, offset)
            self.advance()

    def _outcome(self, state: State, record: Record, settings: ShareSettings) -> State:
        return ARCHIVED if state is AVAILABLE and record.count >= settings.deliveries_max else state


def _aligned(offsets: list[int], count: int, wanted: Wanted, batches: Sequence[tuple[int, int]]) -> list[int]:
    """So many of the offsets, and the rest of the batch that the last of them is in."""
    reach = offsets[0] + count - 1
    if not wanted.is_limit:
        held = [high for low, high in batches if low <= reach]
        reach = max([reach, *held[-1:]])
    return [each for each in offsets if each <= reach]
