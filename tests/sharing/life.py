"""Random lives of a share partition beside its naive twin: members that take, acknowledge, hang and go, a log that is
compacted and cut, writes that fail, and leaders that are followed by others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.values import replaced
from penstock.core.sharing.asked import Acknowledgement, ShareSettings, Wanted
from penstock.core.sharing.change import Change, StateBatch
from penstock.core.sharing.share_partition import SharePartition
from penstock.core.sharing.states import ACKNOWLEDGED, ACQUIRED, ARCHIVED, AVAILABLE, GAP, State
from tests.sharing.naive import NaiveSharePartition

SETTINGS = ShareSettings(deliveries_max=2, in_flight_max=30, lock_ms=100)
MEMBERS = ("ann", "bob", "cy")
LOG_END = 10_000

members = st.sampled_from(MEMBERS)
small = st.integers(0, 12)


class Store:
    """What the share coordinator keeps."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.kept: dict[int, tuple[State, int]] = {}

    def write(self, start: int, batches: list[StateBatch]) -> None:
        self.start = max(self.start, start)
        for first, last, state, count in batches:
            self.kept.update(dict.fromkeys(range(first, last + 1), (state, count)))
        self.kept = {offset: each for offset, each in self.kept.items() if offset >= self.start}

    def read(self) -> list[StateBatch]:
        return [StateBatch(offset, offset, *each) for offset, each in sorted(self.kept.items())]


class ShareLife(RuleBasedStateMachine):
    make: Callable[..., SharePartition] = SharePartition

    @initialize(
        start=st.integers(0, 3),
        sizes=st.lists(st.integers(1, 7), min_size=60, max_size=60),
        buries=st.booleans(),
        data=st.data(),
    )
    def begin(self, start: int, sizes: list[int], buries: bool, data: st.DataObject) -> None:
        self.now_ms = 1_000
        self.settings = replaced(SETTINGS, buries=buries)
        self.store = Store(start)
        self.log: list[tuple[int, int]] = []
        at = 0
        for size in sizes:
            hole = data.draw(st.sampled_from((0, 0, 0, 0, 2)))
            self.log.append((at + hole, at + hole + size - 1))
            at += hole + size
        self.log_start = 0
        self.gaps: set[int] = set()
        """Where a member has just said that there is no record."""
        self.waiting: list[tuple[Change, list[int]]] = []
        self.accepted: set[int] = set()
        self.deliveries: Counter[int] = Counter()
        """What was stored or was given out by this leader, so that nobody can have had a record less often."""
        self.load()

    def load(self) -> None:
        self.sut = type(self).make(self.store.start, 7, self.store.read())
        self.twin = NaiveSharePartition(self.store.start, self.store.kept)
        self.waiting = []
        self.deliveries = Counter({offset: count for offset, (_, count) in self.store.kept.items()})

    @rule(member=members, most=st.integers(1, 15), size=st.integers(1, 6), limit=st.booleans(), data=st.data())
    def acquire(self, member: str, most: int, size: int, limit: bool, data: st.DataObject) -> None:
        wanted = Wanted(member, most, size, limit)
        offset = self.sut.next_fetch_offset()
        assert offset == self.twin.next_fetch_offset()
        there = [each for each in self.log if each[1] >= max(offset, self.log_start)][: data.draw(st.integers(1, 5))]
        if not there:
            return
        aborted = [each for each in there if each[0] % 5 == 0]
        told = self.sut.acquire(wanted, offset, there, self.settings, self.now_ms, aborted)
        found = {at: count for first, last, count in told for at in range(first, last + 1)}
        assert found == self.twin.acquire(wanted, offset, there, self.settings, self.now_ms, aborted)
        if limit:
            assert len(found) <= most
        for at, count in found.items():
            assert at not in self.accepted, "what was acknowledged is delivered again"
            self.deliveries[at] += 1
            assert count == self.deliveries[at] <= self.settings.deliveries_max

    @rule(member=members, shape=st.lists(st.tuples(small, small, st.integers(0, 4)), min_size=1, max_size=3))
    def acknowledge(self, member: str, shape: list[tuple[int, int, int]]) -> None:
        at, said = self.sut.start_offset - 2, []
        for skip, length, kind in shape:
            first, last = at + skip, at + skip + length
            types = [kind] if kind % 2 else [(kind + each) % 4 for each in range(length + 1)]
            said.append(Acknowledgement(first, last, types))
            at = last + 1
        self._say(member, said)

    @rule(
        kind=st.sampled_from((0, 1, 1, 2, 2, 2, 3, 4)),
        which=small,
        skip=st.sampled_from((0, 0, 1, 2)),
        at_once=st.booleans(),
    )
    def acknowledge_what_is_there(self, kind: int, which: int, skip: int, at_once: bool) -> None:
        there = [run for run in self.sut.runs if run.state is ACQUIRED]
        if there:
            run = there[which % len(there)]
            self._say(run.member, [Acknowledgement(min(run.first + skip, run.last), run.last, [kind])])
            while at_once and self.waiting:
                self.write_ends(works=True, reaches=True)

    def _say(self, member: str, said: list[Acknowledgement]) -> None:
        self.gaps = {
            first + at
            for first, last, types in said
            for at in range(last - first + 1)
            if types[0 if len(types) == 1 else at] == GAP
        }
        expected = self.twin.acknowledge(member, said, self.settings, self.now_ms)
        if isinstance(expected, ErrorCode):
            with pytest.raises(ApiError) as caught:
                self.sut.acknowledge(member, said, self.settings, self.now_ms)
            assert caught.value.code is expected
        else:
            self._await(self.sut.acknowledge(member, said, self.settings, self.now_ms), expected)

    def _await(self, change: Change, expected: list[int]) -> None:
        assert [at for first, last, _, _ in change.batches for at in range(first, last + 1)] == expected
        buried = {at for first, last, _, _ in change.given_up for at in range(first, last + 1)}
        archived = {
            at: count
            for first, last, state, count in change.batches
            if state is ARCHIVED
            for at in range(first, last + 1)
        }
        assert buried <= archived.keys()
        if self.settings.buries:
            past = {at for at, count in archived.items() if count >= self.settings.deliveries_max}
            gaps = {at for at in past if at in self.gaps}
            assert past - gaps <= buried, "it vanishes past the limit"
        else:
            assert not buried
        self.gaps = set()
        if expected:
            self.waiting.append((change, expected))

    @rule(member=members)
    def release(self, member: str) -> None:
        self._await(self.sut.release(member, self.settings), self.twin.release(member, self.settings))

    @rule(works=st.sampled_from((True, True, True, False)), reaches=st.booleans())
    def write_ends(self, works: bool, reaches: bool) -> None:
        """A write that is said to have failed may have been carried out all the same."""
        if self.waiting:
            change, expected = self.waiting.pop(0)
            if works or reaches:
                self.store.write(self.sut.start_offset, change.batches)
            if works:
                self.accepted |= {
                    at
                    for first, last, state, _ in change.batches
                    if state is ACKNOWLEDGED
                    for at in range(first, last + 1)
                }
            self.sut.completed(change, stored=works)
            self.twin.completed(expected, works)

    @rule(duration_ms=st.sampled_from((1, 50, 99, 100, 101, 500)))
    def time_passes(self, duration_ms: int) -> None:
        self.now_ms += duration_ms
        self._await(self.sut.give_up(self.now_ms, self.settings), self.twin.give_up(self.now_ms, self.settings))
        change = self.sut.expire(self.now_ms, self.settings)
        gone = self.twin.expire(self.now_ms, self.settings)
        assert {at: (state, count) for a, b, state, count in change.batches for at in range(a, b + 1)} == gone
        assert not self.settings.buries or all(state is not ARCHIVED for state, _ in gone.values())
        self.store.write(self.sut.start_offset, change.batches)
        assert (self.sut.next_deadline_ms() or self.now_ms + 1) > self.now_ms

    @rule(by=st.sampled_from((0, 0, 0, 1, 5, 20)))
    def log_is_cut(self, by: int) -> None:
        self.log_start = min(self.log_start + by, self.log[-1][1])
        self.sut.log_starts_at(self.log_start)
        self.twin.log_starts_at(self.log_start)

    @rule(falls=st.sampled_from((True, False, False)))
    def leader_changes(self, falls: bool) -> None:
        """Nothing that waits for a write has been answered."""
        if not falls:
            return
        self.load()
        self.sut.log_starts_at(self.log_start)
        self.twin.log_starts_at(self.log_start)

    @rule(renews=st.booleans(), deliveries=st.sampled_from((2, 2, 2, 3, 5)), buries=st.booleans())
    def settings_change(self, renews: bool, deliveries: int, buries: bool) -> None:
        if deliveries >= self.settings.deliveries_max:
            before = self.settings
            self.settings = ShareSettings(deliveries, before.in_flight_max, before.lock_ms, renews, buries)

    @invariant()
    def equals_its_twin(self) -> None:
        sut, twin = self.sut, self.twin
        facts = [
            (at, run.state, run.delivery_count, run.member, run.deadline_ms, run.change is not None)
            for run in sut.runs
            for at in range(run.first, run.last + 1)
        ]
        assert facts == twin.facts()
        assert (sut.start_offset, sut.end_offset) == (twin.start, twin.end)
        assert sut.next_fetch_offset() == twin.next_fetch_offset()
        assert sut.complete_count == twin.complete_count()

    @invariant()
    def keeps_no_run_too_many(self) -> None:
        runs = self.sut.runs
        assert not any(one.is_like(other) for one, other in pairwise(runs)), runs

    @invariant()
    def nothing_vanishes(self) -> None:
        """Whoever is not offered any more was acknowledged, archived, deleted, or never there."""
        for run in self.sut.runs:
            assert run.state in (AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVED)
            if run.state is AVAILABLE:
                assert run.delivery_count < self.settings.deliveries_max
            if run.state is ACQUIRED:
                assert run.member
                assert run.deadline_ms
