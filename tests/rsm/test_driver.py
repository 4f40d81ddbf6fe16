"""Append, replay, release: in that order, and what happens where one of them fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.rsm.driver import Driver
from penstock.core.rsm.fold import Fold
from penstock.core.rsm.result import KeyValue, Marker, Replies, Reply, Result, Transaction
from penstock.core.wire.api.heartbeat import HeartbeatResponse

OWN = Transaction(7, 2)


class Desk:
    """A journal that commits when it is told to, and who hears of it."""

    def __init__(self) -> None:
        self.end = 0
        self.refuses: ErrorCode | None = None
        self.waiting: list[Callable[[ErrorCode], None]] = []
        self.heard: list[str] = []
        self.state: dict[bytes, bytes | None] = {}
        fold = Fold(lambda key, value, now_ms: self.state.__setitem__(key, value))
        self.driver = Driver(fold, self, 0, self)

    def append(self, records: Sequence[KeyValue], now_ms: int, transaction: Transaction | None = None) -> int:
        return self._take(len(records))

    def end_transaction(self, marker: Marker, now_ms: int) -> int:
        return self._take(1)

    def _take(self, count: int) -> int:
        if self.refuses is not None:
            raise ApiError(self.refuses)
        self.end += count
        return self.end

    def when_committed(self, next_offset: int, call: Callable[[ErrorCode], None]) -> None:
        assert next_offset == self.end
        self.waiting.append(call)

    def release(self, replies: Replies) -> None:
        self.heard.append("released")

    def not_written(self, result: Result, code: ErrorCode) -> None:
        self.heard.append(f"not written: {code.name}")

    def not_committed(self, replies: Replies, code: ErrorCode) -> None:
        self.heard.append(f"not committed: {code.name}")


def result(*records: KeyValue, transaction: Transaction | None = None) -> Result:
    return Result(list(records), [(Reply(), HeartbeatResponse())], transaction)


def test_the_next_request_sees_what_nobody_is_told_yet() -> None:
    desk = Desk()
    assert desk.driver.run(result((b"k", b"1")), 0)
    assert desk.state == {b"k": b"1"}
    assert desk.heard == []
    desk.waiting[0](ErrorCode.NONE)
    assert desk.heard == ["released"]


def test_what_the_log_refuses_changes_nothing() -> None:
    desk = Desk()
    desk.refuses = ErrorCode.NOT_ENOUGH_REPLICAS
    assert not desk.driver.run(result((b"k", b"1")), 0)
    assert (desk.state, desk.waiting, desk.heard) == ({}, [], ["not written: NOT_ENOUGH_REPLICAS"])


def test_what_is_lost_is_told() -> None:
    desk = Desk()
    desk.driver.run(result((b"k", b"1")), 0)
    desk.waiting[0](ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert desk.heard == ["not committed: NOT_LEADER_OR_FOLLOWER"]


def test_a_transaction_counts_from_its_marker() -> None:
    desk = Desk()
    desk.driver.run(result((b"k", b"1"), transaction=OWN), 0)
    assert desk.state == {}
    desk.driver.run(Result(marker=Marker(OWN, committed=True)), 0)
    assert desk.state == {b"k": b"1"}
    desk.driver.run(result((b"k", b"2"), transaction=OWN), 0)
    desk.driver.run(Result(marker=Marker(OWN, committed=False)), 0)
    assert desk.state == {b"k": b"1"}
