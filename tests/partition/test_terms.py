"""A leader that leads on in another epoch: its log is the same, so who waits there goes on waiting."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.partition.leader import Leader
from penstock.core.partition.partition import Partition
from penstock.core.partition.replicated import ReplicatedLeader
from penstock.core.partition.roles import Replica, role_of
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.log.helpers import TOPIC_ID
from tests.partition.stage import LAG_MS_MAX, Stage, Told, assignment, fetched, produce, settings_of
from tests.partition.test_on_nodes import move, town


def play(stage: Stage, current: Partition | None, **changes: object) -> Partition:
    replica = Replica("orders", 0, TOPIC_ID, stage.log)
    given = assignment(**changes)  # type: ignore[arg-type]  # the fields of an assignment
    return role_of(replica, settings_of(), given, current, stage.around, 0)


def again(leader: ReplicatedLeader, **changes: object) -> ReplicatedLeader:
    """The same leader in the next epoch."""
    leader.update(assignment(**{"epoch": 6, "partition_epoch": 8, **changes}))  # type: ignore[arg-type]  # as above
    return leader


def test_who_waits_hears_of_the_commit_in_the_next_term() -> None:
    stage = Stage()
    leader, told = stage.lead(), Told()
    leader.wait(produce(leader, b"a").next_offset, told)
    assert play(stage, leader, epoch=6, partition_epoch=8) is leader
    assert (leader.leader_epoch, told.codes) == (6, [])
    for follower in (2, 3):
        leader.fetched(fetched(follower, 1, last_epoch=5))
    assert told.codes == [ErrorCode.NONE]


def test_what_a_follower_said_in_the_term_before_counts_no_more() -> None:
    """It may have followed somebody else meanwhile, of whom no image has told us."""
    leader, told = Stage().lead(), Told()
    leader.wait(produce(leader, b"a").next_offset, told)
    leader.fetched(fetched(2, 1))
    again(leader).fetched(fetched(3, 1))
    assert (leader.high_watermark, told.codes) == (0, [])
    leader.fetched(fetched(2, 1))
    assert (leader.high_watermark, told.codes) == (1, [ErrorCode.NONE])


def test_a_term_that_begins_with_the_leader_alone_commits_what_it_has() -> None:
    leader, told = Stage(min_insync_replicas="1").lead(), Told()
    leader.wait(produce(leader, b"a").next_offset, told)
    again(leader, isr=(1,))
    assert told.codes == [ErrorCode.NONE]


def test_a_term_that_begins_with_too_few_tells_those_who_wait() -> None:
    leader, told = Stage().lead(), Told()
    leader.wait(produce(leader, b"a").next_offset, told)
    again(leader, isr=(1,))
    assert told.codes == [ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND]
    assert leader.high_watermark == 0


def test_fewer_replicas_are_counted_anew() -> None:
    leader, told = Stage(min_insync_replicas="3").lead(), Told()
    leader.wait(produce(leader, b"a").next_offset, told)
    again(leader, replicas=(1, 2), isr=(1, 2)).fetched(fetched(2, 1))
    assert (leader.in_sync_min, sorted(leader.remotes), told.codes) == (2, [2], [ErrorCode.NONE])


def test_who_waits_for_the_leader_alone_waits_on() -> None:
    stage = Stage(slow=True)
    leader, told = stage.lead(), Told()
    assert leader.wait(produce(leader, b"a", acks=1).next_offset, told, 1)
    again(leader)
    stage.files.finish_all()
    assert told.codes == [ErrorCode.NONE]


def test_the_term_has_its_own_start_and_records() -> None:
    leader = Stage(filled=2, known=2).lead()
    produce(leader, b"a")
    again(leader)
    assert leader.log.epoch_end(5) == (5, 3)
    with pytest.raises(ApiError) as refused:
        leader.check_settled()
    assert refused.value.code is ErrorCode.OFFSET_NOT_AVAILABLE
    produce(leader, b"b")
    assert leader.log.epoch_at(3) == 6


def test_what_was_asked_in_the_term_before_is_not_asked_and_not_heard() -> None:
    stage = Stage()
    leader = stage.lead()
    produce(leader, b"a")
    stage.now_ms += LAG_MS_MAX + 1
    leader.tick()
    (proposal,) = stage.around.proposals.values()
    again(leader)
    assert stage.asked() is None
    leader.answered(proposal, ErrorCode.NONE, assignment(isr=(1,), partition_epoch=9))
    assert leader.in_sync.isr == {1, 2, 3}
    leader.tick()
    assert stage.asked() is None, "who is in sync gets the usual time in every term"


def test_a_lone_leader_leads_on_in_another_epoch() -> None:
    stage = Stage()
    lone = play(stage, None, replicas=(1,), isr=(1,))
    assert play(stage, lone, epoch=6, replicas=(1,), isr=(1,), partition_epoch=8) is lone
    produce(lone, b"a")
    assert lone.log.epoch_at(0) == 6


def test_who_waits_in_a_lone_leader_that_gets_followers_waits_on() -> None:
    stage = Stage(min_insync_replicas="1", slow=True)
    lone, told = play(stage, None, replicas=(1,), isr=(1,)), Told()
    assert lone.wait(produce(lone, b"a").next_offset, told)
    joined = play(stage, lone, isr=(1,), partition_epoch=8)
    lone.remove(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert (type(lone), type(joined), told.codes) == (Leader, ReplicatedLeader, [])
    joined.configure(settings_of(min_insync_replicas="1"))
    stage.files.finish_all()
    assert told.codes == [ErrorCode.NONE]


def reading(topic_id: bytes, leader_epoch: int) -> FetchRequest:
    wanted = FetchPartition(
        partition=0, fetch_offset=0, partition_max_bytes=1000, current_leader_epoch=leader_epoch, last_fetched_epoch=-1
    )
    topic = FetchTopic(topic_id=topic_id, partitions=[wanted])
    return FetchRequest(max_wait_ms=30_000, min_bytes=1, max_bytes=1000, topics=[topic])


def test_on_nodes_a_reassignment_lets_producers_and_readers_wait_on() -> None:
    """A follower that is cut off holds them up, until it is taken out."""
    cluster = town()
    first, second = cluster.others
    cluster.create(first, second, cluster.controller)
    cluster.wait(lambda: len(cluster.partition().isr) == 3)
    epoch = cluster.partition().leader_epoch
    cluster.separate(first, second)
    produced = cluster.send(first, cluster.record())
    reader = cluster.send(first, reading(cluster.topic_id, -1))
    fenced = cluster.send(first, reading(cluster.topic_id, epoch))
    cluster.pass_time(0.1)
    assert not any(answer.resolved for answer in (produced, reader, fenced))
    move(cluster, first, cluster.controller)
    assert (cluster.partition().leader, cluster.partition().leader_epoch) == (first, epoch + 1)
    assert cluster.result(produced).responses[0].partition_responses[0].error_code == 0
    assert len(cluster.result(reader).responses[0].partitions[0].records) > 0
    assert cluster.result(fenced).responses[0].partitions[0].error_code == ErrorCode.FENCED_LEADER_EPOCH
