"""The host of one machine: fold it from its partition, carry out what it decides, keep its timers, take it away.

A machine that is loaded and one that lives hear the same: `Machine.replay`, through one fold. What the log refuses has
not changed the machine's record, so it stays in charge and its client asks again; what was written and then lost may be
anything, so the machine is discarded and folded anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Final, Generic, TypeVar

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Pause, Steps
from penstock.core.node import host as node_host
from penstock.core.node.coordination.journal import PartitionJournal
from penstock.core.node.deadlines import KeyedTimers
from penstock.core.node.folding import fold_log
from penstock.core.node.serving.slots import Answerable
from penstock.core.partition.partition import Partition
from penstock.core.rsm.driver import Driver
from penstock.core.rsm.fold import Fold
from penstock.core.rsm.machine import Decision, Machine, TopicChanges
from penstock.core.rsm.result import Due, Performer, Replies, Reply, Result, Timers
from penstock.core.wire import Message
from penstock.core.wire.refusals import overwritten

LOADING_RETRY_MS: Final = 1_000

M = TypeVar("M", bound=Machine)

FENCED: Final = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
"""Whoever writes, or ends, a transaction is told by what it has said."""

REFUSED_AS: Final = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    **{code: code for code in FENCED},
}
"""What a client hears when a coordinator's log took nothing, as Kafka says it; else it is UNKNOWN_SERVER_ERROR."""


class Host(Generic[M]):
    """One machine and everything it takes to run it."""

    def __init__(
        self, place: node_host.Host, partition: Partition, journal: PartitionJournal, make: Callable[[Timers], M]
    ) -> None:
        self._place = place
        self._partition = partition
        self._journal = journal
        self._make = make
        self._timers = KeyedTimers(place.deadlines, self._timer)
        self.closed = False
        self._reset()

    def _reset(self) -> None:
        self.machine = self._make(self._timers)
        self.driver: Driver | None = None
        fold = Fold(self.machine.replay, self.machine.waits, self.machine.at)
        self._place.tasks.run(self._load(self.machine, fold), lambda outcome: self._loaded(outcome, fold))

    def _load(self, machine: M, fold: Fold) -> Steps[int]:
        """The partition takes no appends meanwhile, since only we append to it."""
        end_offset = yield from fold_log(self._partition.log, fold.take)
        yield from machine.begin(self._place.now_ms, fold)
        return end_offset

    def _loaded(self, outcome: object, fold: Fold) -> None:
        if self.closed:
            return
        if not isinstance(outcome, int):
            name = f"{self._partition.topic}-{self._partition.index}"
            self._place.log("error", "coordinator", f"loading {name} failed: {outcome}")
            return
        self.driver = Driver(fold, self._journal, outcome, self)

    @property
    def now_ms(self) -> int:
        return self._place.now_ms

    def run(self, decide: Callable[[M], Result]) -> None:
        """Let the machine decide, and carry it out."""
        if self.driver is None:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self.driver.run(decide(self.machine), self._place.now_ms)

    def sweep(self, decisions: Callable[[M], Iterable[Decision]]) -> Steps[None]:
        """Carry out what the machine decides of its own accord, a step in each turn; each until nothing comes of it, or
        the log takes nothing."""
        machine = self.machine
        for decide in decisions(machine):
            is_more = True
            while is_more and self.driver is not None and self.machine is machine:
                result = decide(self.now_ms)
                is_more = self.driver.run(result, self.now_ms) and bool(result.records)
                yield Pause()

    def topics_changed(self, changes: TopicChanges) -> Steps[None]:
        return self.sweep(lambda machine: machine.topics_changed(changes))

    def answer(self, reply: Reply, message: Message) -> None:
        """Answer without asking the machine."""
        assert isinstance(reply, Answerable)
        if not reply.gone:
            reply.reply(message)

    def close(self) -> None:
        self.closed = True
        self._drop(ErrorCode.NOT_COORDINATOR)

    # What the driver tells

    def release(self, replies: Replies) -> None:
        for reply, message in replies:
            if isinstance(message, Due):
                assert isinstance(reply, Performer)
                reply.perform(message)
            else:
                self.answer(reply, message)

    def not_written(self, result: Result, code: ErrorCode) -> None:
        """The machine stays, unless what it keeps beside its record - who waits for whom - already goes by what was to
        be written: then it is folded anew, and everybody hears what this client hears."""
        told = REFUSED_AS.get(code, ErrorCode.UNKNOWN_SERVER_ERROR)
        self._refuse(result.replies, told)
        if not result.is_only_record:
            self._fold_anew(told)

    def not_committed(self, replies: Replies, code: ErrorCode) -> None:
        """What only takes long may still succeed: whoever asked need not wait for that, and asks again. What is to be
        done then waits."""
        if code is ErrorCode.REQUEST_TIMED_OUT:
            self._refuse(replies, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            replies[:] = [each for each in replies if isinstance(each[1], Due)]
            return
        self._refuse(replies, ErrorCode.NOT_COORDINATOR)
        self._fold_anew(ErrorCode.NOT_COORDINATOR)

    # Inside

    def _refuse(self, replies: Replies, code: ErrorCode) -> None:
        for reply, message in replies:
            if not isinstance(message, Due):
                self.answer(reply, overwritten(message, code))

    def _fold_anew(self, code: ErrorCode) -> None:
        if self.driver is not None and not self.closed:
            self._drop(code)
            self._reset()

    def _drop(self, code: ErrorCode) -> None:
        self.driver = None
        self._timers.clear()
        self.release(self.machine.lose(code))

    def _timer(self, key: Hashable) -> None:
        if self.driver is not None:
            self.run(lambda machine: machine.on_timer(self._place.now_ms, key))
        else:
            # Its time began while others were still being loaded; nobody is late before we can hear it.
            self._timers.set(key, self._place.now_ms + LOADING_RETRY_MS)
