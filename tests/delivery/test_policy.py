"""Retry or give up, for every kind of failure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.delivery.policy import (
    ERROR_CLASS_CHARS_MAX,
    ERROR_MESSAGE_CHARS_MAX,
    GiveUp,
    RetryAfter,
    RetryPolicy,
    decide,
)

POLICY = RetryPolicy(attempts_max=4, pause_ms_first=100, pause_ms_max=250)


def test_an_error_that_cannot_pass_is_given_up_at_once() -> None:
    assert decide(POLICY, ValueError("no number"), 1) == GiveUp(1, "ValueError", "no number")


def test_an_error_that_may_pass_is_tried_again_with_growing_pauses() -> None:
    decisions = [decide(POLICY, TimeoutError("slow"), attempts) for attempts in (1, 2, 3, 4)]

    assert decisions == [RetryAfter(100), RetryAfter(200), RetryAfter(250), GiveUp(4, "TimeoutError", "slow")]


def test_a_subclass_of_what_may_pass_may_pass() -> None:
    assert isinstance(decide(POLICY, ConnectionResetError(), 1), RetryAfter)


def test_one_attempt_means_no_retries() -> None:
    assert isinstance(decide(RetryPolicy(attempts_max=1), TimeoutError(), 1), GiveUp)


@given(attempts=st.integers(1, 3), chance=st.floats(0, 1))
def test_chance_takes_up_to_half_of_a_pause(attempts: int, chance: float) -> None:
    longest = decide(POLICY, TimeoutError(), attempts)
    decision = decide(POLICY, TimeoutError(), attempts, chance)

    assert isinstance(longest, RetryAfter)
    assert isinstance(decision, RetryAfter)
    assert longest.pause_ms // 2 <= decision.pause_ms <= longest.pause_ms


@given(policy=st.builds(RetryPolicy, st.integers(1, 1000), st.integers(0, 100), st.integers(100, 10_000)))
def test_every_record_is_given_up_in_the_end(policy: RetryPolicy) -> None:
    decisions = [decide(policy, TimeoutError(), attempts) for attempts in range(1, policy.attempts_max + 1)]

    assert [isinstance(one, GiveUp) for one in decisions] == [False] * (policy.attempts_max - 1) + [True]
    assert all(one.pause_ms <= policy.pause_ms_max for one in decisions if isinstance(one, RetryAfter))


def test_reasons_are_bounded() -> None:
    long_name = type("E" * 500, (Exception,), {})
    reason = decide(POLICY, long_name("x" * 5000), 1)

    assert isinstance(reason, GiveUp)
    assert len(reason.error_class) == ERROR_CLASS_CHARS_MAX
    assert len(reason.message) == ERROR_MESSAGE_CHARS_MAX
    assert reason.message.endswith("x…")


def test_an_error_that_cannot_be_told_is_given_up_all_the_same() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert decide(POLICY, Mute(), 1) == GiveUp(1, "Mute", "the error has no readable message")


@pytest.mark.parametrize("arguments", [{"attempts_max": 0}, {"pause_ms_first": -1}, {"pause_ms_first": 6_000}])
def test_a_policy_that_makes_no_sense_is_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"at least once|first pause"):
        RetryPolicy(**arguments)  # type: ignore[arg-type]  # The keys are those of numbers.
