"""What leaders ask of schemas, answered from what this node has folded; who names one that is not there waits a while,
since it may have been registered a moment ago.

What was judged is kept until the table changes. So is, for some time, what was waited for in vain: whoever names what
nobody registers must not hold up a partition again and again.
"""

from __future__ import annotations

from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.deadlines import Deadline
from penstock.core.node.schemas.dead_letters import DeadLetters
from penstock.core.node.schemas.judging import Missing, judge
from penstock.core.node.schemas.ports import SchemaHost
from penstock.core.node.schemas.reader import SchemaReader
from penstock.core.partition.schema_source import Judged
from penstock.core.records.schema_ids import Demand, Known, MakeCheck, Named, SchemaText, Verdict, Verdicts, known_of

PATIENCE_MS: Final = 1_000
VAIN_MS: Final = 10_000
VAIN_MAX: Final = 10_000
KEPT_MAX: Final = 1_000
"""Verdicts for one topic, all of which go with each job."""
KEPT_CHARS_MAX: Final = 2 << 20
ASKED_CHARS_MAX: Final = 16 << 20
"""Of the schemas that one batch names."""
TOPICS_MAX: Final = 10_000

Asker = tuple[str, tuple[Demand, ...]]
"""A topic, and what it demands."""


class SchemaKnowledge:
    """Of one node."""

    def __init__(self, node: SchemaHost, make_check: MakeCheck | None) -> None:
        self._node = node
        self._make_check = make_check
        self.dead_letters = DeadLetters(node)
        self.reader = SchemaReader(node, self._table_changed)
        self._nothing = known_of({}, make_check)
        self._kept: dict[Asker, Known] = {}
        self._in_vain: dict[tuple[Asker, Named], int] = {}
        self._folded: tuple[object, int] = (None, 0)
        self._waiting: dict[_Waiting, None] = {}

    def known(self, topic: str, demands: tuple[Demand, ...]) -> Known:
        return self._kept.get((topic, demands), self._nothing)

    def judge(self, topic: str, demands: tuple[Demand, ...], schemas: frozenset[Named], judged: Judged) -> None:
        waiting = _Waiting((topic, demands), schemas, judged, self.reader.mark())
        if not self._settle(waiting):
            self._waiting[waiting] = None
            waiting.deadline = self._node.deadlines.at(self._node.now_ms + PATIENCE_MS, lambda: self._give_up(waiting))

    def _table_changed(self) -> None:
        reader = self.reader
        folded = (reader.table, reader.next_offset)
        if folded == self._folded:
            return
        self._folded = folded
        self._kept.clear()
        self._in_vain.clear()
        for waiting in list(self._waiting):
            self._settle(waiting)

    def _settle(self, waiting: _Waiting) -> bool:
        """Whether there is a verdict on each schema, which has been told."""
        verdicts = self._verdicts(waiting)
        if any(isinstance(each, Missing) for each in verdicts.values()):
            return False
        self._tell(waiting, verdicts)
        return True

    def _give_up(self, waiting: _Waiting) -> None:
        if not self.reader.has_looked_since(waiting.mark):
            # It may well be registered: who asks again may hear that.
            self._tell(waiting, ApiError(ErrorCode.NOT_ENOUGH_REPLICAS, "this node has not read all schemas yet"))
            return
        verdicts = self._verdicts(waiting)
        if len(self._in_vain) + len(verdicts) > VAIN_MAX:
            self._in_vain.clear()
        until_ms = self._node.now_ms + VAIN_MS
        self._in_vain.update(
            ((waiting.asker, schema), until_ms) for schema, each in verdicts.items() if isinstance(each, Missing)
        )
        self._tell(waiting, {schema: _plain(each) for schema, each in verdicts.items()})

    def _verdicts(self, waiting: _Waiting) -> dict[Named, Verdict | Missing]:
        chars, verdicts = 0, dict[Named, Verdict | Missing]()
        for schema in waiting.schemas:
            verdict = verdicts[schema] = self._verdict(waiting.asker, schema)
            chars += _chars(verdict)
            if chars > ASKED_CHARS_MAX:
                verdicts[schema] = "which is too large together with the others of its batch"
        return verdicts

    def _verdict(self, asker: Asker, schema: Named) -> Verdict | Missing:
        topic, demands = asker
        demand = next(each for each in demands if each.of_key == schema.of_key)
        verdict = judge(self.reader.table, topic, demand, schema)
        until_ms = self._in_vain.get((asker, schema), 0) if isinstance(verdict, Missing) else 0
        return _plain(verdict) if until_ms > self._node.now_ms else verdict

    def _tell(self, waiting: _Waiting, outcome: Verdicts | ApiError) -> None:
        self._waiting.pop(waiting, None)
        if waiting.deadline is not None:
            waiting.deadline.cancel()
        if not isinstance(outcome, ApiError):
            self._keep(waiting.asker, outcome)
        waiting.judged(outcome)

    def _keep(self, asker: Asker, verdicts: Verdicts) -> None:
        """What is in order: the others are few, or somebody's mistakes."""
        new = {schema: verdict for schema, verdict in verdicts.items() if not isinstance(verdict, str)}
        kept: dict[Named, Verdict] = {**self.known(*asker).verdicts, **new}
        if len(kept) > KEPT_MAX or sum(map(_chars, kept.values())) > KEPT_CHARS_MAX:
            kept = dict(new)
        if len(self._kept) >= TOPICS_MAX:
            self._kept.clear()
        if len(kept) <= KEPT_MAX and sum(map(_chars, kept.values())) <= KEPT_CHARS_MAX:
            self._kept[asker] = known_of(kept, self._make_check)


class _Waiting:
    """A batch whose schemas are to be judged."""

    __slots__ = ("asker", "deadline", "judged", "mark", "schemas")

    def __init__(self, asker: Asker, schemas: frozenset[Named], judged: Judged, mark: int) -> None:
        self.asker = asker
        self.schemas = schemas
        self.judged = judged
        self.mark = mark
        self.deadline: Deadline | None = None


def _plain(verdict: Verdict | Missing) -> Verdict:
    return str(verdict) if isinstance(verdict, Missing) else verdict


def _chars(verdict: Verdict | Missing) -> int:
    if not isinstance(verdict, SchemaText):
        return 0
    return len(verdict.text) + sum(len(text) for _, text in verdict.references)
