"""The small parts: throttle, choice of a replica to read from, roles, and what a log does for a follower."""

from __future__ import annotations

import pytest

from penstock.core.partition.follower import Follower
from penstock.core.partition.leader import Leader
from penstock.core.partition.partition import Partition
from penstock.core.partition.read_replica import LEADER, Candidate, preferred_read_replica
from penstock.core.partition.replicated import ReplicatedLeader
from penstock.core.partition.roles import Replica, role_of
from penstock.core.partition.throttle import Throttle
from tests.log.helpers import SMALL, TOPIC_ID, fill, new_log, records_of, reopen
from tests.log.memory_files import MemoryFiles, drive
from tests.partition.stage import NOW_MS, Stage, assignment, produce, settings_of

# The throttle


def test_a_throttle_lets_a_rate_pass_and_saves_up_no_more_than_a_second() -> None:
    throttle, passed, now_ms = Throttle(1_000, 0), 0, 0
    while now_ms < 10_000:
        now_ms = throttle.opens_ms(now_ms)
        throttle.passed(300, now_ms)
        passed += 300
    assert 10_000 <= passed <= 11_600
    assert throttle.is_open(1_000_000)
    throttle.passed(1_001, 1_000_000)
    assert not throttle.is_open(1_000_000)


def test_a_throttle_lets_more_than_a_seconds_worth_pass_at_once_and_then_waits() -> None:
    throttle = Throttle(100, 0)
    throttle.passed(1_100, 0)
    assert throttle.opens_ms(0) == 10_001


def test_a_throttle_takes_another_rate_while_it_runs() -> None:
    throttle = Throttle()
    assert throttle.is_open(0)
    throttle.set_rate(10, 0)
    throttle.passed(20, 0)
    assert not throttle.is_open(999)
    assert throttle.is_open(1_001)


# Reading nearby

NEAR, FAR = "near", "far"


@pytest.mark.parametrize(
    ("rack", "candidates", "chosen"),
    [
        ("", [Candidate(2, NEAR, 0, 9, 0)], LEADER),
        (NEAR, [Candidate(2, FAR, 0, 9, 0)], LEADER),
        (NEAR, [Candidate(2, NEAR, 0, 9, 0), Candidate(1, FAR, 0, 9, 0, is_leader=True)], 2),
        (NEAR, [Candidate(2, NEAR, 0, 9, 0), Candidate(1, NEAR, 0, 9, 0, is_leader=True)], LEADER),
        (NEAR, [Candidate(2, NEAR, 0, 4, 0), Candidate(3, NEAR, 6, 9, 0)], LEADER),
        (NEAR, [Candidate(2, NEAR, 0, 8, 9), Candidate(3, NEAR, 0, 9, 5)], 3),
        (NEAR, [Candidate(2, NEAR, 0, 9, 9), Candidate(3, NEAR, 0, 9, 5)], 2),
    ],
)
def test_a_reader_is_sent_to_a_follower_in_its_rack_that_has_what_it_asks_for(
    rack: str, candidates: list[Candidate], chosen: int
) -> None:
    assert preferred_read_replica(rack, 5, candidates) == chosen


def test_only_who_is_in_sync_and_alive_is_read_from() -> None:
    stage = Stage()
    stage.brokers.racks = {1: FAR, 2: NEAR, 3: NEAR}
    leader = stage.lead(assignment(isr=(1, 2)))
    for remote in leader.remotes.values():
        remote.end_offset, remote.start_offset = 0, 0
    assert leader.read_replica(NEAR, 0) == 2
    del stage.brokers.epochs[2]
    assert leader.read_replica(NEAR, 0) == LEADER


# Roles


def play(stage: Stage, current: Partition | None, **changes: object) -> Partition:
    replica = Replica("orders", 0, TOPIC_ID, stage.log)
    given = assignment(**changes)  # type: ignore[arg-type]  # the fields of an assignment
    return role_of(replica, settings_of(), given, current, stage.around, 1)


def test_an_image_gives_a_role() -> None:
    stage = Stage(filled=3)
    assert type(play(stage, None)) is ReplicatedLeader
    assert type(play(stage, None, replicas=(1,), isr=(1,))) is Leader
    assert type(play(stage, None, leader=2)) is Follower
    assert type(play(stage, None, leader=-1)) is Follower


def test_a_role_stays_while_its_epoch_lasts_or_it_leads_on_and_hears_what_is_new() -> None:
    stage = Stage()
    leader = play(stage, None)
    assert play(stage, leader, isr=(1, 2), partition_epoch=8) is leader
    assert isinstance(leader, ReplicatedLeader)
    assert leader.in_sync.isr == {1, 2}
    assert play(stage, leader, epoch=6, partition_epoch=9) is leader
    assert leader.leader_epoch == 6
    follower = play(stage, leader, epoch=7, leader=2)
    assert play(stage, follower, epoch=7, leader=2, isr=(2,)) is follower
    assert play(stage, follower, epoch=8, leader=2) is not follower


def test_a_lone_leader_that_gets_followers_becomes_another() -> None:
    stage = Stage()
    lone = play(stage, None, replicas=(1,), isr=(1,))
    joined = play(stage, lone, replicas=(1, 2), isr=(1,), partition_epoch=8)
    assert type(joined) is ReplicatedLeader
    assert play(stage, joined, replicas=(1,), isr=(1,), partition_epoch=9) is joined, "who waits there is left in peace"


def test_the_high_watermark_goes_from_role_to_role() -> None:
    stage = Stage(filled=3)
    follower = play(stage, None, leader=2)
    assert follower.high_watermark == 1, "the stored one"
    follower.high_watermark = 2
    assert play(stage, follower, epoch=6).high_watermark == 2


def test_what_is_counted_and_what_is_ready_stays_with_the_replica() -> None:
    stage = Stage()
    lone = play(stage, None, replicas=(1,), isr=(1,))
    produce(lone, b"a")
    counted = lone.bytes_in
    assert counted > 0
    lone.templates[9] = (b"before", b"behind", 99)
    joined = play(stage, lone, partition_epoch=8)
    produce(joined, b"a")
    assert joined.bytes_in == 2 * counted
    led_again = play(stage, play(stage, joined, epoch=6, leader=2), epoch=7)
    assert led_again is not joined
    assert led_again.bytes_in == 2 * counted, "a counter never goes back"
    assert led_again.templates[9] == (b"before", b"behind", 99)


def test_a_follower_doubts_what_it_cannot_know() -> None:
    stage = Stage()
    follower = play(stage, None, leader=2)
    assert isinstance(follower, Follower)
    assert follower.may_lose, "nobody knows what happened before this process began"
    follower.may_lose = False
    doubts = {
        "the next epoch": play(stage, follower, epoch=6, leader=3),
        "one was missed": play(stage, follower, epoch=7, leader=3),
        "an unclean election": play(stage, follower, epoch=6, leader=3, recovering=True),
    }
    assert {why: isinstance(each, Follower) and each.may_lose for why, each in doubts.items()} == {
        "the next epoch": False,
        "one was missed": True,
        "an unclean election": True,
    }


# The log


def test_a_log_that_begins_anew_is_found_like_that_after_power_loss() -> None:
    files = MemoryFiles()
    log = new_log(files)
    fill(log, 30)
    drive(files, log.restart_at(500, NOW_MS))
    assert (log.start_offset, log.end_offset, log.epochs.entries()) == (500, 500, [])
    fill(log, 3, epoch=7)
    drive(files, log.flush())
    found = reopen(files, SMALL)
    assert (found.start_offset, found.end_offset) == (500, 503)
    assert [record.offset for record in records_of(files, found)] == [500, 501, 502]
    assert found.epochs.entries() == [(7, 500)]
