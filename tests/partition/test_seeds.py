"""Many histories of replicated partitions, each from a seed: whatever happens, nothing acknowledged is lost, and it
goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from tests.fresh_seeds import fresh
from tests.partition.faults import play, shape_of

SEEDS = range(40)
FOUND_SEEDS = (1_007, 2_401, 160_020_346)
"""Histories that somebody had to think about: in 1007 a broker hears of its election after the next one; in 2401 a
flush began while a cut was about to; in 160020346 a fenced broker is heard of before it has heard of that."""
SOAK_SEEDS = fresh(2_000)
MUST_HAPPEN = (
    "acknowledged",
    "acks=1",
    "elections",
    "truncations",
    "shrinks",
    "expansions",
    "refused alterations",
    "crashes",
    "power losses",
    "clean stops",
    "pauses",
    "cuts",
    "retries",
)


def play_all(seeds: Iterable[int]) -> Counter[str]:
    total: Counter[str] = Counter()
    for seed in seeds:
        try:
            total += play(seed).counts
        except AssertionError as failure:
            raise AssertionError(f"seed {seed}, {shape_of(seed)}: {failure}") from failure
    return total


@pytest.mark.slow
def test_replicas_keep_their_promises() -> None:
    seeds = [*SEEDS, *FOUND_SEEDS]
    total = play_all(seeds)
    print(f"{len(seeds)} seeds: {dict(total)}")
    assert [what for what in MUST_HAPPEN if not total[what]] == []
    assert total["faults"] >= 10 * len(seeds)


@pytest.mark.slow
def test_one_seed_gives_one_history() -> None:
    first, second = play(2), play(2)
    assert first.counts == second.counts
    assert first.court.committed == second.court.committed
    assert first.now_ms == second.now_ms


@pytest.mark.soak
def test_many_more_seeds() -> None:
    play_all(SOAK_SEEDS)
