"""Many histories of a quorum, each from a seed: whatever happens, nothing committed is lost, and it goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from tests.fresh_seeds import fresh
from tests.raft.faults import play, shape_of

SEEDS = 200
SOAK_SEEDS = fresh(4_000)
WIRE_SEEDS = range(500, 506)
FOUND_SEEDS = (
    835620792,  # A snapshot of what was not synced yet, after a cut that was not either.
)
MUST_HAPPEN = (
    "elections",
    "acknowledged",
    "crashes",
    "power losses",
    "truncations",
    "snapshots made",
    "snapshots installed",
    "voters added",
    "voters removed",
)


def play_all(seeds: Iterable[int], *, through_wire: bool = False) -> Counter[str]:
    total: Counter[str] = Counter()
    for seed in seeds:
        try:
            total += play(seed, through_wire=through_wire).counts
        except Exception as failure:
            raise AssertionError(f"seed {seed}, {shape_of(seed)}: {failure}") from failure
    return total


@pytest.mark.slow
def test_a_quorum_keeps_its_promises() -> None:
    total = play_all(range(SEEDS))
    print(f"{SEEDS} seeds: {dict(total)}")
    assert [what for what in MUST_HAPPEN if not total[what]] == []
    assert total["faults"] >= 5 * SEEDS


def test_histories_in_which_something_was_wrong_once() -> None:
    play_all(FOUND_SEEDS)


@pytest.mark.slow
def test_what_is_said_survives_the_wire() -> None:
    """In these worlds every message is encoded and decoded in its newest version."""
    play_all(WIRE_SEEDS, through_wire=True)


def test_one_seed_gives_one_history() -> None:
    first, second = play(3), play(3)
    assert first.counts == second.counts
    assert first.court.committed == second.court.committed
    assert first.now_ms == second.now_ms


@pytest.mark.soak
def test_many_more_seeds() -> None:
    play_all(SOAK_SEEDS)
