"""Mistakes that a share partition could make."""

from __future__ import annotations

from typing import Any

from penstock.core.base.values import replaced
from penstock.core.sharing.asked import ShareSettings
from penstock.core.sharing.change import Change, StateBatch
from penstock.core.sharing.runs import Run
from penstock.core.sharing.share_partition import SharePartition
from penstock.core.sharing.states import ACKNOWLEDGED, State


class LockNeverExpires(SharePartition):
    def expire(self, now_ms: int, settings: ShareSettings) -> Change:
        return Change()


class CountsAnew(SharePartition):
    """A leader that forgets how often the one before it has delivered."""

    def _load(self, batch: StateBatch) -> None:
        super()._load(batch._replace(delivery_count=0))


class ForgetsAcknowledged(SharePartition):
    """A leader that offers again what the one before it knew to be acknowledged."""

    def _load(self, batch: StateBatch) -> None:
        if batch.state is not ACKNOWLEDGED:
            super()._load(batch)


class OffersForEver(SharePartition):
    """Whose records come back however often they were delivered."""

    def acknowledge(self, member: str, said: Any, settings: ShareSettings, now_ms: int) -> Change:
        return super().acknowledge(member, said, replaced(settings, deliveries_max=99), now_ms)

    def expire(self, now_ms: int, settings: ShareSettings) -> Change:
        return super().expire(now_ms, replaced(settings, deliveries_max=99))


class AnswersEarly(SharePartition):
    """Which does not wait for the write."""

    def _await(self, run: Run, state: State, change: Change) -> None:
        super()._await(run, state, change)
        self.completed(change, stored=True)


class GivesUpSilently(SharePartition):
    """Whose records vanish with their last lock, dead letters or not."""

    def give_up(self, now_ms: int, settings: ShareSettings) -> Change:
        return Change()


class BuriesNothing(SharePartition):
    """Which takes records for done with that ought to become dead letters."""

    def _leave_to(self, change: Change, run: Run, kind: int, settings: ShareSettings) -> None:
        super()._leave_to(change, run, kind, replaced(settings, buries=False))
