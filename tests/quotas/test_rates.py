"""Rates over sampled windows, and buckets that may run into debt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.quotas.rate import MS_PER_S, Rate, Windows
from penstock.core.quotas.token_bucket import TokenBucket

ELEVEN = Windows(11, 1000)
EVENTS = st.lists(st.tuples(st.integers(0, 3_000), st.integers(1, 10_000)), min_size=1, max_size=60)


def after(events: list[tuple[int, int]], windows: Windows = ELEVEN) -> tuple[Rate, int]:
    """A rate that has seen values after pauses, and the time of the last one."""
    rate, now_ms = Rate(windows), 1_000_000
    for pause_ms, value in events:
        now_ms += pause_ms
        rate.record(value, now_ms)
        rate.measure(now_ms)
    return rate, now_ms


def test_who_has_just_begun_is_measured_over_all_windows_but_one() -> None:
    rate, now_ms = after([(0, 1000)])
    assert rate.measure(now_ms) == (100.0, 10_000)
    assert rate.measure(now_ms + 500) == (1000 * MS_PER_S / 10_500, 10_500)


def test_what_is_older_than_all_windows_is_forgotten() -> None:
    rate, now_ms = after([(0, 1000)])
    assert rate.measure(now_ms + 10_999)[0] > 0
    assert rate.measure(now_ms + 11_000)[0] == 0


@given(EVENTS)
def test_a_rate_is_what_came_by_the_time_it_spans(events: list[tuple[int, int]]) -> None:
    """The naive twin keeps every event, and asks which samples are still remembered."""
    rate, now_ms = after(events)
    samples: list[tuple[int, int, int]] = []
    at_ms = 1_000_000
    for pause_ms, value in events:
        at_ms += pause_ms
        samples = [each for each in samples if at_ms - each[1] < 11_000]
        if samples and at_ms - samples[-1][0] < 1000:
            began, _, total = samples.pop()
            samples.append((began, at_ms, total + value))
        else:
            samples.append((at_ms, at_ms, value))
    samples = samples[-12:]
    elapsed_ms = now_ms - samples[0][0]
    span_ms = max(elapsed_ms, elapsed_ms % 1000 + 10_000)
    assert rate.measure(now_ms) == (sum(each[2] for each in samples) * MS_PER_S / span_ms, span_ms)


@given(EVENTS, st.integers(1, 5_000))
def test_who_is_told_to_rest_is_over_the_limit_and_who_does_so_is_not_for_long(
    events: list[tuple[int, int]], limit: int
) -> None:
    """Time that counts before it has passed does not count again when it passes, so one rest may not be enough."""
    rate, now_ms = after(events)
    for _ in range(20):
        rest_ms = rate.rest_ms(limit, now_ms)
        assert (rest_ms > 0) == (rate.measure(now_ms)[0] > limit * (1 + 0.5 / rate.measure(now_ms)[1]))
        if not rest_ms:
            return
        now_ms += rest_ms
    raise AssertionError("it rests for ever")


@given(st.integers(100, 100_000), st.floats(0.001, 0.5))
def test_whoever_obeys_stays_within_its_quota(limit: int, seconds: float) -> None:
    """Whose requests are worth many seconds has more, as in Kafka: a whole window is forgotten at once."""
    chunk = max(1, int(limit * seconds))
    rate, now_ms, sent = Rate(ELEVEN), 0, 0
    while now_ms < 60_000:
        rate.record(chunk, now_ms)
        sent += chunk
        now_ms += max(rate.rest_ms(limit, now_ms), 50)
    assert sent <= limit * (now_ms / MS_PER_S) * 1.1 + limit * 10 + chunk


def test_a_bucket_gives_what_it_holds_and_then_on_credit_once() -> None:
    bucket = TokenBucket(2.0, 10.0, 0)
    bucket.take(19, 0)
    assert bucket.rest_ms(0) == 0
    bucket.take(5, 0)
    assert bucket.rest_ms(0) == 2000
    assert bucket.rest_ms(1500) == 500
    assert bucket.rest_ms(2000) == 0


def test_a_bucket_never_holds_more_than_its_burst() -> None:
    bucket = TokenBucket(2.0, 10.0, 0)
    bucket.take(0, 3_600_000)
    bucket.take(30, 3_600_000)
    assert bucket.rest_ms(3_600_000) == 5000
