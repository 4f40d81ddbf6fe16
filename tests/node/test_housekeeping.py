"""What a node does by the clock, and what it does not wake for."""

from __future__ import annotations

from penstock.core.node.housekeeping import FLUSH_CHECK_INTERVAL_MS
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest
from tests.node.world import World, produce

FLUSH_MS = 500


def wakeups(world: World, duration_ms: int = 10_000) -> int:
    """How often the clock alone gives the node something to do."""
    end_ms, count = world.now_ms + duration_ms, 0
    while (at_ms := world.node.next_deadline_ms()) is not None and at_ms <= end_ms:
        world.pass_time(at_ms - world.now_ms)
        count += 1
    return count


def test_topics_are_looked_at_often_only_while_one_asks_to_be_flushed() -> None:
    world = World()
    world.create("lazy")
    at_rest = wakeups(world)
    for name in ("first", "second"):
        world.create(name, flush_ms=str(FLUSH_MS))
        assert wakeups(world) > 2 * at_rest
        world.client().ask(produce(name, b"a"), 9)
        world.pass_time(FLUSH_MS + 2 * FLUSH_CHECK_INTERVAL_MS)
        assert world.node.replicas.get(name, 0).log.synced_offset == 1
        world.client().ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=1000), 5)
        world.pass_time(FLUSH_CHECK_INTERVAL_MS)
        assert wakeups(world) <= at_rest
