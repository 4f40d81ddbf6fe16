"""A follower: it takes what continues its log, cuts what its leader does not have, and says nothing while its disk is
busy."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.partition.follower import Position
from tests.log.helpers import records_of
from tests.partition.stage import NOW_MS, Stage, answer, assignment, batch_at, parts_at, produce, refused


def values(stage: Stage) -> list[bytes | None]:
    return [record.value for record in records_of(stage.files, stage.log)]


def test_it_copies_batches_with_their_offsets_and_epochs() -> None:
    stage = Stage()
    follower = stage.follow()
    data = batch_at(0, 3, b"a", b"b") + batch_at(2, 4, b"c")
    assert follower.take(answer(data, high_watermark=2), NOW_MS) is ErrorCode.NONE
    assert values(stage) == [b"a", b"b", b"c"]
    assert stage.log.epochs.entries() == [(3, 0), (4, 2)]
    assert follower.position == Position(3, 4, 0, 5)
    assert follower.high_watermark == 2


def test_what_was_cut_off_at_the_end_of_an_answer_is_left() -> None:
    stage = Stage()
    follower = stage.follow()
    follower.take(answer(batch_at(0, 3, b"a") + batch_at(1, 3, b"b")[:-1]), NOW_MS)
    assert values(stage) == [b"a"]


def test_the_high_watermark_follows_as_far_as_the_log_reaches_and_does_not_fall() -> None:
    follower = Stage().follow()
    follower.take(answer(batch_at(0, 3, b"a"), high_watermark=9), NOW_MS)
    assert follower.high_watermark == 1
    follower.take(answer(high_watermark=0), NOW_MS)
    assert follower.high_watermark == 1
    follower.take(answer(batch_at(1, 3, b"b")), NOW_MS)
    assert follower.high_watermark == 2, "the leader has said that already"


def test_a_damaged_batch_ends_an_answer() -> None:
    stage = Stage()
    follower = stage.follow()
    damaged = bytearray(batch_at(1, 3, b"b"))
    damaged[-1] ^= 1
    assert follower.take(answer(batch_at(0, 3, b"a") + bytes(damaged)), NOW_MS) is ErrorCode.CORRUPT_MESSAGE
    assert values(stage) == [b"a"]
    assert follower.position is not None


def test_a_batch_of_an_epoch_that_is_not_followed_yet_or_is_over_is_refused() -> None:
    follower = Stage().follow()
    assert follower.take(answer(batch_at(0, 6, b"a")), NOW_MS) is ErrorCode.UNKNOWN_LEADER_EPOCH
    follower.take(answer(batch_at(0, 4, b"a")), NOW_MS)
    assert follower.take(answer(batch_at(1, 3, b"b")), NOW_MS) is ErrorCode.CORRUPT_MESSAGE


def test_offsets_that_compaction_left_out_stay_out() -> None:
    follower = Stage().follow()
    follower.take(answer(batch_at(0, 3, b"a") + batch_at(7, 3, b"b"), high_watermark=8), NOW_MS)
    assert follower.log.end_offset == 8
    assert follower.high_watermark == 8


def test_it_says_nothing_before_its_disk_has_written() -> None:
    stage = Stage(slow=True)
    follower = stage.follow()
    changes: list[bool] = []
    follower.on_change = lambda: changes.append(follower.position is not None)
    follower.take(answer(batch_at(0, 3, b"a"), high_watermark=1), NOW_MS)
    assert follower.position is None
    assert follower.high_watermark == 0
    stage.files.finish_all()
    assert changes == [True]
    assert follower.high_watermark == 1


def test_it_cuts_to_where_the_leader_says_that_the_epoch_ends() -> None:
    stage = Stage(filled=5, known=2)
    follower = stage.follow()
    follower.take(parts_at(4, 3), NOW_MS)
    stage.files.finish_all()
    assert follower.position == Position(3, 4, 0, 5)
    assert follower.truncations == 1


def test_a_leader_that_has_nothing_of_its_epochs_leaves_it_nothing() -> None:
    follower = Stage(filled=5).follow()
    follower.take(parts_at(3, 0), NOW_MS)
    assert follower.position == Position(0, -1, 0, 5)


def test_an_epoch_that_it_does_not_know_itself_needs_another_look() -> None:
    stage = Stage()
    for epoch in (1, 3, 3):
        stage.write(stage.log, b"x", epoch)
    follower = stage.follow()
    follower.take(parts_at(2, 9), NOW_MS)
    stage.files.finish_all()
    assert follower.position == Position(1, 1, 0, 5), "what it has of 1 may still be too much"


def test_what_is_committed_is_cut_only_for_a_leader_that_may_lack_it() -> None:
    follower, said = Stage(filled=5, known=4).follow(), list[str]()
    follower.on_stop = said.append
    follower.take(parts_at(4, 3), NOW_MS)
    assert said == [follower.stopped]
    assert (follower.position, follower.log.end_offset) == (None, 5)
    stage = Stage(filled=5, known=4)
    unclean = stage.follow(may_lose=True)
    unclean.take(parts_at(4, 3), NOW_MS)
    stage.files.finish_all()
    assert (unclean.log.end_offset, unclean.high_watermark) == (3, 3)


def test_who_watched_a_replica_whose_role_is_over_hears_of_it_once_and_is_let_go() -> None:
    class Watching:
        heard = 0

        def news(self, size: int) -> None:
            self.heard += 1

    watcher, follower = Watching(), Stage(filled=1).follow()
    follower.watchers[watcher] = None
    follower.remove()
    follower.remove()
    assert watcher.heard == 1
    assert not follower.watchers


def test_once_it_has_followed_its_leader_is_trusted() -> None:
    follower = Stage(filled=5, known=4).follow(may_lose=True)
    follower.take(answer(batch_at(5, 5, b"a")), NOW_MS)
    assert not follower.may_lose


def test_an_empty_replica_begins_where_the_leader_does() -> None:
    stage = Stage()
    follower = stage.follow()
    follower.take(refused(ErrorCode.OFFSET_OUT_OF_RANGE, start=500), NOW_MS)
    assert follower.position == Position(500, -1, 500, 5)
    follower.take(answer(batch_at(500, 3, b"a"), high_watermark=501, start=500), NOW_MS)
    assert follower.high_watermark == 501
    assert values(stage) == [b"a"]


def test_one_that_was_away_for_long_gives_up_what_the_leader_has_deleted() -> None:
    stage = Stage(filled=30, known=30, internal_segment_bytes="400")
    follower = stage.follow()
    follower.take(refused(ErrorCode.OFFSET_OUT_OF_RANGE, start=500), NOW_MS)
    assert (follower.log.start_offset, follower.log.end_offset, follower.high_watermark) == (500, 500, 500)
    assert [path for path in stage.files.paths() if path.endswith(".log")] == [f"{stage.log.dir}/{500:020}.log"]


def test_the_leaders_start_is_taken_over_as_far_as_it_is_committed() -> None:
    stage = Stage(filled=5, known=2)
    follower = stage.follow()
    follower.take(answer(high_watermark=3, start=4), NOW_MS)
    assert follower.log.start_offset == 3


def test_errors_are_given_back() -> None:
    follower = Stage().follow()
    assert follower.take(refused(ErrorCode.FENCED_LEADER_EPOCH), NOW_MS) is ErrorCode.FENCED_LEADER_EPOCH
    assert follower.take(refused(ErrorCode.OFFSET_OUT_OF_RANGE), NOW_MS) is ErrorCode.OFFSET_OUT_OF_RANGE


def test_an_epoch_led_without_a_record_is_forgotten() -> None:
    stage = Stage(filled=2)
    stage.lead(assignment(epoch=5))
    assert stage.log.epochs.latest == 5
    follower = stage.follow(assignment(epoch=6, leader=2))
    assert stage.log.epochs.latest == 4
    assert follower.take(answer(batch_at(2, 4, b"a")), NOW_MS) is ErrorCode.NONE


def test_clients_are_sent_to_the_leader() -> None:
    follower = Stage().follow()
    with pytest.raises(ApiError) as refusal:
        produce(follower, b"a")
    assert refusal.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert follower.append_run([memoryview(b"")], 9, NOW_MS, 1) == []


def test_only_what_is_synced_counts_where_the_topic_asks_for_that() -> None:
    stage = Stage(flush_messages="1")
    follower = stage.follow()
    follower.take(answer(batch_at(0, 3, b"a"), high_watermark=1), NOW_MS)
    assert follower.log.synced_offset == 1
    assert follower.position is not None
