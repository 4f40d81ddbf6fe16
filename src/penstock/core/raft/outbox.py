"""Decisions on their way out, and what holds them back: nothing is said that a crash could take back."""

from __future__ import annotations

from penstock.core.raft.decisions import (
    Answer,
    Install,
    News,
    Ready,
    Send,
    Truncate,
    WriteChunk,
)
from penstock.core.raft.election import ElectionState
from penstock.core.raft.ids import SnapshotId

MESSAGES_HELD_MAX = 1_000
"""While the disk takes no election state, deadlines pass and others ask on. Beyond this many messages of a kind the
oldest is forgotten, as if it had been lost on its way: nobody waits that long."""


class Outbox:
    """Collects a turn's decisions; messages stay here until the election state they rest on is saved."""

    __slots__ = ("_saved", "_saving", "_wanted", "ready")

    def __init__(self, saved: ElectionState | None) -> None:
        self._saved = saved
        self._wanted = saved
        self._saving: ElectionState | None = None
        self.ready = Ready()

    def save(self, election: ElectionState) -> None:
        """This state must be on the disk before anything more is said."""
        self._wanted = election

    def saved(self) -> None:
        """The save that was asked for has come true."""
        assert self._saving is not None, "nothing was being saved"
        self._saved, self._saving = self._saving, None

    @property
    def is_free_to_speak(self) -> bool:
        return self._saved == self._wanted

    def send(self, send: Send) -> None:
        self.ready.sends.append(send)

    def answer(self, answer: Answer) -> None:
        self.ready.answers.append(answer)

    def store(self, operation: Truncate | WriteChunk | Install) -> None:
        self.ready.storage.append(operation)

    def tell(self, news: News) -> None:
        self.ready.news.append(news)

    def drop_before(self, snapshot: SnapshotId) -> None:
        self.ready.drop_before = snapshot

    def take(self, *, flush: bool) -> Ready:
        """What can be performed now."""
        if not (flush or self.ready) and self.is_free_to_speak:
            # Nothing, most of the time; and what is empty nobody performs, so it can be filled and taken later.
            return self.ready
        ready, self.ready = self.ready, Ready()
        ready.flush = flush
        if self._saving is None and not self.is_free_to_speak:
            ready.save = self._saving = self._wanted
        if not self.is_free_to_speak:
            self.ready.sends, ready.sends = ready.sends[-MESSAGES_HELD_MAX:], []
            self.ready.answers, ready.answers = ready.answers[-MESSAGES_HELD_MAX:], []
        return ready
