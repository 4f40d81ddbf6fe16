"""A share partition at its leader: the machine, the log that it is about, and the coordinator that keeps its state.

It begins with what is stored, and ends when the partition is led elsewhere, or when the coordinator says that somebody
else is in charge. One write goes at a time; what changes meanwhile is the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Protocol

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.node.coordination.share_coordinators import PASSING
from penstock.core.node.deadlines import Deadline
from penstock.core.node.sharing.counts import ShareCounts
from penstock.core.node.sharing.dead_letters import DeadLetters
from penstock.core.node.sharing.group_settings import AllGroups, ago_ms
from penstock.core.node.sharing.persister import Persister, Written
from penstock.core.node.sharing.ports import SharingHost
from penstock.core.node.sharing.share_sessions import Place
from penstock.core.partition.partition import Partition
from penstock.core.share_state.key import SharePartition as Key
from penstock.core.sharing.acquiring import Acquired, Batches, len_of
from penstock.core.sharing.asked import Acknowledgement, Wanted
from penstock.core.sharing.change import Change, StateBatch
from penstock.core.sharing.share_partition import SharePartition
from penstock.core.sharing.states import State
from penstock.core.wire.api.read_share_group_state import PartitionResult

UNINITIALIZED: Final = -1
"""The start offset of a group that has not begun yet."""

LOOK_MS: Final = 25
"""Between two looks at locks: thousands of them may run out one by one, and each look goes through all."""

FENCING: Final = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.FENCED_STATE_EPOCH,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    }
)
"""What is known here does not count any more."""

Then = Callable[[ErrorCode], None]


class Waiter(Protocol):
    """A fetch that waits for records."""

    def wake(self, place: Place) -> None: ...


class LedShare:
    """One group's view of one partition that this node leads."""

    def __init__(
        self,
        node: SharingHost,
        persister: Persister,
        groups: AllGroups,
        counts: ShareCounts,
        key: Key,
        partition: Partition,
        ended: Callable[[LedShare], None],
    ) -> None:
        self.key = key
        self.place = Place(key.topic_id, key.partition)
        self.partition = partition
        self.machine: SharePartition | None = None
        self.failure: ErrorCode | None = None
        """Why it has ended, once it has; NONE where there is nothing to tell."""
        self.waiters: dict[Waiter, None] = {}
        self.busy = False
        """Whether somebody reads the log on its behalf: two would read the same."""
        self._was_wanted = False
        self.when_quiet: Callable[[], None] | None = None
        """What is to be done once nothing is being written."""
        self._node = node
        self._persister = persister
        self._groups = groups
        self._counts = counts
        self._ended = ended
        self._leader_epoch = partition.leader_epoch
        self._timer: Deadline | None = None
        self._changes: list[tuple[Change, Then]] = []
        self._writing = False
        self._burying: dict[Change, Then] = {}
        """What is given up in them is on its way to the topic of dead letters."""
        partition.watchers[self] = None
        persister.read(key, self._leader_epoch, self._stored)

    # The beginning and the end

    def _stored(self, result: PartitionResult | None, code: ErrorCode) -> None:
        """What the coordinator has."""
        if self.failure is not None:
            return
        if result is None or code is not ErrorCode.NONE:
            # Who cannot be asked now is asked again when the next fetch comes.
            self.end(ErrorCode.NONE if code in PASSING else told_as(code))
        elif result.start_offset == UNINITIALIZED:
            self._node.tasks.run(self._find_start(), partial(self._begin, result))
        else:
            self._begin(result, result.start_offset)

    def _find_start(self) -> Steps[int]:
        """Where a group begins that never read here."""
        begins_at, partition = self._groups.of(self.key.group_id).begins_at, self.partition
        if begins_at == "earliest":
            return partition.log.start_offset
        if (age_ms := ago_ms(begins_at)) is not None:
            found = yield from partition.log.offset_for_time(self._node.now_ms - age_ms)
            if found is not None:
                return min(found[1], partition.high_watermark)
        return partition.high_watermark

    def _begin(self, result: PartitionResult, start_offset: int | Exception) -> None:
        if self.failure is not None:
            return
        try:
            if isinstance(start_offset, Exception):
                raise start_offset
            self.machine = SharePartition(start_offset, result.state_epoch, map(_state_batch, result.state_batches))
        except ApiError as error:
            self.end(error.code)
        except Exception as error:
            self._log(f"cannot begin with what is stored: {error}")
            self.end(ErrorCode.UNKNOWN_SERVER_ERROR)
        else:
            self.follow_log()
            self.wake()

    def end(self, code: ErrorCode) -> None:
        """Whoever waits looks for it anew; what was not stored is not acknowledged."""
        if self.failure is not None:
            return
        self.failure = code
        self.machine = None
        self.partition.watchers.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
        waiting = [*self._burying.values(), *(then for _, then in self._changes)]
        self._changes, self._burying = [], {}
        for then in waiting:
            then(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._ended(self)
        self.wake()

    @property
    def is_quiet(self) -> bool:
        return not (self._writing or self._changes or self._burying)

    # The log

    def news(self, size: int) -> None:
        """There is more to read, or another object takes the partition's place."""
        if self.partition.removed:
            self.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        elif self.waiters and self.has_records():
            self.wake()

    def wake(self) -> None:
        for waiter in list(self.waiters):
            waiter.wake(self.place)

    def has_records(self) -> bool:
        """Whether a fetch may find something here now. While somebody reads it does not, and is woken afterwards."""
        machine = self.machine
        if machine is None or self.busy:
            self._was_wanted |= self.busy
            return False
        settings = self._groups.of(self.key.group_id)
        end = self.partition.visible_end(settings.reader)
        return machine.next_fetch_offset() < end and machine.can_acquire(settings.sharing)

    def was_read(self) -> None:
        """Whoever reads has taken what it wanted."""
        self.busy = False
        if self._was_wanted:
            self._was_wanted = False
            self.wake()

    def follow_log(self) -> None:
        if self.machine is not None:
            self.machine.log_starts_at(self.partition.log.start_offset)

    # Members

    @property
    def _mono_ms(self) -> int:
        """Locks last by the clock that nobody can set."""
        return self._node.now_us // 1000

    def acquire(
        self, wanted: Wanted, offset: int, batches: Batches, aborted: Sequence[tuple[int, int]]
    ) -> list[Acquired]:
        if self.machine is None:
            return []
        settings = self._groups.of(self.key.group_id).sharing
        acquired = self.machine.acquire(wanted, offset, batches, settings, self._mono_ms, aborted)
        self._counts.acquired += sum(map(len_of, acquired))
        if acquired and (self._timer is None or self._timer.at_ms > self._node.now_ms + settings.lock_ms):
            self._arm()
        return acquired

    def acknowledge(self, member: str, said: Sequence[Acknowledgement], then: Then) -> None:
        """`then` hears NONE once it is stored, perhaps at once where nothing is to be stored."""
        if self.machine is None:
            then(ErrorCode.INVALID_RECORD_STATE)
            return
        settings = self._groups.of(self.key.group_id).sharing
        try:
            change = self.machine.acknowledge(member, said, settings, self._mono_ms)
        except ApiError as error:
            then(error.code)
        else:
            self._counts.acknowledged(said)
            self._store(change, then)

    def release(self, member: str) -> None:
        """The member is gone."""
        if self.machine is not None:
            settings = self._groups.of(self.key.group_id).sharing
            self._store(self.machine.release(member, settings), _nobody)

    # Locks

    def _arm(self) -> None:
        """The next lock that runs out wakes it. Where the timer comes too early it is set anew."""
        at_ms = None if self.machine is None else self.machine.next_deadline_ms()
        if at_ms is None:
            return
        due_ms = self._node.now_ms + max(at_ms - self._mono_ms, LOOK_MS)
        if self._timer is None or due_ms < self._timer.at_ms:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._node.deadlines.at(due_ms, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self.machine is None:
            return
        settings = self._groups.of(self.key.group_id).sharing
        self._store(self.machine.give_up(self._mono_ms, settings), _nobody)
        change = self.machine.expire(self._mono_ms, settings)
        if change:
            self._counts.expired += sum(last - first + 1 for first, last, _, _ in change.batches)
            self._store(change, _nobody)
            self.wake()
        self._arm()

    # The coordinator

    def _store(self, change: Change, then: Then) -> None:
        if change.given_up:
            self._burying[change] = then
            DeadLetters(self._node, self.partition, self.key.group_id, partial(self._buried, change)).write(change)
        elif change:
            self._changes.append((change, then))
            self._write_next()
        else:
            then(ErrorCode.NONE)

    def _buried(self, change: Change, code: ErrorCode) -> None:
        """Only what is a dead letter is done with. Otherwise it is as it was, and given up anew later."""
        then = self._burying.pop(change, None)
        if then is None or self.machine is None:
            return
        if code is ErrorCode.NONE:
            self._counts.buried += sum(last - first + 1 for first, last, _, _ in change.given_up)
            self._changes.append((change, then))
            self._write_next()
            return
        self.machine.completed(change, stored=False)
        then(told_as(code))
        self._arm()
        self.wake()
        self._tell_quiet()

    def _write_next(self) -> None:
        machine = self.machine
        if self._writing or not self._changes or machine is None:
            return
        self._writing = True
        changes, self._changes = self._changes, []
        batches = [batch for change, _ in changes for batch in change.batches]
        written = Written(
            machine.state_epoch, self._leader_epoch, machine.start_offset, machine.complete_count, batches
        )
        self._persister.write(self.key, written, partial(self._written, changes))

    def _written(self, changes: list[tuple[Change, Then]], result: Any, code: ErrorCode) -> None:
        self._writing = False
        machine = self.machine
        if machine is not None:
            for change, _ in changes:
                machine.completed(change, stored=code is ErrorCode.NONE)
        if code in FENCING:
            self._log(f"has ended: {code.name}")
            self.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        for _, then in changes:
            then(told_as(code))
        if machine is not None and self.failure is None:
            self._arm()
            self._write_next()
            self.wake()
        self._tell_quiet()

    def _tell_quiet(self) -> None:
        if self.when_quiet is not None and self.is_quiet:
            then_quiet, self.when_quiet = self.when_quiet, None
            then_quiet()

    def _log(self, text: str) -> None:
        self._node.log(
            "warning",
            "sharing",
            f"group {self.key.group_id} in {self.partition.topic}-{self.partition.index} {text}",
            "share-partition",
        )


def told_as(code: ErrorCode) -> ErrorCode:
    """What members hear of what a coordinator says."""
    if code in PASSING:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_STATE_EPOCH):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    known = (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return code if code in known else ErrorCode.UNKNOWN_SERVER_ERROR


def _state_batch(stored: Any) -> StateBatch:
    return StateBatch(stored.first_offset, stored.last_offset, State(stored.delivery_state), stored.delivery_count)


def _nobody(code: ErrorCode) -> None:
    """Nobody waits for this write."""
