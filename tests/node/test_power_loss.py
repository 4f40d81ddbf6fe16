"""What was promised to survive power loss does: synced records, and all metadata."""

from __future__ import annotations

from random import Random

import pytest

from tests.node.test_metadata import content
from tests.node.world import World, fetch, found_in, produce, values_of


@pytest.mark.parametrize("seed", range(40))
def test_synced_records_and_topics_survive_power_loss(seed: int) -> None:
    chance = Random(seed)
    world = World(seed=seed)
    world.create("t", 2, flush_messages="1")
    client = world.client()
    count = chance.randint(1, 3)
    for number in range(count):
        answer = client.ask(produce("t", b"%d" % number), 9)
        assert answer.responses[0].partition_responses[0].error_code == 0
    before = content(world.node.image)
    world.disk.lose_power(chance)
    world.restart(clean=False)
    assert content(world.node.image) == before
    found = found_in(world.client().ask(fetch({("t", 0): 0, ("t", 1): 0}), 11))
    assert values_of(found["t", 0].records) == [b"%d" % number for number in range(count)]
    assert found["t", 1].error_code == 0
    world.client().ask(produce("t", b"next", partition=1), 9)


@pytest.mark.parametrize("seed", range(20))
def test_a_crash_before_the_power_loss_changes_nothing(seed: int) -> None:
    """The process dies before it has synced anything of a new topic; the next one does, and then the power goes."""
    chance = Random(seed)
    world = World(seed=seed)
    world.create("t", 1, flush_messages="1")
    world.restart(clean=False)
    answer = world.client().ask(produce("t", b"promised"), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0
    world.disk.lose_power(chance)
    world.restart(clean=False)
    found = found_in(world.client().ask(fetch({("t", 0): 0}), 11))
    assert values_of(found["t", 0].records) == [b"promised"]
