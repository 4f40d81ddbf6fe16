"""Sessions: silence ends them, the controller's own lateness does not, and hints are believed in moderation."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.metadata.sessions import Sessions

SESSION_MS = 1_600
PULSE_MS = 200


def ended(sessions: Sessions) -> list[int]:
    found = []
    while (expired := sessions.expired()) is not None:
        found.append(expired[0])
    return found


def pass_time(sessions: Sessions, until_ms: int) -> list[int]:
    """Call whenever the sessions ask for it."""
    found: list[int] = []
    while (due_ms := sessions.next_call_ms()) < until_ms:
        sessions.advance(due_ms)
        found += ended(sessions)
    sessions.advance(until_ms)
    return found + ended(sessions)


def test_silence_ends_a_session_at_its_time() -> None:
    sessions = Sessions(SESSION_MS, 0)
    sessions.touch(1, 7)
    assert pass_time(sessions, SESSION_MS - 1) == []
    assert sessions.is_valid(1, 7)
    assert not sessions.is_valid(1, 8), "a session belongs to one process"
    assert sessions.next_call_ms() == SESSION_MS
    assert pass_time(sessions, SESSION_MS) == [1]
    assert not sessions.is_valid(1, 7)


def test_the_longest_silent_goes_first() -> None:
    sessions = Sessions(SESSION_MS, 0)
    for broker in (1, 2, 3):
        sessions.touch(broker, 0)
    pass_time(sessions, 100)
    sessions.touch(1, 0)
    assert pass_time(sessions, SESSION_MS) == [2, 3]
    assert pass_time(sessions, SESSION_MS + 100) == [1]
    sessions.touch(2, 0)
    sessions.forget(2)
    assert pass_time(sessions, 9_000) == []


def test_a_late_controller_moves_every_deadline_by_its_lateness() -> None:
    sessions = Sessions(SESSION_MS, 0)
    sessions.touch(1, 0)
    pass_time(sessions, 1_000)
    late_ms = 5_000
    sessions.advance(1_000 + PULSE_MS + late_ms)
    assert ended(sessions) == []
    assert pass_time(sessions, SESSION_MS + late_ms - 1) == []
    assert pass_time(sessions, SESSION_MS + late_ms) == [1]


def test_a_controller_that_slept_over_a_deadline_listens_before_it_fences() -> None:
    sessions = Sessions(SESSION_MS, 0)
    sessions.touch(1, 0)
    sessions.touch(2, 0)
    pass_time(sessions, SESSION_MS - 10)
    sessions.advance(SESSION_MS + 600)
    assert ended(sessions) == [], "what was said meanwhile is still unread"
    sessions.touch(1, 0)
    assert pass_time(sessions, sessions.next_call_ms()) == [2]


def test_a_timer_that_is_a_little_late_keeps_nobody_alive() -> None:
    sessions = Sessions(SESSION_MS, 0)
    sessions.touch(1, 0)
    now_ms, found = 0, []
    while not found and now_ms < 9_000:
        now_ms = sessions.next_call_ms() + 3
        sessions.advance(now_ms)
        found = ended(sessions)
    assert found == [1]
    assert now_ms <= SESSION_MS + 3 * 10


@given(
    st.lists(st.tuples(st.sampled_from(["sleep", "wait", "touch"]), st.integers(1, 3_000)), max_size=30),
)
def test_nobody_ends_before_a_session_of_listening(turns: list[tuple[str, int]]) -> None:
    """Whatever the controller does, it has listened for a whole session before it gives somebody up."""
    sessions = Sessions(SESSION_MS, 0)
    sessions.touch(1, 0)
    now_ms, listened_ms = 0, 0
    for what, span_ms in turns:
        if what == "touch":
            sessions.touch(1, 0)
            listened_ms = 0
        elif what == "sleep":
            listened_ms += max(0, min(sessions.next_call_ms() - now_ms, span_ms))
            now_ms += span_ms
            sessions.advance(now_ms)
        else:
            until_ms = now_ms + span_ms
            while (due_ms := sessions.next_call_ms()) < until_ms and not _ends(sessions, listened_ms):
                listened_ms += due_ms - now_ms
                now_ms = due_ms
                sessions.advance(now_ms)
            listened_ms += until_ms - now_ms
            now_ms = until_ms
            sessions.advance(now_ms)
        if _ends(sessions, listened_ms):
            return


def _ends(sessions: Sessions, listened_ms: int) -> bool:
    if not ended(sessions):
        return False
    assert listened_ms >= SESSION_MS
    return True


def test_hints_end_a_third_of_the_sessions_per_session_time() -> None:
    sessions = Sessions(SESSION_MS, 0)
    assert [sessions.take_hint(each, 9) for each in range(5)] == [True, True, True, False, False]
    pass_time(sessions, SESSION_MS - 1)
    assert not sessions.take_hint(5, 9)
    pass_time(sessions, SESSION_MS)
    assert sessions.take_hint(5, 9)
    assert not Sessions(SESSION_MS, 0).take_hint(1, 2), "of two brokers a third is none"


def test_a_hint_that_was_right_does_not_count() -> None:
    sessions = Sessions(SESSION_MS, 0)
    assert sessions.take_hint(1, 3)
    assert not sessions.take_hint(1, 3), "nor does the same one again, as long as nothing proves it"
    sessions.prove_hint(2)
    assert not sessions.take_hint(3, 3)
    sessions.prove_hint(1)
    assert sessions.take_hint(3, 3)
