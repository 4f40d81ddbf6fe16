"""Settings of single groups while they run: they count from the next heartbeat on, and only for their group."""

from __future__ import annotations

from typing import Any

from penstock.core.wire.api.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.node.sharing import configure
from tests.node.world import World
from tests.settings_act.asking import find_coordinator


def beat(world: World, group: str, epoch: int) -> Any:
    is_joining = epoch == 0
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="m",
        member_epoch=epoch,
        rebalance_timeout_ms=60_000 if is_joining else -1,
        subscribed_topic_names=["t"] if is_joining else None,
        topic_partitions=[] if is_joining else None,
    )
    return world.client().ask(request, 0)


def test_a_change_counts_from_the_next_heartbeat_on() -> None:
    world = World()
    world.create("t")
    find_coordinator(world)
    assert [beat(world, group, 0).heartbeat_interval_ms for group in ("g", "other")] == [5_000, 5_000]
    configure(world, "g", consumer_heartbeat_interval_ms="9000", consumer_session_timeout_ms="60000")
    assert [beat(world, group, 1).heartbeat_interval_ms for group in ("g", "other")] == [9_000, 5_000]
    world.pass_time(50_000)
    assert [beat(world, group, 1).error_code for group in ("g", "other")] == [0, 25], "only one may be silent so long"
    configure(world, "g", consumer_heartbeat_interval_ms="6000")
    assert beat(world, "g", 1).heartbeat_interval_ms == 6_000
