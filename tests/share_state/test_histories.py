"""Lives of a share coordinator agree with their twin; mistakes that one could make do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.values import replaced
from penstock.core.rsm.result import KeyValue
from penstock.core.share_state import deciding, shard, table
from penstock.core.share_state.batches import combined
from penstock.core.share_state.key import SharePartition
from penstock.core.share_state.records import snapshot_record
from penstock.core.share_state.state import Kept, ShareState
from penstock.core.share_state.turn import Refused, check_epochs
from tests.examples import scaled
from tests.finding import first_failure
from tests.share_state.histories import play

Patch = pytest.MonkeyPatch
FAILURES = (AssertionError, KeyError)


def test_lives_agree_with_their_twin() -> None:
    for seed in range(scaled(100)):
        play(seed)


def _state_epoch_is_not_checked(patch: Patch) -> None:
    patch.setattr(deciding, "check_epochs", lambda kept, leader, state: check_epochs(kept, leader, -1))


def _leader_epoch_is_not_checked(patch: Patch) -> None:
    patch.setattr(deciding, "check_epochs", lambda kept, leader, state: check_epochs(kept, -1, state))


def _epochs_are_forgotten_by_who_is_next(patch: Patch) -> None:
    """What is seen only in memory is no fence."""

    def check(kept: Kept | None, leader: int, state: int) -> None:
        if kept is not None and leader != -1 and leader < kept.state.leader_epoch:
            raise Refused(ErrorCode.FENCED_LEADER_EPOCH)
        check_epochs(kept, -1, state)

    patch.setattr(deciding, "check_epochs", check)
    patch.setattr(table, "_changed", _without_leader(table._changed))


def _without_leader(changed: Callable[..., Any]) -> Callable[..., Any]:
    def made(kept: Kept, change: Any) -> Kept:
        after: Kept = changed(kept, change)
        return replaced(after, state=replaced(after.state, leader_epoch=kept.state.leader_epoch))

    return made


def _a_snapshot_forgets_what_was_before(patch: Patch) -> None:
    patch.setattr(deciding, "combined", lambda known, new, start: combined((), new, start))


def _what_is_settled_opens_again(patch: Patch) -> None:
    """The last word goes, and not the highest delivery."""

    def last_word(known: Any, new: Any, start: int) -> Any:
        fates = {}
        for each in (*known, *new):
            for offset in range(max(each.first, start), each.last + 1):
                fates[offset] = each._replace(first=offset, last=offset)
        return tuple(fates[offset] for offset in sorted(fates))

    patch.setattr(table, "combined", last_word)


def _the_log_is_cut_at_the_newest_snapshot(patch: Patch) -> None:
    def newest(known: table.ShareStateTable) -> int:
        return max((each.offset for each in known.values()), default=known.next_offset)

    patch.setattr(table.ShareStateTable, "needed_from", property(newest))


def _a_round_writes_the_state_of_before_the_updates(patch: Patch) -> None:
    def shortened(key: SharePartition, state: ShareState) -> KeyValue:
        return snapshot_record(key, replaced(state, batches=state.batches[:1]))

    patch.setattr(shard, "snapshot_record", shortened)


PLANTED = [
    _state_epoch_is_not_checked,
    _leader_epoch_is_not_checked,
    _epochs_are_forgotten_by_who_is_next,
    _a_snapshot_forgets_what_was_before,
    _what_is_settled_opens_again,
    _the_log_is_cut_at_the_newest_snapshot,
    _a_round_writes_the_state_of_before_the_updates,
]


@pytest.mark.parametrize("plant", PLANTED)
def test_planted_bugs_are_found(plant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    plant(monkeypatch)
    assert first_failure(play, 0, FAILURES) is not None
