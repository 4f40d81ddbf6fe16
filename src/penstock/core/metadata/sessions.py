"""Sessions: which brokers the controller has heard of lately, by its own clock.

The controller's own time stands still while the controller does. It asks to be called at certain times; if it is
called later than that, by d, then it was itself that did not listen, and every deadline moves by d. After being notably
late it lets a moment pass before it ends a session, so that what brokers said meanwhile is read first.
"""

from __future__ import annotations

from typing import NamedTuple

PULSES_PER_SESSION = 8
"""How often the controller wants to be called, so that it notices when it was not."""
SLACK_PER_PULSE = 4
"""Being late by less than this part of a pulse is a timer's ordinary life."""
HINTED_SHARE = 3
"""Hints that nothing has proved yet may fence one in so many brokers per session time: a broken network of the
controller looks the same."""


class _Session(NamedTuple):
    epoch: int
    deadline_ms: int


class Sessions:
    """Deadlines of brokers, by id. Times given are the world's, times kept are the controller's own."""

    def __init__(self, session_ms: int, now_ms: int) -> None:
        self._session_ms = session_ms
        self._pulse_ms = max(1, session_ms // PULSES_PER_SESSION)
        self._slack_ms = max(1, self._pulse_ms // SLACK_PER_PULSE)
        self._lost_ms = 0
        self._settled_ms = now_ms
        self._called_ms = now_ms
        # All sessions last equally long, but for the first ones, which begin in the order of their ends: so the order
        # in which they were prolonged is the order of their deadlines.
        self._sessions: dict[int, _Session] = {}
        # Per broker, when a hint ended its session.
        self._hinted: dict[int, int] = {}

    def advance(self, now_ms: int) -> None:
        """Tell the time; to be called first in every turn."""
        late_ms = now_ms - self.next_call_ms()
        if late_ms > 0:
            self._lost_ms += late_ms
        if late_ms > self._slack_ms:
            self._settled_ms = now_ms + self._slack_ms
        self._called_ms = max(self._called_ms, now_ms)

    def next_call_ms(self) -> int:
        """When `advance` must be called at the latest."""
        if self._called_ms < self._settled_ms:
            return self._settled_ms
        pulse_ms = self._called_ms + self._pulse_ms
        first = next(iter(self._sessions.values()), None)
        return pulse_ms if first is None else max(self._called_ms, min(pulse_ms, first.deadline_ms + self._lost_ms))

    @property
    def _own_ms(self) -> int:
        return self._called_ms - self._lost_ms

    def __len__(self) -> int:
        return len(self._sessions)

    def lengthen(self, session_ms: int) -> None:
        """Sessions last this long from now on, unless they lasted longer already: their order stays what it was."""
        self._session_ms = max(self._session_ms, session_ms)

    def begin(self, broker_id: int, epoch: int, first_ms: int) -> None:
        """A session that was found: it lasts only so long, unless the broker is heard of. Those that end first come
        first."""
        self._sessions[broker_id] = _Session(epoch, self._own_ms + min(first_ms, self._session_ms))

    def touch(self, broker_id: int, epoch: int) -> None:
        """The broker was heard of."""
        self._sessions.pop(broker_id, None)
        self._sessions[broker_id] = _Session(epoch, self._own_ms + self._session_ms)

    def forget(self, broker_id: int) -> None:
        self._sessions.pop(broker_id, None)

    def is_valid(self, broker_id: int, epoch: int) -> bool:
        session = self._sessions.get(broker_id)
        return session is not None and session.epoch == epoch and session.deadline_ms > self._own_ms

    def expired(self) -> tuple[int, int] | None:
        """The next broker (id, epoch) that was silent for too long; its session ends with that.

        One at a time, so that what follows from one is decided before the next.
        """
        found = next(iter(self._sessions.items()), None)
        if found is None or self._called_ms < self._settled_ms or found[1].deadline_ms > self._own_ms:
            return None
        del self._sessions[found[0]]
        return found[0], found[1].epoch

    def take_hint(self, broker_id: int, brokers: int) -> bool:
        """Whether a hint ("connection refused") may end a broker's session now; if so it is counted."""
        since_ms = self._own_ms - self._session_ms
        self._hinted = {each: at_ms for each, at_ms in self._hinted.items() if at_ms > since_ms}
        if len(self._hinted) >= brokers // HINTED_SHARE:
            return False
        self._hinted[broker_id] = self._own_ms
        return True

    def prove_hint(self, broker_id: int) -> None:
        """Another process has come in its place: the broker was gone indeed, and the next hint may be heeded."""
        self._hinted.pop(broker_id, None)
