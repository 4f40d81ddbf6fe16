"""Requests that wait for a later turn: those beyond a connection's share, large ones, and those answered in steps.

A large request has a turn of its own, and there is one at a time, until it is answered or waits for something.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from penstock.core.base.ports import Steps
from penstock.core.node.serving.ports import Stepping
from penstock.core.node.serving.unread_answers import UnreadAnswers
from penstock.core.wire import Message

if TYPE_CHECKING:
    from penstock.core.node.serving.connection import Connection
    from penstock.core.node.serving.slots import Slot

T = TypeVar("T")
ROOM_RETRY_MS: Final = 50
"""While the answers to others take all memory that there is for answers."""


class LaterTurns:
    """Of all connections of a node."""

    def __init__(self, node: Stepping) -> None:
        self._node = node
        self.unread = UnreadAnswers(node)
        self._put_off: deque[Connection] = deque()
        self._large: deque[Connection] = deque()
        # Whether a large request is being served, or the turn of the next one is set.
        self._is_large_due = False
        self._is_serving_large = False
        self._steps_of_large = 0

    def put_off(self, connection: Connection) -> None:
        """A connection has more to be served than its share of this turn. It goes on when everybody else had theirs."""
        self._put_off.append(connection)
        if len(self._put_off) == 1:
            self._node.deadlines.soon(self._go_on)

    def _go_on(self) -> None:
        """One in each turn."""
        connection = self._put_off.popleft()
        if self._put_off:
            self._node.deadlines.soon(self._go_on)
        connection.go_on()

    def put_off_large(self, connection: Connection) -> None:
        """A connection has a request that needs a turn of its own."""
        self._large.append(connection)
        if not self._is_large_due:
            self._next_large()

    def _next_large(self) -> None:
        """However many clients ask for much: there is one such request in memory, and others are heard between two."""
        self._is_large_due = bool(self._large)
        if self._large:
            self._node.deadlines.soon(self._serve_large)

    def _serve_large(self) -> None:
        if self.unread.is_full:
            self.unread.make_room()
            self._node.deadlines.at(self._node.now_ms + ROOM_RETRY_MS, self._serve_large)
            return
        connection = self._large.popleft()
        self._is_serving_large = True
        connection.go_on()
        self._is_serving_large = False
        if not self._steps_of_large:
            self._next_large()

    def run_steps(self, slot: Slot, steps: Steps[Message]) -> None:
        """Let a handler that reads files, or has much to tell, go on by itself; its slot waits for what it returns."""

        def answer() -> Steps[None]:
            message = yield from steps
            yield from slot.reply_in_turns(message)

        def answered(outcome: Exception | None) -> None:
            if outcome is not None:
                self._node.handler_failed(slot, outcome)

        self.run(slot, answer(), answered)

    def run(self, slot: Slot, steps: Steps[T], done: Callable[[Any], None]) -> None:
        """Let steps of a request go on by themselves; `done` gets what they return, or what has ended them. No other
        large request is served before those of a large one have ended."""
        if slot.connection.elements_left < 0:
            self._steps_of_large += 1
            done = partial(self._end_of_large, done)
        self._node.tasks.run(steps, done)

    def _end_of_large(self, done: Callable[[Any], None], outcome: T | Exception) -> None:
        done(outcome)
        self._steps_of_large -= 1
        if not self._steps_of_large and not self._is_serving_large:
            self._next_large()
