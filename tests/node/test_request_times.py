"""How long requests are said to have taken: as a whole and by phase, whether or not they are answered at once."""

from __future__ import annotations

from functools import partial

from penstock.core.base.histogram import LATENCY_BOUNDS_US
from penstock.core.log.log import RECENT_BATCHES_MAX
from penstock.core.node.observing.request_times import RequestTimes
from tests.node.world import World, fetch, found_in, produce

FETCH_VERSION = 12


def times_of(world: World, api: str) -> RequestTimes:
    return world.node.metrics.request_times[api]


def test_what_is_answered_at_once_is_local_as_a_whole() -> None:
    times = RequestTimes()
    times.at_once.observe(300, 5)
    times.later.observe(9_000)
    times.spend("local", 70, 1)
    times.spend("remote", 8_000, 1)
    phases = dict(times.by_phase())
    assert list(phases) == ["local", "remote"]
    assert (times.whole().count, times.whole().total) == (6, 5 * 300 + 9_000)
    assert (phases["local"].count, phases["local"].total) == (6, 5 * 300 + 70)
    assert phases["local"].counts[LATENCY_BOUNDS_US.index(500)] == 5


def test_nothing_is_told_of_what_was_never_asked() -> None:
    assert list(RequestTimes().by_phase()) == []


def test_a_read_from_the_disk_that_is_answered_at_once_takes_its_turn() -> None:
    world = World()
    world.create("t")
    client = world.client()
    for _ in range(2 * RECENT_BATCHES_MAX + 2):
        assert client.ask(produce("t", b"v"), 9).responses[0].partition_responses[0].error_code == 0
    before = world.node.fetching.cold_reads
    node = world.node
    node.begin(world.now_ms, 1_000)
    client.connection.feed(client.frame(fetch({("t", 0): 0}), FETCH_VERSION))
    assert not client.connection.slots, "it waits for nobody"
    node.finish(1_400)
    assert node.fetching.cold_reads == before + 1
    times = times_of(world, "Fetch")
    assert times.at_once.total == 400
    assert times.later.count == 0


def test_a_read_that_waits_for_the_disk_keeps_its_place() -> None:
    world = World()
    world.create("t")
    client = world.client()
    for _ in range(2 * RECENT_BATCHES_MAX + 2):
        client.ask(produce("t", b"v"), 9)
    world.hold()
    frames = [client.frame(fetch({("t", 0): 0}), FETCH_VERSION), client.frame(fetch({("t", 0): 2}), FETCH_VERSION)]
    world.turn(partial(client.connection.feed, b"".join(frames)))
    assert client.connection.waiting == 2
    world.release()
    first, second = client.replies()
    assert found_in(first)["t", 0].records
    assert found_in(second)["t", 0].records
    times = times_of(world, "Fetch")
    assert times.later.count == 2
    assert dict(times.by_phase())["local"].count == 2
