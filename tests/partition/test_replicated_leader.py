"""A leader with followers: what it admits, when it commits, and whom it wants to have in sync."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.partition.divergence import EpochEnd
from penstock.core.partition.in_sync import Member
from tests.partition.stage import LAG_MS_MAX, NOW_MS, Stage, Told, assignment, fetched, produce, settings_of


def test_committed_is_what_everyone_in_sync_has() -> None:
    leader = Stage().lead()
    produce(leader, b"a", b"b")
    leader.fetched(fetched(2, 2))
    assert leader.high_watermark == 0
    leader.fetched(fetched(3, 1))
    assert leader.high_watermark == 1
    leader.fetched(fetched(3, 2))
    assert leader.high_watermark == 2


def test_who_waits_for_all_hears_when_it_is_committed_and_who_waits_for_the_leader_does_not_wait() -> None:
    leader, told = Stage().lead(), Told()
    appended = produce(leader, b"a")
    assert not leader.wait(appended.next_offset, told, 1)
    assert leader.wait(appended.next_offset, told, -1)
    leader.fetched(fetched(2, 1))
    assert told.codes == []
    leader.fetched(fetched(3, 1))
    assert told.codes == [ErrorCode.NONE]


def test_too_few_in_sync_refuse_acks_all_before_anything_is_written() -> None:
    leader = Stage().lead(assignment(isr=(1,)))
    with pytest.raises(ApiError) as refused:
        produce(leader, b"a")
    assert refused.value.code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert leader.append_run([], 9, NOW_MS, -1) == []
    assert leader.log.end_offset == 0
    produce(leader, b"a", acks=1)
    assert (leader.log.end_offset, leader.high_watermark) == (1, 0), "one alone commits nothing"


def test_a_topic_with_fewer_replicas_than_it_demands_needs_all_it_has() -> None:
    leader = Stage(min_insync_replicas="3").lead(assignment(replicas=(1, 2), isr=(1, 2)))
    assert leader.in_sync_min == 2
    leader.configure(settings_of(min_insync_replicas="1"))
    assert leader.in_sync_min == 1


def test_who_waits_when_too_few_are_left_hears_so_after_the_append() -> None:
    leader, told = Stage().lead(), Told()
    assert leader.wait(produce(leader, b"a").next_offset, told)
    leader.update(assignment(isr=(1,), partition_epoch=8))
    assert told.codes == [ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND]
    assert leader.high_watermark == 0


def test_who_waits_when_the_leadership_is_lost_is_sent_elsewhere() -> None:
    leader, told = Stage().lead(), Told()
    leader.wait(produce(leader, b"a").next_offset, told)
    leader.remove(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert told.codes == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert leader.removed


@pytest.mark.parametrize("acks", [0, 1])
def test_without_a_lease_nothing_is_taken_that_the_leader_would_answer_for_alone(acks: int) -> None:
    stage = Stage()
    leader = stage.lead()
    stage.has_lease = False
    with pytest.raises(ApiError) as refused:
        produce(leader, b"a", acks=acks)
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    produce(leader, b"a", acks=-1)
    stage.has_lease = True
    produce(leader, b"b", acks=acks)


def test_without_a_lease_acks_all_is_refused_where_nobody_else_is_in_sync() -> None:
    stage = Stage(min_insync_replicas="1")
    leader = stage.lead(assignment(isr=(1,)))
    produce(leader, b"a")
    stage.has_lease = False
    with pytest.raises(ApiError, match="NOT_LEADER_OR_FOLLOWER"):
        produce(leader, b"b")


def test_latest_offsets_are_not_told_before_the_epochs_start_is_committed() -> None:
    leader = Stage(filled=3, known=1).lead()
    with pytest.raises(ApiError) as refused:
        leader.check_settled()
    assert refused.value.code is ErrorCode.OFFSET_NOT_AVAILABLE
    leader.fetched(fetched(2, 3, 4))
    leader.fetched(fetched(3, 3, 4))
    leader.check_settled()
    assert leader.high_watermark == 3


# The in-sync set


def test_a_follower_joins_when_it_has_the_high_watermark_and_the_epochs_start() -> None:
    stage = Stage(filled=3, known=1)
    leader = stage.lead(assignment(isr=(1, 2)))
    leader.fetched(fetched(3, 2, 4))
    assert stage.asked() is None, "it has what is known to be committed, but more may be"
    leader.fetched(fetched(3, 3, 4))
    proposal = stage.asked()
    assert proposal is not None
    assert proposal.members == (Member(1, 10), Member(2, -1), Member(3, 30))
    assert (proposal.leader_epoch, proposal.partition_epoch) == (5, 7)


def test_one_who_may_have_joined_already_counts() -> None:
    stage = Stage()
    leader = stage.lead(assignment(isr=(1, 2)))
    leader.fetched(fetched(3, 0))
    assert stage.asked() is not None
    produce(leader, b"a")
    leader.fetched(fetched(2, 1))
    assert leader.high_watermark == 0, "3 may be in sync by now, and has nothing"
    leader.fetched(fetched(3, 1))
    assert leader.high_watermark == 1


@pytest.mark.parametrize("epoch", [None, 31])
def test_who_is_fenced_or_has_a_new_life_does_not_join(epoch: int | None) -> None:
    stage = Stage()
    leader = stage.lead(assignment(isr=(1, 2)))
    stage.brokers.epochs.pop(3)
    if epoch is not None:
        stage.brokers.epochs[3] = epoch
    leader.fetched(fetched(3, 0))
    assert stage.asked() is None
    stage.brokers.epochs[3] = 30
    leader.reconsider()
    assert stage.asked() is not None, "it is let in once the image knows it, without having to say more"


def test_a_fetch_from_an_earlier_life_is_refused() -> None:
    leader = Stage().lead()
    leader.fetched(fetched(2, 0, broker_epoch=21))
    with pytest.raises(ApiError) as refused:
        leader.fetched(fetched(2, 0, broker_epoch=20))
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    leader.fetched(fetched(2, 0, broker_epoch=-1))


def test_who_lags_for_too_long_leaves() -> None:
    stage = Stage()
    leader = stage.lead()
    leader.fetched(fetched(2, 0))
    leader.fetched(fetched(3, 0))
    stage.now_ms += 500
    produce(leader, b"a")
    leader.fetched(fetched(2, 1))
    stage.now_ms += LAG_MS_MAX
    leader.tick()
    assert stage.asked() is None, "it had everything until the append"
    stage.now_ms += 1
    leader.tick()
    proposal = stage.asked()
    assert proposal is not None
    assert proposal.ids == {1, 2}
    assert leader.high_watermark == 0, "until the controller agrees it counts"
    leader.answered(proposal, ErrorCode.NONE, assignment(isr=(1, 2), partition_epoch=8))
    assert leader.high_watermark == 1


def test_a_busy_follower_that_keeps_up_stays() -> None:
    """It never has everything when it fetches, but always what there was at its fetch before."""
    stage = Stage()
    leader = stage.lead(assignment(isr=(1, 2), replicas=(1, 2)))
    leader.fetched(fetched(2, 0))
    for at in range(1, 20):
        stage.now_ms += 100
        produce(leader, b"a")
        leader.fetched(fetched(2, at - 1, 5 if at > 1 else -1))
        leader.tick()
        assert stage.asked() is None


def test_the_leaders_own_absence_is_nobodys_lag() -> None:
    stage = Stage()
    leader = stage.lead()
    produce(leader, b"a")
    stage.now_ms += 5 * LAG_MS_MAX
    leader.tick(late_ms=5 * LAG_MS_MAX)
    assert stage.asked() is None
    stage.now_ms += 2 * LAG_MS_MAX
    leader.tick()
    assert stage.asked() is not None


@pytest.mark.parametrize("code", [ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA])
def test_what_was_surely_not_done_is_forgotten(code: ErrorCode) -> None:
    stage = Stage()
    leader = stage.lead(assignment(isr=(1, 2)))
    leader.fetched(fetched(3, 0))
    proposal = stage.asked()
    assert proposal is not None
    leader.answered(proposal, code, None)
    assert leader.in_sync.maximal == {1, 2}
    assert stage.asked() is None
    leader.fetched(fetched(3, 0))
    assert stage.asked() is not None


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INVALID_REQUEST,
    ],
)
def test_what_the_controller_knows_better_waits_for_the_image(code: ErrorCode) -> None:
    stage = Stage()
    leader = stage.lead(assignment(isr=(1, 2)))
    leader.fetched(fetched(3, 0))
    proposal = stage.asked()
    assert proposal is not None
    leader.answered(proposal, code, None)
    assert leader.in_sync.maximal == {1, 2, 3}, "both may be in force"
    leader.fetched(fetched(3, 0))
    assert stage.asked() is None
    leader.update(assignment(isr=(1, 2, 3), partition_epoch=9))
    assert leader.in_sync.isr == {1, 2, 3}
    assert leader.in_sync.proposal is None


def test_what_nobody_answered_is_asked_again() -> None:
    stage = Stage()
    leader = stage.lead(assignment(isr=(1, 2)))
    leader.fetched(fetched(3, 0))
    proposal = stage.asked()
    assert proposal is not None
    leader.answered(proposal, ErrorCode.NETWORK_EXCEPTION, None)
    assert stage.asked() is proposal
    leader.update(assignment(isr=(1, 2, 3), partition_epoch=8))
    leader.answered(proposal, ErrorCode.NETWORK_EXCEPTION, None)
    assert stage.asked() is None, "the image was faster"


def test_an_image_older_than_the_answer_changes_nothing() -> None:
    stage = Stage()
    leader = stage.lead(assignment(isr=(1, 2)))
    leader.fetched(fetched(3, 0))
    proposal = stage.asked()
    assert proposal is not None
    leader.answered(proposal, ErrorCode.NONE, assignment(partition_epoch=9))
    leader.update(assignment(isr=(1, 2), partition_epoch=8))
    assert leader.in_sync.isr == {1, 2, 3}


def test_replicas_come_and_go_by_reassignment() -> None:
    leader = Stage().lead()
    with pytest.raises(ApiError, match="UNKNOWN_LEADER_EPOCH"):
        leader.fetched(fetched(4, 0))
    leader.update(assignment(replicas=(1, 2, 4), isr=(1, 2), partition_epoch=8))
    leader.fetched(fetched(4, 0))
    with pytest.raises(ApiError, match="UNKNOWN_LEADER_EPOCH"):
        leader.fetched(fetched(3, 0))


# Where logs part


def test_a_follower_hears_where_its_log_parts_from_the_leaders() -> None:
    stage = Stage(filled=3)
    leader = stage.lead()
    assert leader.fetched(fetched(2, 5, 4)) == EpochEnd(4, 3), "longer in the same epoch"
    assert leader.fetched(fetched(2, 2, 3)) == EpochEnd(3, 0), "an epoch that the leader never had"
    assert leader.remotes[2].end_offset == -1, "what has to be cut does not count"
    assert leader.fetched(fetched(2, 3, 4)) is None
    assert leader.remotes[2].end_offset == 3


def test_a_follower_with_a_later_epoch_than_all_but_the_leaders_own_is_told_where_that_begins() -> None:
    leader = Stage(filled=3).lead(assignment(epoch=9))
    assert leader.fetched(fetched(2, 4, 7)) == EpochEnd(4, 3)


def test_a_follower_below_the_log_or_beyond_it_is_out_of_range() -> None:
    stage = Stage(filled=3, known=3)
    leader = stage.lead()
    stage.log.context.tasks.run(stage.log.delete_records(2))
    for offset, epoch in ((0, -1), (1, 4), (4, -1)):
        with pytest.raises(ApiError, match="OFFSET_OUT_OF_RANGE"):
            leader.fetched(fetched(2, offset, epoch))


def test_who_is_not_heard_of_leaves_if_somebody_waits_for_it() -> None:
    stage = Stage()
    leader = stage.lead()
    leader.fetched(fetched(2, 0))
    leader.fetched(fetched(3, 0))
    stage.around.silent = frozenset({3})
    assert leader.part_from(stage.around.silent) == {3}
    assert stage.asked() is None, "it has everything"
    produce(leader, b"a")
    leader.fetched(fetched(2, 1))
    assert leader.part_from(stage.around.silent) == {3}
    proposal = stage.asked()
    assert proposal is not None
    assert proposal.ids == {1, 2}
    assert leader.part_from(stage.around.silent) == {3}, "one change at a time"
    leader.answered(proposal, ErrorCode.NONE, assignment(isr=(1, 2), partition_epoch=8))
    assert leader.high_watermark == 1, "it is not waited for to come back, either"
    assert leader.part_from(stage.around.silent) == frozenset()


def test_who_has_left_is_waited_for_no_longer_however_lately_it_was_caught_up() -> None:
    """It fetches other partitions, but not this one: its log may have failed."""
    stage = Stage()
    leader = stage.lead()
    leader.fetched(fetched(2, 0))
    leader.fetched(fetched(3, 0))
    produce(leader, b"a")
    leader.fetched(fetched(2, 1))
    leader.update(assignment(isr=(1, 2), partition_epoch=8))
    assert leader.high_watermark == 1
    produce(leader, b"b")
    leader.fetched(fetched(3, 2))
    assert leader.high_watermark == 1
    produce(leader, b"c")
    leader.fetched(fetched(2, 3))
    assert leader.high_watermark == 2, "it had everything again, and may join"


def test_who_seemed_to_join_and_is_not_heard_of_is_waited_for_no_longer() -> None:
    """The others have said all they have to say, so nobody else will look."""
    stage = Stage()
    leader = stage.lead(assignment(isr=(1, 2)))
    leader.fetched(fetched(2, 0))
    leader.fetched(fetched(3, 0))
    produce(leader, b"a")
    leader.fetched(fetched(2, 1))
    proposal = stage.asked()
    assert proposal is not None
    leader.answered(proposal, ErrorCode.INELIGIBLE_REPLICA, None)
    assert leader.high_watermark == 0, "it had everything a moment ago"
    stage.around.silent = frozenset({3})
    assert leader.part_from(stage.around.silent) == frozenset()
    assert leader.high_watermark == 1
