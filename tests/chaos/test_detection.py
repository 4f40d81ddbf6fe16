"""How soon failures are noticed, and that work is not taken for one. The short ones only have to stay far below what a
broken cluster would take, because the machine may be doing other things; the long ones hold the limits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos import rolling, succession
from tests.chaos.cluster import ChaosCluster
from tests.chaos.place import UNSHARE, Loopback, can_have_own_world
from tests.chaos.running import ROOT

PATIENCE = 4
"""What a test may take on a busy machine, as a multiple of the limit."""
SECONDS_MAX = 1_800.0

pytestmark = [pytest.mark.slow, pytest.mark.client]


def test_nodes_are_restarted_one_by_one_and_controllers_replaced(tmp_path: Path) -> None:
    with ChaosCluster(Loopback(tmp_path, rolling.NODES), rolling.NODES) as cluster:
        outcome = rolling.run(cluster, rounds=1)
        print(outcome)
        assert outcome.leaderless < PATIENCE * rolling.LEADERLESS_SECONDS_MAX
        assert outcome.p99 < PATIENCE * rolling.P99_SECONDS_MAX
        cluster.create_topic(succession.TOPIC, rolling.NODES)
        took = succession.measure(cluster, "created")
        print(f"a topic was created {took * 1000:.0f} ms after the controller died")
        assert took < PATIENCE * succession.SECONDS_MAX


def _run(tool: str, *options: str, own_world: bool = False) -> None:
    command = [sys.executable, "-m", f"tests.chaos.{tool}", *options]
    if own_world and can_have_own_world():
        command = [*UNSHARE, *command, "--own-world"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.soak
def test_how_long_producers_wait() -> None:
    _run("gaps", "--rounds=5", own_world=True)


@pytest.mark.soak
def test_ten_rolling_restarts() -> None:
    _run("rolling", "--rounds=10")


@pytest.mark.soak
def test_ten_controllers_die() -> None:
    _run("succession", "--rounds=10")


@pytest.mark.soak
def test_ten_minutes_on_a_busy_machine() -> None:
    _run("flapping", "--seconds=600")
