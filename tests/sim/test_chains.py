"""Chains of transactions in a cluster: whatever befalls programs, coordinators and leaders, each input counts once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.sim.cluster_scenario import run_cluster_seed
from penstock.sim.cluster_spec import NOTHING_BESIDE, Shares, draw_cluster
from penstock.sim.report import Report
from tests.sim.many_seeds import run_all

ONLY = replace(NOTHING_BESIDE, chains=1.0)
SEEDS = range(2)
FOUND = (4,)
"""Seeds that have shown something: a group's offset that went back, as compaction took what was committed for
aborted."""
MUST_HAPPEN = ("Ended", "Brought", "StableTold", "Seen", "ChainRead", "crash", "coordinator-changes")


def run(seed: int) -> Report:
    """Nobody else is at work, so that all there is happens to transactions."""
    drawn = draw_cluster(seed, 3, ONLY)
    alone = replace(drawn, producers=(), groups=(), members_each=0, onlookers=0, records_min=0)
    return run_cluster_seed(seed, alone)


def test_a_chain_comes_beside_what_a_seed_draws_without_it() -> None:
    for seed in range(50):
        drawn, without = (draw_cluster(seed, 3, Shares(chains=each, compactions=0.0)) for each in (1.0, 0.0))
        assert drawn.chain is not None
        assert replace(drawn, chain=None, settings=without.settings) == without


def test_chains_are_of_all_kinds() -> None:
    chains = [chain for seed in range(50) if (chain := draw_cluster(seed, 3, ONLY).chain) is not None]
    links = [link for chain in chains for link in chain.links]
    assert {chain.level for chain in chains} == {1, 2}
    assert {program.protocol for link in links for program in link.programs} == {1, 2}
    assert {link.are_members for link in links} == {True, False}
    assert any(program.is_shared for link in links for program in link.programs)
    assert all(program.protocol <= chain.level for chain in chains for program in chain.sources)


@pytest.mark.slow
def test_each_input_counts_once() -> None:
    run_all(run, SEEDS, MUST_HAPPEN)


@pytest.mark.slow
@pytest.mark.parametrize("seed", FOUND)
def test_what_chains_have_shown_is_mended(seed: int) -> None:
    run_all(run, [seed], ())
