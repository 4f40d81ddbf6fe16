"""A broker that joins gets its share by itself: in bunches, under a throttle, while all is well, whoever controls."""

from __future__ import annotations

from collections import Counter

import pytest

from penstock.core.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE
from penstock.core.metadata.moving import LISTS, PENDING, RATES, pending
from penstock.core.node.links.purposes import ALTER
from penstock.core.node.membership.broker_lifecycle import State
from penstock.core.wire.api.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from penstock.core.wire.stored.cluster_metadata import ConfigRecord, PartitionChangeRecord
from tests.node.controller.world import Machine, World, cluster

MOVES_MAX = 3
INTERVAL_MS = 1_000
RATE = "1000"
SETTINGS = {
    "auto.balance.interval.ms": str(INTERVAL_MS),
    "auto.balance.moves.max": str(MOVES_MAX),
    "auto.balance.throttle.bytes.per.second": RATE,
}
PARTITIONS = 12
SHARE = 9
LONG_MS = 30_000


def grown(*, joins: bool = True, follows: bool = True, **settings: str) -> World:
    """Three brokers that share a topic, and a fourth one that has just come."""
    world = cluster(1, 2, 3, **{**SETTINGS, **settings})
    world.create("t", *([1 + each % 3, 1 + (each + 1) % 3, 1 + (each + 2) % 3] for each in range(PARTITIONS)))
    if joins:
        join(world)
    if follows:
        world.after(50, lambda: catch_up(world))
    return world


def join(world: World) -> None:
    world.start(4)
    world.run_until(lambda: 4 in world.committed.brokers and not world.fenced(), 10_000)


def catch_up(world: World) -> None:
    """Leaders find, every now and then, that their followers are in sync."""
    for machine in list(world.machines.values()):
        topic = machine.image.topic("t")
        if machine.broker_lifecycle.state is State.SERVING and topic is not None:
            for index in range(len(topic)):
                expand(machine, index)
    world.after(50, lambda: catch_up(world))


def expand(machine: Machine, index: int) -> None:
    image = machine.image
    topic = image.topic("t")
    assert topic is not None
    partition = topic.partition(index)
    active = [each for each in partition.replicas if image.is_active(each)]
    if partition.leader != machine.id or set(active) == set(partition.isr):
        return
    data = RequestPartitionData(
        partition_index=index,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        new_isr_with_epochs=[BrokerState(broker_id=each, broker_epoch=image.brokers[each].epoch) for each in active],
    )
    topics = [RequestTopicData(topic_id=topic.id, partitions=[data])]
    request = AlterPartitionRequest(broker_id=machine.id, broker_epoch=machine.broker_lifecycle.epoch, topics=topics)
    machine.channel.ask(request, 1_000, lambda answer: None, ALTER)


def held(world: World) -> Counter[int]:
    return Counter(replica for each in range(PARTITIONS) for replica in world.partition(index=each).replicas)


def led(world: World) -> Counter[int]:
    return Counter(world.partition(index=each).leader for each in range(PARTITIONS))


def begun(world: World) -> list[PartitionChangeRecord]:
    """Every move that was ever begun."""
    changes = [record for record in world.log if isinstance(record, PartitionChangeRecord)]
    return [record for record in changes if record.adding_replicas]


def throttles(world: World) -> dict[str, str]:
    for_all = world.committed.config(BROKER_RESOURCE, "")
    of_topic = world.committed.config(TOPIC_RESOURCE, "t")
    return {name: found[name] for found in (for_all, of_topic) for name in (*RATES, *LISTS) if name in found}


def test_a_broker_that_joins_gets_its_share_and_nobody_else_moves() -> None:
    world = grown()
    world.run_until(lambda: held(world)[4] == SHARE and not world.committed.tally.reassigning, LONG_MS)
    world.run(LONG_MS)
    assert held(world) == {1: 9, 2: 9, 3: 9, 4: 9}
    assert len(begun(world)) == SHARE, "something moved that need not have moved"
    assert all(record.adding_replicas == [4] for record in begun(world))
    assert all(len(world.partition(index=each).replicas) == 3 for each in range(PARTITIONS))


def test_leaders_follow_without_waiting_for_the_general_look() -> None:
    world = grown()
    world.run(LONG_MS)
    assert max(led(world).values()) - min(led(world).values()) <= 2
    assert led(world)[4] >= 3


def test_bunches_are_bounded_and_wait_for_each_other() -> None:
    world = grown(follows=False)
    world.run(LONG_MS)
    assert world.committed.tally.reassigning == MOVES_MAX
    assert len(begun(world)) == MOVES_MAX, "a second bunch came before the first had arrived"


def test_copies_are_throttled_while_they_are_made_and_not_afterwards() -> None:
    world = grown(follows=False)
    world.run_until(lambda: world.committed.tally.reassigning > 0, LONG_MS)
    world.run(5 * INTERVAL_MS)
    found = throttles(world)
    assert [found[name] for name in RATES] == [RATE, RATE]
    fetching = set(found["follower.replication.throttled.replicas"].split(","))
    assert fetching == {f"{record.partition_id}:4" for record in begun(world)}
    sending = set(found["leader.replication.throttled.replicas"].split(","))
    assert {f"{record.partition_id}:{each}" for record in begun(world) for each in (1, 2, 3)} == sending
    catch_up(world)
    world.run_until(lambda: held(world)[4] == SHARE and not world.committed.tally.reassigning, LONG_MS)
    world.run(2 * INTERVAL_MS)
    assert throttles(world) == {}


@pytest.mark.parametrize("moment", [0, 700, 1_600, 3_100])
def test_the_next_controller_goes_on_and_moves_nothing_twice(moment: int) -> None:
    world = grown()
    world.run(moment)
    world.elect(2, late_ms=100)
    world.run(moment)
    world.elect(3)
    world.run(LONG_MS)
    assert held(world) == {1: 9, 2: 9, 3: 9, 4: 9}
    assert len(begun(world)) == SHARE
    assert throttles(world) == {}


def test_nothing_begins_while_a_broker_is_fenced() -> None:
    world = grown(joins=False)
    world.pause(2, LONG_MS)
    world.run_until(lambda: world.fenced() == [2], 10_000)
    world.start(4)
    world.run(20_000)
    assert begun(world) == []
    world.run(LONG_MS)
    assert world.fenced() == []
    world.run(LONG_MS)
    assert held(world)[4] == SHARE


def test_it_stops_when_the_one_that_is_filled_goes_away() -> None:
    world = grown(follows=False)
    world.run_until(lambda: world.committed.tally.reassigning > 0, LONG_MS)
    world.kill(4)
    world.run(LONG_MS)
    assert len(begun(world)) == MOVES_MAX


def test_replicas_out_of_sync_come_first() -> None:
    world = grown(joins=False, follows=False)
    world.create("u", *([1, 3] for _ in range(PARTITIONS)))
    world.pause(2, 3_000)
    world.run_until(lambda: world.fenced() == [2], 10_000)
    world.run_until(lambda: not world.fenced(), 10_000)
    join(world)
    world.run(LONG_MS)
    assert begun(world) == []


def test_it_can_be_turned_off() -> None:
    world = grown(**{"auto.balance.enable": "false"})
    world.run(LONG_MS)
    assert begun(world) == []


@pytest.mark.parametrize("listed", [True, False])
def test_a_rate_of_somebody_elses_is_left_alone(listed: bool) -> None:
    world = grown(joins=False)
    own = [ConfigRecord(resource_type=BROKER_RESOURCE, resource_name="", name=name, value="7") for name in RATES]
    world.machines[1].ledger.submit(own, world.now_ms, lambda code: None)
    if listed:
        world.configure("t", **{name.replace(".", "_"): "*" for name in LISTS})
    join(world)
    world.run(LONG_MS)
    assert held(world)[4] == SHARE
    assert set(throttles(world).values()) == ({"7", "*"} if listed else {"7"})


def test_who_holds_enough_and_leads_nothing_gets_leaders_without_a_copy() -> None:
    world = cluster(1, 2, 3, 4, **SETTINGS)
    world.create("t", *([1 + each % 3, 1 + (each + 1) % 3, 4] for each in range(PARTITIONS)))
    mark = ConfigRecord(resource_type=BROKER_RESOURCE, resource_name="4", name=PENDING, value="true")
    world.machines[1].ledger.submit([mark], world.now_ms, lambda code: None)
    world.run(LONG_MS)
    assert led(world) == {1: 3, 2: 3, 3: 3, 4: 3}
    assert begun(world) == []


def test_a_broker_that_has_its_share_is_no_longer_marked() -> None:
    world = grown(follows=False)
    assert pending(world.committed) == [4]
    catch_up(world)
    world.run(LONG_MS)
    assert pending(world.committed) == []


def test_who_was_there_before_keeps_what_it_has() -> None:
    """That all is on two of three may be what somebody wants."""
    world = cluster(1, 2, 3, **SETTINGS)
    world.create("t", *([1, 2] for _ in range(PARTITIONS)))
    world.run(LONG_MS)
    world.pause(3, 5_000)
    world.run(LONG_MS)
    assert world.fenced() == []
    assert begun(world) == []


def test_two_that_join_share() -> None:
    world = grown()
    world.start(5)
    world.run(2 * LONG_MS)
    assert sorted(held(world).values()) == [7, 7, 7, 7, 8]
    assert pending(world.committed) == []
