"""The three promises, each with the program that keeps it: killed at its worst moment, and counted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from examples.semantics.job import BATCH
from examples.semantics.trial import COUNT, Outcome, trial
from penstock.testing import Broker

pytestmark = [pytest.mark.client, pytest.mark.slow]


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with Broker({"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker.bootstrap


def test_at_most_once_loses_and_never_doubles(bootstrap: str) -> None:
    assert trial(bootstrap, "at_most_once", deaths=[COUNT // 2]) == Outcome(lost=BATCH, doubled=0, undone=0)


def test_at_least_once_doubles_and_never_loses(bootstrap: str) -> None:
    assert trial(bootstrap, "at_least_once", deaths=[COUNT // 2]) == Outcome(lost=0, doubled=BATCH, undone=0)


def test_exactly_once_does_neither(bootstrap: str) -> None:
    outcome = trial(bootstrap, "exactly_once")
    assert (outcome.lost, outcome.doubled) == (0, 0)
    assert outcome.undone > 0, "the dead have written, and nobody is to see it"
