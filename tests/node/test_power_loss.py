"""What was promised to survive power loss does: synced records, and all metadata."""

from __future__ import annotations

from random import Random

import pytest

from penstock.core.node.housekeeping import OWNER_CHECK_INTERVAL_MS
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest
from tests.examples import scaled
from tests.node.test_metadata import content
from tests.node.world import World, fetch, found_in, produce, values_of


@pytest.mark.parametrize("seed", range(scaled(40)))
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


@pytest.mark.parametrize("seed", range(scaled(20)))
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


@pytest.mark.parametrize("seed", range(scaled(20)))
def test_a_topic_never_gets_the_records_of_an_older_one_of_its_name(seed: int) -> None:
    """Deleted and created again for good, but the power goes before the old folder has lost its name."""
    chance = Random(seed)
    world = World(seed=seed)
    world.create("t")
    client = world.client()
    answer = client.ask(produce("t", b"of the old one"), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0
    if seed % 2:
        world.pass_time(OWNER_CHECK_INTERVAL_MS)
    world.disk.sync_folder("/data")
    world.disk.sync_folder("/data/t-0")
    old_id = world.topic_id("t")
    folders, names = set(world.disk.folders), {path: each for path, each in world.disk.names.items() if "/t-0/" in path}
    client.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 5)
    world.create("t")
    assert world.topic_id("t") != old_id
    # The disk has kept everything but what was done to the folder.
    world.disk.folders = world.disk.synced_folders = folders
    world.disk.names.update(names)
    world.disk.synced_names.update(names)
    world.disk.journal = [change for change in world.disk.journal if change[0] != "/data" and "/t-0" not in change[0]]
    world.disk.lose_power(chance)
    world.restart(clean=False)
    found = found_in(world.client().ask(fetch({("t", 0): 0}), 11))
    assert found["t", 0].error_code == 0
    assert values_of(found["t", 0].records) == []
