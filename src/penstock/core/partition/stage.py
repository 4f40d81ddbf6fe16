"""The stage before an append: batches of one partition whose records are read elsewhere before the leader takes them.

It is a queue. What is in it is taken in the order in which it came: a batch that needs no reading waits for those
before it that do, and goes in the turn in which they are done. Several in a row are read by one job, so that the way to
a worker and back is paid once. Other partitions go on, and so does every connection; only what is produced to this
partition meanwhile stands in line here.

Whoever puts a batch in hears of it exactly once, in the order of the queue: with the leader there is then and the batch
as it is to be stored, or with the error its producer gets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import FileFailure, Job, RunJob, Steps
from penstock.core.records.diverting import Diverted
from penstock.core.records.errors import RecordError
from penstock.core.records.examine import Finding, Question, Refusal, Wanted, examine_all
from penstock.core.records.schema_ids import NOTHING_KNOWN, Known, Verdicts, known_of
from penstock.core.records.validate import Rules

if TYPE_CHECKING:
    from penstock.core.partition.leader import Leader

JOB_BYTES_MAX: Final = 1024 * 1024
JOB_BATCHES_MAX: Final = 64
ATTEMPTS_MAX: Final = 2
"""A worker process may be killed, and is started anew; what kills it each time is not given to it for ever."""

Outcome = bytearray | Diverted | ApiError
Ready = Callable[["Leader", Outcome], None]


class Staged:
    """A batch that waits. `needs_reading`: the leader has not read it where it came in."""

    __slots__ = ("needs_reading", "now_ms", "ready", "records", "rules", "verdicts")

    def __init__(self, records: bytearray, rules: Rules, needs_reading: bool, now_ms: int, ready: Ready) -> None:
        self.records = records
        self.rules = rules
        self.needs_reading = needs_reading
        self.now_ms = now_ms
        self.ready = ready
        # What was found out for it of the schemas that it names.
        self.verdicts: Verdicts = {}


class Stage:
    """What waits in one partition. Its leader drops it when nothing waits any more."""

    __slots__ = ("_is_busy", "_queue", "_reading", "leader")

    def __init__(self, leader: Leader) -> None:
        self.leader = leader
        self._queue: deque[Staged] = deque()
        # The first ones, which a job reads.
        self._reading: list[Staged] = []
        self._is_busy = False

    def put(self, staged: Staged) -> None:
        self._queue.append(staged)
        if not self._is_busy:
            self._go_on()

    def fail(self, error: ErrorCode) -> None:
        """This replica leads no longer: nothing of what waits is appended."""
        waiting, self._reading = [*self._reading, *self._queue], []
        self._queue.clear()
        for staged in waiting:
            staged.ready(self.leader, ApiError(error))

    def _go_on(self) -> None:
        self._is_busy = True
        queue = self._queue
        while queue and not queue[0].needs_reading:
            staged = queue.popleft()
            staged.ready(self.leader, staged.records)
        self._reading = self._take()
        if self._reading:
            self.leader.log.context.tasks.run(_examine(self.leader, self._reading), self._examined)
            return
        self._is_busy = False
        if self.leader.stage is self:
            self.leader.stage = None

    def _take(self) -> list[Staged]:
        """As many as one job reads."""
        taken: list[Staged] = []
        size, queue = 0, self._queue
        while queue and queue[0].needs_reading and len(taken) < JOB_BATCHES_MAX:
            size += len(queue[0].records)
            if taken and size > JOB_BYTES_MAX:
                break
            taken.append(queue.popleft())
        return taken

    def _examined(self, outcome: list[Finding] | Exception) -> None:
        reading, self._reading = self._reading, []
        if isinstance(outcome, Exception) and not isinstance(outcome, FileFailure):
            raise outcome
        if isinstance(outcome, FileFailure):
            why = f"nobody can read the batch: {outcome.message}"
            self._turn_away(reading, ApiError(ErrorCode.KAFKA_STORAGE_ERROR, why))
        elif reading:
            for at, (staged, finding) in enumerate(zip(reading, outcome, strict=True)):
                if isinstance(finding, Wanted):
                    self._ask(finding, reading[at:])
                    return
                staged.ready(self.leader, _result(self.leader, staged, finding))
        self._go_on()

    def _ask(self, wanted: Wanted, reading: list[Staged]) -> None:
        """Hear what is to be said of the schemas that the first of some batches names; then they are read again."""
        self._reading = reading
        leader, demands = self.leader, reading[0].rules.demands
        leader.schemas.judge(leader.topic, demands, wanted.schemas, partial(self._judged, reading))

    def _judged(self, reading: list[Staged], outcome: Verdicts | ApiError) -> None:
        if self._reading is not reading:
            return  # Those who waited have been told that this replica leads no longer.
        self._reading = []
        if isinstance(outcome, ApiError):
            self._turn_away(reading, outcome)
        else:
            reading[0].verdicts = {**reading[0].verdicts, **outcome}
            self._queue.extendleft(reversed(reading))
        self._go_on()

    def _turn_away(self, reading: list[Staged], error: ApiError) -> None:
        """Nothing may overtake what could not be read, so all of them are asked to come again."""
        waiting = [*reading, *self._queue]
        self._queue.clear()
        for staged in waiting:
            staged.ready(self.leader, error)


def _result(leader: Leader, staged: Staged, finding: Finding) -> Outcome:
    assert not isinstance(finding, Wanted), "it is asked for, and read again"
    if isinstance(finding, Refusal):
        return staged.records if leader.has_taken(staged.records) else RecordError(*finding)
    if isinstance(finding, Diverted):
        return Diverted(bytearray(finding.rest), finding.letters, staged.records)
    return staged.records if finding is None else bytearray(finding)


def _examine(leader: Leader, batches: list[Staged]) -> Steps[list[Finding]]:
    questions = [Question(each.records, each.rules, each.now_ms, _known(leader, each)) for each in batches]
    for attempts_left in reversed(range(ATTEMPTS_MAX)):
        try:
            findings: list[Finding] = yield RunJob(Job(examine_all, (questions,)), is_awaited=True)
            break
        except FileFailure:
            if not attempts_left:
                raise
    return findings


def _known(leader: Leader, staged: Staged) -> Known:
    if not staged.rules.demands:
        return NOTHING_KNOWN
    known = leader.schemas.known(leader.topic, staged.rules.demands)
    return known_of({**known.verdicts, **staged.verdicts}, known.make_check) if staged.verdicts else known
