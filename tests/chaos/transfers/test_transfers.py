"""The sum over all accounts never changes, whoever dies: leaders of the ledger, coordinators, all nodes at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from penstock.client.blocking import Client
from tests.chaos.cluster import ChaosCluster, on_loopback
from tests.chaos.faults import Fault, draw
from tests.chaos.place import UNSHARE, can_have_own_world
from tests.chaos.running import ROOT
from tests.chaos.transfers.levels import changing
from tests.chaos.transfers.run import SETTINGS, Bank
from tests.chaos.transfers.world import OWN
from tests.client.test_transactional import set_level
from tests.conformance.transactions.aio import Aiokafka
from tests.conformance.transactions.client import Library
from tests.conformance.transactions.librdkafka import Librdkafka
from tests.conformance.transactions.outside import running_franz_go, running_java

pytestmark = [pytest.mark.slow, pytest.mark.client, pytest.mark.java]

FAULTS = 30


@pytest.fixture
def cluster() -> Iterator[ChaosCluster]:
    with on_loopback(3, SETTINGS) as running:
        yield running


def test_the_sum_never_changes(cluster: ChaosCluster) -> None:
    with running_java() as java:
        bank = Bank(cluster, {"java": java, "librdkafka": Librdkafka()}, seed=1)

        def who_matters() -> Iterator[Fault]:
            """The second is asked for when the first is over."""
            yield Fault("kill", (cluster.leader_of("ledger"),), 0.5)
            yield Fault("kill", (bank.coordinator(),), 0.5)

        complaints = bank.play(who_matters())
    assert complaints == [], cluster.output()


def play_for_long(cluster: ChaosCluster, are_slow: bool, until: ExitStack) -> None:
    seed = int.from_bytes(os.urandom(4), "big")
    print(f"seed {seed}")
    aio = Aiokafka()
    until.callback(aio.close)
    # Without kafka-python: when a coordinator dies, 3.0 forgets what it was about to ask, and waits for ever.
    libraries: dict[str, Library] = {
        "java": until.enter_context(running_java()),
        "librdkafka": Librdkafka(),
        "franz-go": until.enter_context(running_franz_go()),
        "aiokafka": aio,
    }
    complaints = Bank(cluster, libraries, seed, are_slow).play(draw(seed, 3, FAULTS, has_own_world=False))
    assert complaints == [], cluster.output()


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("are_slow", [False, True], ids=["quick", "slow"])
@pytest.mark.parametrize("level", [2, 1])
def test_the_sum_never_changes_for_long(cluster: ChaosCluster, level: int, are_slow: bool) -> None:
    """In both protocols; `level` is that of `transaction.version`."""
    with Client(cluster.bootstrap) as client:
        set_level(client, level)
    with ExitStack() as until:
        play_for_long(cluster, are_slow, until)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_the_sum_never_changes_while_the_protocol_does(cluster: ChaosCluster) -> None:
    with ExitStack() as until:
        levels = until.enter_context(changing(cluster.bootstrap))
        play_for_long(cluster, False, until)
    assert levels.changes > FAULTS


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_the_sum_never_changes_in_a_bad_world() -> None:
    """Links are cut, one way too, and disks are full, where this account may have a world of its own."""
    seed = int.from_bytes(os.urandom(4), "big")
    command = [sys.executable, "-m", "tests.chaos.transfers.world", str(seed), str(FAULTS)]
    if can_have_own_world():
        command = [*UNSHARE, *command, OWN]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"seed {seed}\n{done.stdout}{done.stderr}"
    print(done.stdout)
