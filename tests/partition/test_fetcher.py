"""A fetcher: everything that is followed at one leader in one request at a time, named only when it has changed."""

from __future__ import annotations

import errno

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Append, FileFailure
from penstock.core.partition.fetcher import ANSWER_BATCHES_MAX, FIRST_ANSWER_BYTES, Fetcher, Fetchers, FetchSettings
from penstock.core.partition.follower import Follower
from penstock.core.partition.throttle import Throttle
from penstock.core.wire.api.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from tests.log.helpers import TOPIC_ID
from tests.partition.stage import NOW_MS, Stage, answer, assignment, batch_at, refused

SETTINGS = FetchSettings(wait_ms_max=500, busy_wait_ms_max=5, retry_ms=50, backoff_ms=1_000)
SESSION = 77


def fetcher_of(*followers: Follower, throttle: Throttle | None = None) -> Fetcher:
    fetcher = Fetcher(3, lambda: 30, SETTINGS, throttle or Throttle(), lambda follower: throttle is not None)
    for follower in followers:
        fetcher.add(follower)
    return fetcher


def follower_of(index: int = 0, leader: int = 2) -> Follower:
    follower = Stage().follow(assignment(leader=leader))
    follower.index = index
    return follower


def said(request: FetchRequest | None) -> dict[int, int]:
    """Offsets asked for, by partition."""
    assert request is not None
    return {each.partition: each.fetch_offset for topic in request.topics for each in topic.partitions}


def forgotten(request: FetchRequest) -> list[int]:
    return [index for topic in request.forgotten_topics_data for index in topic.partitions]


def response(*found: PartitionData, session: int = SESSION, code: int = 0) -> FetchResponse:
    topics = [FetchableTopicResponse(topic_id=TOPIC_ID, partitions=list(found))] if found else []
    return FetchResponse(error_code=code, session_id=session, responses=topics)


def of(index: int, data: PartitionData) -> PartitionData:
    data.partition_index = index
    return data


def test_the_first_request_says_everything_and_the_next_only_what_has_changed() -> None:
    fetcher = fetcher_of(follower_of(0), follower_of(1))
    first = fetcher.next(NOW_MS)
    assert said(first) == {0: 0, 1: 0}
    assert first is not None
    assert (first.session_id, first.session_epoch) == (0, 0)
    assert (first.replica_state.replica_id, first.replica_state.replica_epoch) == (3, 30)  # type: ignore[union-attr]
    assert fetcher.next(NOW_MS) is None, "one at a time"
    fetcher.answered(response(of(1, answer(batch_at(0, 3, b"a", b"b")))), NOW_MS)
    second = fetcher.next(NOW_MS)
    assert said(second) == {1: 2}
    assert second is not None
    assert (second.session_id, second.session_epoch) == (SESSION, 1)
    fetcher.answered(response(), NOW_MS)
    third = fetcher.next(NOW_MS)
    assert said(third) == {}
    assert third is not None
    assert third.session_epoch == 2, "a request that says nothing waits for news of everything"


def test_a_request_tells_epochs_and_where_the_log_begins() -> None:
    stage = Stage(filled=2)
    fetcher = fetcher_of(stage.follow())
    request = fetcher.next(NOW_MS)
    assert request is not None
    asked = request.topics[0].partitions[0]
    assert (asked.fetch_offset, asked.last_fetched_epoch, asked.current_leader_epoch) == (2, 4, 5)
    assert asked.log_start_offset == 0


def test_who_is_gone_is_forgotten_and_its_answer_not_listened_to() -> None:
    staying, leaving = follower_of(0), follower_of(1)
    fetcher = fetcher_of(staying, leaving)
    fetcher.next(NOW_MS)
    fetcher.remove((TOPIC_ID, 1))
    fetcher.answered(response(of(1, answer(batch_at(0, 3, b"a")))), NOW_MS)
    assert leaving.log.end_offset == 0
    request = fetcher.next(NOW_MS)
    assert request is not None
    assert forgotten(request) == [1]


def test_retention_while_a_request_is_under_way_does_not_make_its_answer_void() -> None:
    """It takes away what is at the beginning, even all there is; the answer goes on at the end."""
    for start in (1, 2):
        stage = Stage(filled=2, known=2)
        follower = stage.follow()
        fetcher = fetcher_of(follower)
        assert said(fetcher.next(NOW_MS)) == {0: 2}
        follower.log.context.tasks.run(follower.log.delete_records(start))
        fetcher.answered(response(answer(batch_at(2, 5, b"c"))), NOW_MS)
        assert follower.log.end_offset == 3
        request = fetcher.next(NOW_MS)
        assert said(request) == {0: 3}
        assert request is not None
        assert request.topics[0].partitions[0].log_start_offset == start


def test_a_leader_that_answered_in_vain_is_asked_again() -> None:
    """The follower was somewhere else when the answer came, and is back where it was when it asks next."""
    follower = follower_of()
    fetcher = fetcher_of(follower)
    assert said(fetcher.next(NOW_MS)) == {0: 0}
    follower.is_cutting = True
    fetcher.answered(response(answer(batch_at(0, 3, b"a"))), NOW_MS)
    assert follower.log.end_offset == 0
    follower.is_cutting = False
    assert said(fetcher.next(NOW_MS)) == {0: 0}


def test_a_lost_session_begins_anew() -> None:
    fetcher = fetcher_of(follower_of())
    fetcher.next(NOW_MS)
    fetcher.answered(response(), NOW_MS)
    fetcher.next(NOW_MS)
    fetcher.answered(response(code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, session=0), NOW_MS)
    request = fetcher.next(NOW_MS)
    assert request is not None
    assert said(request) == {0: 0}
    assert (request.session_id, request.session_epoch) == (SESSION, 0), "the old one is named, to be dropped"


def test_a_leader_without_room_for_sessions_is_asked_for_everything_each_time() -> None:
    fetcher = fetcher_of(follower_of())
    for _ in range(2):
        request = fetcher.next(NOW_MS)
        assert request is not None
        assert (request.session_id, request.session_epoch) == (0, 0)
        assert list(said(request)) == [0]
        fetcher.answered(response(session=0), NOW_MS)


def test_lost_connections_are_tried_again_after_longer_and_longer_waits() -> None:
    fetcher, now_ms, waits = fetcher_of(follower_of()), NOW_MS, []
    for _ in range(7):
        assert fetcher.next(now_ms) is not None
        fetcher.answered(None, now_ms)
        due_ms = fetcher.due_ms
        assert due_ms is not None
        assert fetcher.next(due_ms - 1) is None
        waits.append(due_ms - now_ms)
        now_ms = due_ms
    assert waits == [50, 100, 200, 400, 800, 1_000, 1_000]
    fetcher.next(now_ms)
    fetcher.answered(response(), now_ms)
    fetcher.next(now_ms)
    fetcher.answered(None, now_ms)
    assert fetcher.due_ms == now_ms + 50


def test_a_leader_owes_an_answer_until_it_gives_one_whatever_becomes_of_connections() -> None:
    fetcher = fetcher_of(follower_of())
    assert fetcher.waits_ms(NOW_MS) == 0
    fetcher.next(NOW_MS)
    fetcher.answered(None, NOW_MS + 3_000)
    assert fetcher.waits_ms(NOW_MS + 3_010) == 3_010
    assert fetcher.next(NOW_MS + 4_000) is not None
    assert fetcher.waits_ms(NOW_MS + 5_000) == 5_000
    fetcher.answered(response(), NOW_MS + 5_000)
    assert fetcher.waits_ms(NOW_MS + 6_000) == 0


def test_an_error_lets_its_partition_rest_and_no_other() -> None:
    fetcher = fetcher_of(follower_of(0), follower_of(1), follower_of(2))
    fetcher.next(NOW_MS)
    fetcher.answered(
        response(of(0, refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)), of(1, refused(ErrorCode.KAFKA_STORAGE_ERROR))),
        NOW_MS,
    )
    request = fetcher.next(NOW_MS)
    assert request is not None
    assert forgotten(request) == [0, 1]
    fetcher.answered(response(), NOW_MS)
    assert fetcher.due_ms == NOW_MS + 50
    assert said(fetcher.next(NOW_MS + 50)) == {0: 0}
    fetcher.answered(response(), NOW_MS + 50)
    assert said(fetcher.next(NOW_MS + 1_000)) == {1: 0}


def test_who_rested_when_nothing_was_asked_for_is_forgotten_with_the_next_request() -> None:
    fetcher = fetcher_of(follower_of(0))
    fetcher.next(NOW_MS)
    fetcher.answered(response(of(0, refused(ErrorCode.NOT_LEADER_OR_FOLLOWER))), NOW_MS)
    assert fetcher.next(NOW_MS) is None
    fetcher.add(follower_of(1))
    request = fetcher.next(NOW_MS)
    assert said(request) == {1: 0}
    assert request is not None
    assert forgotten(request) == [0], "or the leader would go on sending it"


def test_while_a_disk_is_busy_its_partition_is_not_asked_for_and_others_do_not_wait_long() -> None:
    stage = Stage(slow=True)
    slow, quick = stage.follow(), follower_of(1)
    fetcher, woken = fetcher_of(slow, quick), []
    fetcher.on_change = lambda: woken.append(True)
    fetcher.next(NOW_MS)
    fetcher.answered(response(of(0, answer(batch_at(0, 3, b"a")))), NOW_MS)
    request = fetcher.next(NOW_MS)
    assert request is not None
    assert (forgotten(request), request.max_wait_ms) == ([0], 5)
    fetcher.answered(response(), NOW_MS)
    stage.files.finish_all()
    assert woken
    request = fetcher.next(NOW_MS)
    assert request is not None
    assert (said(request), request.max_wait_ms) == ({0: 1}, 500)


def test_without_anybody_to_ask_for_nothing_is_asked() -> None:
    stage = Stage(slow=True)
    fetcher = fetcher_of(stage.follow())
    assert fetcher.next(NOW_MS) is not None
    fetcher.answered(response(of(0, answer(batch_at(0, 3, b"a")))), NOW_MS)
    assert fetcher.next(NOW_MS) is None
    stage.files.finish_all()
    assert fetcher.next(NOW_MS) is not None
    assert fetcher_of().next(NOW_MS) is None


def test_a_follower_whose_disk_is_full_rests_before_it_asks_again() -> None:
    stage = Stage()
    stage.files.space_bytes = 0
    fetcher = fetcher_of(stage.follow())
    fetcher.next(NOW_MS)
    fetcher.answered(response(of(0, answer(batch_at(0, 3, b"a")))), NOW_MS)
    stage.files.finish_all()
    assert fetcher.next(NOW_MS) is None
    assert fetcher.due_ms == NOW_MS + SETTINGS.backoff_ms
    assert fetcher.next(NOW_MS + SETTINGS.backoff_ms) is not None, "the session knows what it asked for"


def test_a_follower_that_found_no_descriptor_asks_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()

    def finds_none(op: Append) -> None:
        raise FileFailure(errno.EMFILE, "too many open files")

    monkeypatch.setattr(stage.files, "_append", finds_none)
    fetcher = fetcher_of(stage.follow())
    fetcher.next(NOW_MS)
    fetcher.answered(response(of(0, answer(batch_at(0, 3, b"a")))), NOW_MS)
    stage.files.finish_all()
    assert fetcher.next(NOW_MS) is None
    assert fetcher.due_ms == NOW_MS + SETTINGS.retry_ms, "those in sync wait for it meanwhile"


def test_a_throttled_follower_waits_until_enough_time_has_passed() -> None:
    throttle = Throttle(100, NOW_MS)
    fetcher = fetcher_of(follower_of(), throttle=throttle)
    fetcher.next(NOW_MS)
    fetcher.answered(response(of(0, answer(batch_at(0, 3, bytes(200))))), NOW_MS)
    assert fetcher.next(NOW_MS) is None
    due_ms = fetcher.due_ms
    assert due_ms is not None
    assert due_ms > NOW_MS + 1_500
    assert said(fetcher.next(due_ms)) == {0: 1}


def test_a_follower_is_with_the_fetcher_of_its_leader_only() -> None:
    fetchers = Fetchers(fetcher_of)
    first = fetchers.follow(follower_of(leader=2))
    second = fetchers.follow(follower_of(leader=3))
    assert (len(first), len(second)) == (0, 1)
    assert said(second.next(NOW_MS)) == {0: 0}
    fetchers.forget((TOPIC_ID, 0))
    assert len(second) == 0


def test_no_more_is_asked_for_than_can_be_copied_at_once() -> None:
    """Ten megabytes of batches with one small record each would keep the node busy for most of a second."""
    fetcher = fetcher_of(follower_of())
    first = fetcher.next(NOW_MS)
    assert first is not None
    assert first.max_bytes == FIRST_ANSWER_BYTES
    fetcher.answered(response(of(0, answer(large := batch_at(0, 3, bytes(100_000))))), NOW_MS)
    asked = []
    for number in range(1, 11):
        request = fetcher.next(NOW_MS)
        assert request is not None
        asked.append(request.max_bytes)
        fetcher.answered(response(of(0, answer(batch_at(number, 3, bytes(100_000))))), NOW_MS)
    assert asked[:3] == [2 * FIRST_ANSWER_BYTES, 4 * FIRST_ANSWER_BYTES, 8 * FIRST_ANSWER_BYTES]
    assert asked[-1] == SETTINGS.response_bytes_max <= len(large) * ANSWER_BATCHES_MAX
    small = [batch_at(number, 3, b"a") for number in range(11, 3_000)]
    assert fetcher.next(NOW_MS) is not None
    fetcher.answered(response(of(0, answer(b"".join(small)))), NOW_MS)
    request = fetcher.next(NOW_MS)
    assert request is not None
    assert request.max_bytes == len(small[0]) * ANSWER_BATCHES_MAX
    fetcher.answered(response(), NOW_MS)
    assert fetcher._appetite_bytes == request.max_bytes, "an answer without batches says nothing about them"
