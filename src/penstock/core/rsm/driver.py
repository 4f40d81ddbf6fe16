"""The driver: append, replay, release. One for every replicated machine, whatever it is about.

Records are replayed when their offset is assigned, so that the next request already sees them; replies, also those of
reads, wait until the last offset they depend on is committed, so that nobody is told what could still be lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.rsm.result import KeyValue, Reply, Result
from penstock.core.wire import Message


class Machine(Protocol):
    """What is driven: `replay` is the only writer of its durable state."""

    def replay(self, key: bytes, value: bytes | None, now_ms: int) -> None: ...


class Journal(Protocol):
    """Where a machine's records go."""

    def append(self, records: list[KeyValue], now_ms: int) -> int:
        """Append one atomic batch and give the offset after it; raises ApiError when it cannot."""
        ...

    def when_committed(self, next_offset: int, call: Callable[[ErrorCode], None]) -> None:
        """Call once everything below an offset is committed (at once if it is), or with what went wrong."""
        ...


Release = Callable[[Reply, Message], None]
Refuse = Callable[[list[tuple[Reply, Message]], ErrorCode], None]


class Driver:
    """Carries out what a machine decided."""

    def __init__(self, machine: Machine, journal: Journal, end_offset: int, release: Release, refuse: Refuse) -> None:
        self._machine = machine
        self._journal = journal
        self._end_offset = end_offset
        self._release = release
        self._refuse = refuse

    def run(self, result: Result, now_ms: int) -> None:
        if result.records:
            try:
                self._end_offset = self._journal.append(result.records, now_ms)
            except ApiError as error:
                self._refuse(result.replies, error.code)
                return
            for key, value in result.records:
                self._machine.replay(key, value, now_ms)
        if result.replies or result.records:
            replies = result.replies
            self._journal.when_committed(self._end_offset, lambda code: self._settled(replies, code))

    def _settled(self, replies: list[tuple[Reply, Message]], code: ErrorCode) -> None:
        if code is not ErrorCode.NONE:
            self._refuse(replies, code)
            return
        for reply, message in replies:
            self._release(reply, message)
