"""Retry or give up: a pure decision from what went wrong and how often it was tried.

The caller handles a record, tells `decide` about a failure, and performs the decision: waits and tries again, or
writes the dead letter. Chance comes in as a number, so that a simulation can choose it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

ERROR_CLASS_CHARS_MAX: Final = 200
ERROR_MESSAGE_CHARS_MAX: Final = 1_000


@dataclass(frozen=True)
class RetryPolicy:
    """How often a record is tried, and which errors may pass by themselves; others are never tried again.

    The pause doubles from `pause_ms_first` up to `pause_ms_max`. One attempt means no retries.
    """

    attempts_max: int = 3
    pause_ms_first: int = 100
    pause_ms_max: int = 5_000
    transient: tuple[type[Exception], ...] = (ConnectionError, TimeoutError)

    def __post_init__(self) -> None:
        if self.attempts_max < 1:
            raise ValueError("a record is tried at least once")
        if not 0 <= self.pause_ms_first <= self.pause_ms_max:
            raise ValueError("the first pause lies between 0 and the longest one")


@dataclass(frozen=True)
class RetryAfter:
    """Try the record again, not before so many milliseconds."""

    pause_ms: int


@dataclass(frozen=True)
class GiveUp:
    """The record becomes a dead letter, with this reason; both texts are bounded."""

    attempts: int
    error_class: str
    message: str


Decision = RetryAfter | GiveUp


def decide(policy: RetryPolicy, error: Exception, attempts: int, chance: float = 1.0) -> Decision:
    """What to do after the `attempts`-th attempt has failed; `chance` in [0, 1] shortens the pause by up to half."""
    assert attempts >= 1, "a failure follows an attempt"
    assert 0.0 <= chance <= 1.0, "chance is a share"
    if attempts < policy.attempts_max and isinstance(error, policy.transient):
        pause_ms = min(policy.pause_ms_first << (attempts - 1), policy.pause_ms_max)
        return RetryAfter(round(pause_ms * (1 + chance) / 2))
    return GiveUp(attempts, bounded(type(error).__name__, ERROR_CLASS_CHARS_MAX), describe(error))


def describe(error: Exception) -> str:
    """What an error says; some raise while they say it, and a dead letter must be written all the same."""
    try:
        text = str(error)
    except Exception:
        text = "the error has no readable message"
    return bounded(text, ERROR_MESSAGE_CHARS_MAX)


def bounded(text: str, chars_max: int) -> str:
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"
