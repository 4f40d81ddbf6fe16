"""One partition as one share group reads it: what is out with members, what comes back, and where the group stands.

    start_offset        below it everything is done with
    end_offset          behind the last record that was ever given out; [start, end) is in flight

A member acquires records for as long as a lock lasts. It acknowledges them, and what becomes of them takes effect when
it is stored (`completed`); until then they belong to nobody. A lock that runs out gives its records back at once, and
the write only tells the next leader how often they were delivered. What is known of a share partition is lost with its
leader, except for what was written: the next one reads that, and gives out again what was out.

The machine knows no clock, no log and no coordinator. Offsets here are first and last ones, both included, but for
`end_offset`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.sharing.acquiring import (
    Acquired,
    Batches,
    is_suspect,
    len_of,
    merged,
    portion_of,
    split_at_batches,
    whole_batch,
    without,
)
from penstock.core.sharing.asked import Acknowledgement, ShareSettings, Wanted
from penstock.core.sharing.change import Change, GivenUp
from penstock.core.sharing.in_flight import InFlight
from penstock.core.sharing.runs import Run
from penstock.core.sharing.states import (
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    GAP,
    OUTCOMES,
    REJECT,
    RELEASE,
    RENEW,
    TERMINAL,
    State,
    outcome_of,
)


class SharePartition(InFlight):
    """Gives records out and takes them back."""

    def can_acquire(self, settings: ShareSettings) -> bool:
        return self.in_flight < settings.in_flight_max or self.next_fetch_offset() < self.end_offset

    # Giving out

    def acquire(
        self,
        wanted: Wanted,
        offset: int,
        batches: Batches,
        settings: ShareSettings,
        now_ms: int,
        aborted: Batches = (),
    ) -> list[Acquired]:
        """Give a member what it may have of the log's `batches`, which were read from `offset` on. Those that are
        `aborted` nobody gets; and where compaction has left nothing, nothing is waited for."""
        if not batches or wanted.records_max <= 0:
            return []
        self._pass_over(offset, batches[0][0] - 1)
        again, is_suspect = self._available(wanted, batches, settings)
        told = [each for low, high in again for each in self._hand_out(low, high, wanted, now_ms + settings.lock_ms)]
        left = wanted.records_max - sum(map(len_of, told))
        if left > 0 and not is_suspect and (new := self._new(left, wanted, batches, settings)):
            told += self._hand_out(*new, wanted, now_ms + settings.lock_ms)
        told = without(told, aborted)
        for low, high in aborted:
            self._archive(low, high, wanted.member)
        self._advance()
        return merged(told) if wanted.is_limit else split_at_batches(merged(told), batches, wanted.batch_size)

    def _available(
        self, wanted: Wanted, batches: Batches, settings: ShareSettings
    ) -> tuple[list[tuple[int, int]], bool]:
        """Records that came back, as ranges, and whether they are suspect: then they go out alone."""
        found: list[tuple[int, int]] = []
        last, left = batches[-1][1], wanted.records_max
        for run in self._runs.starting(max(batches[0][0], self.start_offset)):
            if run.first > last or left <= 0:
                break
            if run.state is not AVAILABLE:
                continue
            low, high = max(run.first, batches[0][0]), min(run.last, last)
            if is_suspect(run, settings.deliveries_max):
                portion = min(portion_of(run, settings.deliveries_max), left)
                return found or [(low, min(high, low + portion - 1))], True
            high = min(high, _reach(low, left, wanted, batches))
            found.append((low, high))
            left -= high - low + 1
        return found, False

    def _new(self, left: int, wanted: Wanted, batches: Batches, settings: ShareSettings) -> tuple[int, int] | None:
        """Records that nobody had yet, as far as there is room for more in flight."""
        low = max(self.end_offset, batches[0][0])
        if low > batches[-1][1]:
            return None
        if low > self.end_offset:
            self._skip(low)
        left = min(left, settings.in_flight_max - self.in_flight)
        if left <= 0:
            return None
        high = min(batches[-1][1], _reach(low, left, wanted, batches))
        self._runs.append(Run(low, high))
        self.end_offset = high + 1
        return low, high

    def _hand_out(self, low: int, high: int, wanted: Wanted, deadline_ms: int) -> list[Acquired]:
        told = []
        for run in self._runs.within(low, high):
            run.become(ACQUIRED, wanted.member, deadline_ms)
            run.delivery_count += 1
            told.append(Acquired(run.first, run.last, run.delivery_count))
        self._runs.join(low, high)
        return told

    # Taking back

    def acknowledge(
        self, member: str, acknowledgements: Iterable[Acknowledgement], settings: ShareSettings, now_ms: int
    ) -> Change:
        """What a member says of records that it has. All of it takes effect, once it is stored, or nothing of it, and
        its ApiError says why."""
        change = Change()
        try:
            for each in acknowledgements:
                self._acknowledge(member, each, settings, now_ms, change)
        except ApiError:
            self.completed(change, stored=False)
            raise
        return change

    def _acknowledge(
        self, member: str, said: Acknowledgement, settings: ShareSettings, now_ms: int, change: Change
    ) -> None:
        if said.last < self.start_offset:
            # All of it is done with: what was deleted needs nobody's word.
            return
        if not self._runs:
            raise ApiError(ErrorCode.INVALID_RECORD_STATE, "nothing is acquired")
        if said.last >= self.end_offset:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"offset {said.last} was never acquired")
        try:
            for low, high, kind in _pieces(said, self.start_offset):
                self._check_settled(low, high)
                for run in self._runs.within(low, high):
                    self._take_word(run, member, kind, settings, now_ms, change)
        finally:
            self._runs.join(max(said.first, self.start_offset), said.last)

    def _check_settled(self, low: int, high: int) -> None:
        """What waits for a write stays as it is until then."""
        for run in self._runs.starting(low):
            if run.first > high:
                return
            if run.change is not None:
                raise ApiError(ErrorCode.INVALID_RECORD_STATE, f"offset {run.first} is being acknowledged already")

    def _take_word(
        self, run: Run, member: str, kind: int, settings: ShareSettings, now_ms: int, change: Change
    ) -> None:
        if run.state is not ACQUIRED or run.member != member:
            raise ApiError(ErrorCode.INVALID_RECORD_STATE, f"offset {run.first} is not acquired by this member")
        if kind != RENEW:
            self._leave_to(change, run, kind, settings)
        elif settings.renews:
            run.deadline_ms = now_ms + settings.lock_ms
        else:
            raise ApiError(ErrorCode.INVALID_RECORD_STATE, "locks are not renewed in this group")

    def release(self, member: str, settings: ShareSettings) -> Change:
        """A member is gone: what it has comes back, once that is stored."""
        change = Change()
        for run in self._runs:
            if run.state is ACQUIRED and run.change is None and run.member == member:
                self._leave_to(change, run, RELEASE, settings)
        return change

    def give_up(self, now_ms: int, settings: ShareSettings) -> Change:
        """Locks that have run out for the last time: where such records become dead letters nobody has them until then.
        To be asked before `expire`, which takes them for done with."""
        change = Change()
        if settings.buries:
            for run in self._runs:
                is_over = run.state is ACQUIRED and run.change is None and run.deadline_ms <= now_ms
                if is_over and run.delivery_count >= settings.deliveries_max:
                    self._leave_to(change, run, RELEASE, settings)
        return change

    def expire(self, now_ms: int, settings: ShareSettings) -> Change:
        """Locks that have run out are gone at once. What is to be written is for whoever leads next."""
        change = Change()
        for run in self._runs:
            if run.state is ACQUIRED and run.change is None and run.deadline_ms <= now_ms:
                state = outcome_of(AVAILABLE, run.delivery_count, settings.deliveries_max)
                self._settle(run, state)
                change.note(run, state)
        if change:
            self._runs.join(change.batches[0].first, change.batches[-1].last)
            self._advance()
        return change

    def completed(self, change: Change, *, stored: bool) -> None:
        """A write has ended. What could not be stored is as it was before; its lock may have run out meanwhile."""
        ours = [run for run in change.waiting if run.change is change]
        for run in ours:
            self.complete_count -= len(run) if run.is_settled else 0
            run.change = None
            if stored:
                self._settle(run, run.target)
        if ours:
            self._runs.join(ours[0].first, ours[-1].last)
            self._advance()

    def _leave_to(self, change: Change, run: Run, kind: int, settings: ShareSettings) -> None:
        """What becomes of a record by the word about it, once that is stored."""
        state = outcome_of(OUTCOMES[kind], run.delivery_count, settings.deliveries_max)
        if settings.buries and state is ARCHIVED and kind != GAP:
            change.given_up.append(GivenUp(run.first, run.last, run.delivery_count, kind == REJECT))
        self._await(run, state, change)

    def _await(self, run: Run, state: State, change: Change) -> None:
        change.await_write(run, state)
        self.complete_count += len(run) if state in TERMINAL else 0


def _reach(low: int, count: int, wanted: Wanted, batches: Batches) -> int:
    """The last offset of so many records, or of the batch in which they end."""
    high = low + count - 1
    return high if wanted.is_limit else whole_batch(batches, high)


def _pieces(said: Acknowledgement, start_offset: int) -> Iterator[tuple[int, int, int]]:
    """(first, last, type) of offsets in a row of which the same is said, from the start on."""
    first = max(said.first, start_offset)
    if len(said.types) == 1:
        yield first, said.last, said.types[0]
        return
    for kind, group in groupby(range(first, said.last + 1), key=lambda offset: said.types[offset - said.first]):
        offsets = list(group)
        yield offsets[0], offsets[-1], kind
