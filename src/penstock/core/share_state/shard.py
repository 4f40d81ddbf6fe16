"""The machine in charge of the share partitions of one partition of `__share_group_state`.

Every request becomes a `Result`: a record for each share partition that changes, and a reply that waits for them. The
log is not compacted: what all later snapshots have made useless is cut off from time to time, and what stands in the
way of that because nobody has changed it is written once more.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.base.values import frozen, replaced
from penstock.core.rsm.machine import Decision, OpenTransactions, TopicChanges
from penstock.core.rsm.result import Due, Replies, Reply, Result
from penstock.core.share_state.answering import answer
from penstock.core.share_state.key import SharePartition
from penstock.core.share_state.records import snapshot_record, tombstone
from penstock.core.share_state.state import Kept
from penstock.core.share_state.table import ShareStateTable
from penstock.core.share_state.turn import ShareStateContext, Turn

PRUNE: Final = "prune"
COLD: Final = "cold"
"""The timers of a machine."""


@frozen
class PruneDue(Due):
    """What the log has before an offset is not needed any more."""

    offset: int


class ShareStateShard:
    """Share partitions, and what is due for their log."""

    def __init__(self, context: ShareStateContext) -> None:
        self.table = ShareStateTable()
        self.context = context
        self._offset = 0

    # The log.

    def at(self, offset: int) -> None:
        self._offset = offset

    def replay(self, key: bytes, value: bytes | None, now_ms: int) -> None:
        self.table.replay(key, value, self._offset)

    def waits(self, key: bytes, now_ms: int) -> None:
        """Nobody writes here in a transaction."""

    def begin(self, now_ms: int, transactions: OpenTransactions) -> Steps[None]:
        self._later(PRUNE, now_ms, self.context.settings.prune_interval_ms)
        self._later(COLD, now_ms, self.context.settings.cold_interval_ms)
        yield from ()

    def topics_changed(self, changes: TopicChanges) -> Iterable[Decision]:
        gone = set(changes.removed.values())
        doomed = [key for key in self.table if key.topic_id in gone]
        for at in range(0, len(doomed), self._records_max):
            yield partial(self._forget, doomed[at : at + self._records_max])

    def lose(self, code: ErrorCode) -> Replies:
        """Nobody waits in this machine."""
        self.table.clear()
        return []

    def dropped(self, reply: Reply) -> None:
        """Nobody waits in this machine."""

    # Requests.

    def answer(self, now_ms: int, request: Any, reply: Reply) -> Result:
        turn = Turn(now_ms, self.context, self.table)
        message = answer(turn, request)
        return Result(turn.records, [(reply, message)], is_only_record=True)

    # What is due.

    def on_timer(self, now_ms: int, key: Hashable) -> Result:
        settings = self.context.settings
        if key == PRUNE:
            self._later(PRUNE, now_ms, settings.prune_interval_ms)
            return Result(replies=[(self.context.pruner, PruneDue(self.table.needed_from))])
        result = self._refresh(now_ms)
        is_more = len(result.records) == settings.records_per_turn_max
        self._later(COLD, now_ms, 0 if is_more else settings.cold_interval_ms)
        return result

    def _refresh(self, now_ms: int) -> Result:
        """Write once more what was written longest ago, if that makes room. What belongs to no topic, since that went
        while nobody was in charge here, goes."""
        result = Result(is_only_record=True)
        if self.table.is_mostly_outdated:
            before_ms = now_ms - self.context.settings.cold_interval_ms
            for key, kept in islice(self.table.items(), self._records_max):
                if kept.state.written_ms > before_ms:
                    break
                result.records.append(self._once_more(now_ms, key, kept))
        return result

    def _once_more(self, now_ms: int, key: SharePartition, kept: Kept) -> tuple[bytes, bytes | None]:
        if self.context.partition_count(key.topic_id) is None:
            return tombstone(key)
        state = kept.state
        return snapshot_record(key, replaced(state, snapshot_epoch=state.snapshot_epoch + 1, written_ms=now_ms))

    def _forget(self, keys: Sequence[SharePartition], now_ms: int) -> Result:
        return Result([tombstone(key) for key in keys if key in self.table], is_only_record=True)

    @property
    def _records_max(self) -> int:
        return self.context.settings.records_per_turn_max

    def _later(self, key: str, now_ms: int, delay_ms: int) -> None:
        self.context.timers.set(key, now_ms + delay_ms)
