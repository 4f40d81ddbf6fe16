"""When keys are fetched again, whatever somebody shows."""

from __future__ import annotations

from penstock.oauth.schedule import EXPEDITED_MS_MIN, KEY_ID_CHARS_MAX, MISSED_MAX, MISSED_MS, Schedule


def test_now_and_then() -> None:
    schedule = Schedule(60_000, 100, 1_000)
    assert schedule.due_ms == 0
    schedule.loaded(5)
    assert schedule.due_ms == 60_005


def test_failures_wait_longer_and_longer() -> None:
    schedule = Schedule(60_000, 100, 1_000)
    waits = []
    for _ in range(6):
        schedule.failed(0)
        waits.append(schedule.due_ms)
    assert waits == [100, 200, 400, 800, 1_000, 1_000]
    for _ in range(100):
        schedule.failed(0)
    assert schedule.due_ms == 1_000
    schedule.loaded(0)
    schedule.failed(0)
    assert schedule.due_ms == 100


def test_an_unknown_key_is_looked_for_once() -> None:
    schedule = Schedule(3_600_000, 100, 1_000)
    schedule.loaded(0)
    assert schedule.missed("new", 10_000)
    assert schedule.due_ms == 10_000
    schedule.loaded(10_001)
    assert not schedule.missed("new", 10_002)
    assert not schedule.missed("new", 10_000 + MISSED_MS - 1)
    assert schedule.missed("new", 10_000 + MISSED_MS)


def test_many_unknown_keys_do_not_make_many_fetches() -> None:
    schedule = Schedule(3_600_000, 100, 1_000)
    fetches = 0
    schedule.loaded(0)
    for now_ms in range(0, 60_000, 10):
        schedule.missed(f"key {now_ms}", now_ms)
        if schedule.due_ms <= now_ms:
            fetches += 1
            schedule.loaded(now_ms)
    assert fetches == 60_000 // EXPEDITED_MS_MIN - 1


def test_what_is_remembered_is_bounded() -> None:
    schedule = Schedule(3_600_000, 100, 1_000)
    schedule.loaded(0)
    assert not schedule.missed("x" * (KEY_ID_CHARS_MAX + 1), 10_000)
    assert schedule.missed("first", 10_000)
    schedule.loaded(10_000)
    for number in range(MISSED_MAX):
        schedule.missed(str(number), 20_000)
    schedule.loaded(20_000)
    assert schedule.missed("first", 30_000), "it was forgotten for others"
