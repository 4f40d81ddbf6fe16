"""A voter that has lost its log: what it may not do, and when it counts again."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.raft.ids import LogEnd
from penstock.core.raft.leader import LeaderState
from penstock.core.raft.rebuilding import LOST, Rebuilding
from penstock.core.raft.settings import RaftSettings
from penstock.core.raft.voters import static_voters
from tests.raft.faults import play_losing
from tests.raft.node import LISTENER, key_of

OTHERS = {2, 3, 4, 5}


@pytest.mark.slow
def test_seeds_in_which_logs_are_lost() -> None:
    total = sum((play_losing(seed).counts for seed in range(6)), start=play_losing(6).counts)
    assert total["logs lost"] > 0
    assert total["logs rebuilt"] > 0


def test_it_has_everything_when_it_has_what_the_leader_had_after_the_loss() -> None:
    rebuilding = Rebuilding(is_election_lost=False)
    assert not rebuilding.has_caught_up(epoch=4, synced_offset=10, known=10, told=10)
    rebuilding.target = LogEnd(4, 10)
    assert not rebuilding.has_caught_up(epoch=4, synced_offset=9, known=9, told=5)
    assert not rebuilding.has_caught_up(epoch=4, synced_offset=10, known=5, told=-1)
    assert not rebuilding.has_caught_up(epoch=4, synced_offset=12, known=10, told=11)
    assert not rebuilding.has_caught_up(epoch=5, synced_offset=10, known=5, told=5)
    assert rebuilding.has_caught_up(epoch=4, synced_offset=10, known=5, told=5)


def test_all_others_must_tell_their_epoch_and_a_majority_must_remember_it() -> None:
    assert Rebuilding(is_election_lost=False).knows_epoch(OTHERS, 3)
    rebuilding = Rebuilding(is_election_lost=True)
    rebuilding.told(2, ErrorCode.NONE)
    rebuilding.told(3, ErrorCode.FENCED_LEADER_EPOCH)
    rebuilding.told(4, LOST)
    rebuilding.told(5, ErrorCode.INVALID_REQUEST)
    assert not rebuilding.knows_epoch(OTHERS, 3)
    assert rebuilding.unasked(OTHERS) == [4, 5]
    rebuilding.told(5, LOST)
    assert not rebuilding.knows_epoch(OTHERS, 3), "two remember, and three of them may have forgotten"
    rebuilding.told(5, ErrorCode.NONE)
    assert rebuilding.knows_epoch(OTHERS, 3)
    assert not Rebuilding(is_election_lost=True).knows_epoch(set(), 1), "nobody is known yet"


def test_a_voter_s_position_may_go_back_and_the_high_watermark_does_not() -> None:
    voters = static_voters(LISTENER, {number: (f"host-{number}", 9000) for number in (1, 2, 3)})
    leader = LeaderState(key_of(1), RaftSettings(), voters, [1, 2], epoch_start_offset=0, now_ms=0)
    leader.local_synced(20)
    assert leader.replica_fetched(key_of(2), 10, 20, 1)
    assert not leader.replica_fetched(key_of(2), 3, 20, 2)
    assert (leader.voters[2].end_offset, leader.high_watermark) == (3, 10)
