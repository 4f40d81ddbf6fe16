"""A seed is a run: the same trace twice, and the same trace whatever Python's hashes are."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from penstock.sim.log_scenario import run_log_seed
from penstock.sim.run import run_seed
from tests.sim.test_cluster import weather_over
from tests.sim.test_cluster_nodes import run_briefly

SEEDS = (7, 8)
PROGRAM = """
from penstock.sim.log_scenario import run_log_seed
from penstock.sim.run import run_seed
from tests.sim.test_cluster import weather_over
from tests.sim.test_cluster_nodes import run_briefly
for seed in {seeds}:
    print(run_log_seed(seed).trace_hash, run_seed(seed).trace_hash)
    print(weather_over(seed, 3).world.trace.digest, run_briefly(seed).trace_hash)
"""


def hashes_in_another_process(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM.format(seeds=SEEDS[:1])]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_two_runs_of_a_seed_have_the_same_trace() -> None:
    for run in (run_log_seed, run_seed):
        assert run(SEEDS[0]).trace_hash == run(SEEDS[0]).trace_hash


@pytest.mark.slow
def test_different_seeds_have_different_traces() -> None:
    assert len({run_seed(seed).trace_hash for seed in SEEDS}) == len(SEEDS)


@pytest.mark.slow
def test_the_trace_does_not_depend_on_the_hash_seed() -> None:
    one, other = hashes_in_another_process("1"), hashes_in_another_process("2")
    assert one == other
    seed = SEEDS[0]
    alone = (run_log_seed(seed).trace_hash, run_seed(seed).trace_hash)
    together = (weather_over(seed, 3).world.trace.digest, run_briefly(seed).trace_hash)
    assert one.split() == [*alone, *together]
