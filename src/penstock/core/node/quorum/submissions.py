"""What this leader has decided and is not committed yet: its image has all of it, so that decisions see each other.

Submissions are appended in their order, large ones after some turns, because their encoding takes that long. Whoever
submitted one hears once it is committed and acted upon, or that it is lost, and with it everything on top of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Pause, Steps
from penstock.core.base.steps import Tasks
from penstock.core.base.values import replaced
from penstock.core.metadata.fold import Delta, fold
from penstock.core.metadata.framing import encode_record
from penstock.core.metadata.image import Image
from penstock.core.metadata.levels import fitting, level_of
from penstock.core.wire.schema import StoredRecord

ENCODED_PER_TURN_MAX = 1_000
"""Records that are encoded before others get their turn: some milliseconds of work."""

OnCommitted = Callable[[ErrorCode], None]


class Appender(Protocol):
    """Where encoded records go."""

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets."""
        ...

    def append(self, values: Sequence[bytes], timestamp_ms: int) -> ErrorCode:
        """Append records that stay together, at the end, or say why that cannot be."""
        ...


class Submission(NamedTuple):
    """Records on their way, the image that has them, and who waits for that."""

    image: Image
    delta: Delta
    done: OnCommitted
    records: Sequence[StoredRecord] = ()


class Submissions:
    """The queue from a decision to its commit, on top of the committed image."""

    def __init__(self, image: Image, appender: Appender, tasks: Tasks) -> None:
        self.uncommitted_image = image
        self._committed = image
        self._appender = appender
        self._tasks = tasks
        self._unwritten: deque[Submission] = deque()
        self._uncommitted: deque[Submission] = deque()
        self._writing = False

    def submit(self, records: Sequence[StoredRecord], now_ms: int, done: OnCommitted) -> None:
        records = fitting(records, level_of(self.uncommitted_image.features))
        self.uncommitted_image, delta = fold(self.uncommitted_image, records, self._next_offset + len(records) - 1)
        self._unwritten.append(Submission(self.uncommitted_image, delta, done, records))
        if not self._writing:
            self._writing = True
            self._tasks.run(self._write(now_ms))

    @property
    def is_settled(self) -> bool:
        """Whether all that `latest` has is committed, so that it can be told."""
        return not (self._unwritten or self._uncommitted)

    def when_settled(self, done: OnCommitted) -> None:
        """Call once all that `latest` has now is committed, or with the error that leaves it open."""
        assert not self.is_settled, "there is nothing to wait for"
        queue = self._unwritten or self._uncommitted
        last = queue[-1]

        def both(code: ErrorCode) -> None:
            last.done(code)
            done(code)

        queue[-1] = last._replace(done=both)

    # What becomes of them

    def take_committed(self, end_offset: int) -> list[Submission]:
        """Those that are committed now, oldest first."""
        queue, taken = self._uncommitted, []
        while queue and queue[0].image.offset < end_offset:
            taken.append(queue.popleft())
            self._committed = taken[-1].image
        return taken

    def rebase(self, image: Image) -> None:
        """The committed image is another one, and nothing is on its way that was decided on the one before."""
        assert self.is_settled, "an image was changed under decisions"
        self.uncommitted_image = self._committed = image

    def passed(self, offset: int) -> Image:
        """Something that is not ours to fold was committed at an offset; gives the image as of there."""
        self._committed = replaced(self._committed, offset=offset)
        if self.is_settled:
            self.uncommitted_image = self._committed
        return self._committed

    def lose_from(self, end_offset: int, code: ErrorCode) -> None:
        """The log lost everything from an offset on: that never happened, nor did anything decided on top of it."""
        queue, lost = self._uncommitted, []
        while queue and queue[-1].image.offset >= end_offset:
            lost.append(queue.pop())
        if lost:
            self._undo(lost[::-1], code)

    def lose_all(self, code: ErrorCode) -> None:
        """Somebody else decides from now on. What is in the log may still come true."""
        lost = list(self._uncommitted)
        self._uncommitted.clear()
        self._undo(lost, code)

    def refuse_waiting(self, code: ErrorCode) -> None:
        """Nobody is kept waiting for a disk that fails. But the records are in the log, and come true with the next
        sync that succeeds."""
        waiting = list(self._uncommitted)
        self._uncommitted = deque(submission._replace(done=_told_already) for submission in waiting)
        for submission in waiting:
            submission.done(code)

    def _undo(self, lost: list[Submission], code: ErrorCode) -> None:
        lost += self._unwritten
        self._unwritten.clear()
        self.uncommitted_image = self._uncommitted[-1].image if self._uncommitted else self._committed
        for submission in lost:
            submission.done(code)

    # Appending

    @property
    def _next_offset(self) -> int:
        waiting = self._unwritten
        return waiting[-1].image.offset + 1 if waiting else self._appender.end_offset

    def _write(self, now_ms: int) -> Steps[None]:
        """Append what was submitted, one submission after the other."""
        while self._unwritten:
            submission = self._unwritten[0]
            values = yield from _encode(submission.records, level_of(submission.image.features))
            if not self._unwritten or self._unwritten[0] is not submission:
                continue  # One before it was lost meanwhile, and this one with it.
            if self._appender.end_offset + len(values) - 1 != submission.image.offset:
                # A record of the quorum's own has come between.
                submission = self._refold()
            # It may be committed before the append returns.
            self._unwritten.popleft()
            self._uncommitted.append(submission._replace(records=()))
            code = self._appender.append(values, now_ms)
            if code is not ErrorCode.NONE:
                self._undo([self._uncommitted.pop()], code)
        self._writing = False

    def _refold(self) -> Submission:
        """Give everything that is not appended yet the offsets that it will have; gives the first of that."""
        image = self._uncommitted[-1].image if self._uncommitted else self._committed
        offset = self._appender.end_offset
        for number, submission in enumerate(self._unwritten):
            offset += len(submission.records)
            image, delta = fold(image, submission.records, offset - 1)
            self._unwritten[number] = submission._replace(image=image, delta=delta)
        self.uncommitted_image = image
        return self._unwritten[0]


def _encode(records: Sequence[StoredRecord], level: int) -> Steps[list[bytes]]:
    values: list[bytes] = []
    for number, record in enumerate(records):
        if number and number % ENCODED_PER_TURN_MAX == 0:
            yield Pause()
        values.append(encode_record(record, level))
    return values


def _told_already(code: ErrorCode) -> None:
    """Whoever asked has heard that it failed."""
