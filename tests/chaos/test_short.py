"""Every kind of fault once, against three nodes under load."""

import pytest

from tests.chaos.faults import KINDS, draw
from tests.chaos.running import chaos

SEED = 32
SECONDS_MAX = 300.0


def test_a_schedule_has_every_kind_and_follows_from_its_seed() -> None:
    drawn = draw(SEED, nodes=3, count=len(KINDS), has_own_world=True)

    assert {fault.kind for fault in drawn} == set(KINDS)
    assert drawn == draw(SEED, nodes=3, count=len(KINDS), has_own_world=True)
    assert all(len(set(fault.victims)) == len(fault.victims) for fault in drawn)


def test_without_a_world_of_its_own_only_processes_are_hurt() -> None:
    assert {fault.kind for fault in draw(SEED, nodes=3, count=20, has_own_world=False)} == {
        "kill",
        "pause",
        "rolling restart",
        "blackout",
    }


@pytest.mark.slow
@pytest.mark.client
def test_each_fault_once() -> None:
    print(chaos(nodes=3, faults=len(KINDS), seed=SEED, seconds_max=SECONDS_MAX))
