"""What a transcript does not show well: how much work is done, odd records, and requests over many groups."""

from __future__ import annotations

import pytest

from penstock.core.groups.classic.states import MAY_FOLLOW, State
from penstock.core.groups.classic.subscription import subscribed_topics
from penstock.core.groups.fanout import (
    merge_delete_groups,
    merge_describe_groups,
    merge_list_groups,
    merge_offset_fetch,
    split_delete_groups,
    split_describe_groups,
    split_offset_fetch,
)
from penstock.core.groups.offsets.records import offset_record
from penstock.core.groups.offsets.store import CommittedOffset
from penstock.core.groups.routing import partition_for_group
from penstock.core.groups.settings import GroupSettings
from penstock.core.wire.api.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from penstock.core.wire.api.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from penstock.core.wire.api.heartbeat import HeartbeatRequest
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from penstock.core.wire.api.leave_group import LeaveGroupRequest, MemberIdentity
from penstock.core.wire.api.list_groups import ListedGroup, ListGroupsResponse
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.core.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from penstock.core.wire.api.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.groups.transcript import subscription
from tests.groups.world import World, topic_id_of


def _join(world: World, instance: str, group_id: str = "g") -> None:
    request = JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        group_instance_id=instance,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription("orders"))],
    )
    world.ask(request, 9, instance, client_id="c", client_host="/h")


def _stable_group(world: World, *instances: str) -> list[str]:
    for instance in instances:
        _join(world, instance)
    world.wait(6_000)
    members = list(world.shard.groups["g"].members)
    for member_id in members:
        request = SyncGroupRequest(
            group_id="g",
            generation_id=1,
            member_id=member_id,
            assignments=[SyncGroupRequestAssignment(member_id=each, assignment=b"part") for each in members],
        )
        world.ask(request, 4)
    assert world.shard.groups["g"].state is State.STABLE
    return members


def test_heartbeats_cost_one_timer_per_session() -> None:
    world = World()
    (member_id,) = _stable_group(world, "one")
    world.timers.sets = 0
    for _ in range(1_000):
        world.wait(100)
        world.ask(HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id), 4)
    assert world.shard.groups["g"].state is State.STABLE
    assert world.timers.sets <= 100_000 // 10_000 + 1


def test_a_silent_member_goes_though_the_clock_was_set_back() -> None:
    world = World()
    (member_id,) = _stable_group(world, "one")
    world.now_ms -= 60_000
    world.timers.deadlines = {key: at_ms - 60_000 for key, at_ms in world.timers.deadlines.items()}
    session_ms = world.shard.groups["g"].members[member_id].session_timeout_ms
    world.wait(2 * session_ms)
    assert world.shard.groups["g"].state is State.EMPTY


def test_a_loaded_group_above_its_size_must_rebalance() -> None:
    world = World()
    _stable_group(world, "one", "two", "three")
    world.settings = GroupSettings(group_members_max=2)
    world.restart()
    assert world.shard.groups["g"].state is State.PREPARING_REBALANCE
    assert ("join", "g") in world.timers.deadlines


def test_records_of_later_versions_are_left_alone() -> None:
    world = World()
    world.shard.replay(b"\0\x63anything", b"\0\0whatever", world.now_ms)
    world.shard.replay(b"\0\x63anything", None, world.now_ms)
    assert world.shard.groups == {}


def test_the_oldest_offset_keys_are_read() -> None:
    world = World()
    key, value = offset_record("g", "orders", 0, CommittedOffset(5, -1, "", 0, None, bytes(16)))
    world.shard.replay(b"\0\0" + key[2:], value, world.now_ms)
    assert world.shard.offsets.of_group("g")["orders"][0].offset == 5


def test_tombstones_of_what_never_was_are_harmless() -> None:
    world = World()
    world.shard.replay(b"\0\2\0\1g", None, world.now_ms)
    world.shard.replay(b"\0\1\0\1g\0\6orders\0\0\0\0", None, world.now_ms)
    assert world.shard.groups == {}


def _commit(world: World, topic: str, offset: int) -> None:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    request = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name=topic, partitions=[partition])])
    world.ask(request, 9)


def test_offsets_go_with_their_topic() -> None:
    world = World()
    _commit(world, "orders", 1)
    _commit(world, "payments", 2)
    world.delete_topic("orders", topic_id_of("orders"))
    assert list(world.shard.offsets.of_group("g")) == ["payments"]


def test_offsets_of_the_next_topic_of_that_name_stay() -> None:
    world = World()
    _commit(world, "orders", 1)
    world.delete_topic("orders", b"an earlier topic")
    assert world.shard.offsets.of_group("g")["orders"][0].offset == 1


def test_sweeps_come_in_batches_and_end() -> None:
    world = World(GroupSettings(sweep_records_max=10, offsets_retention_ms=0))
    for number in range(25):
        for topic in ("orders", "payments"):
            commit = CommittedOffset(5, -1, "", 0, None, topic_id_of(topic))
            world.shard.replay(*offset_record(f"g-{number}", topic, 0, commit), world.now_ms)
    assert world.delete_topic("orders", topic_id_of("orders")) == [10, 10, 5]
    assert world.sweep(world.shard.expire_offsets()) == [10, 10, 10, 10, 10]
    assert world.shard.groups == {}


def test_a_commit_to_an_earlier_topic_is_not_told_to_readers_of_the_next() -> None:
    world = World()
    commit = CommittedOffset(5, -1, "", 0, None, b"an earlier topic")
    world.shard.replay(*offset_record("g", "orders", 0, commit), world.now_ms)
    request = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id="g",
                topics=[
                    OffsetFetchRequestTopics(topic_id=topic_id_of("orders"), partition_indexes=[0]),
                ],
            )
        ]
    )
    token = world.ask(request, 10)
    answer = world.answers[token]
    assert isinstance(answer, OffsetFetchResponse)
    assert answer.groups[0].topics[0].partitions[0].committed_offset == -1


def test_deleting_a_group_ends_its_timers() -> None:
    """An empty group may still wait for somebody it gave an id to."""
    world = World()
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    world.ask(request, 9, client_id="c", client_host="/h")
    assert world.timers.deadlines
    world.ask(DeleteGroupsRequest(groups_names=["g"]), 2)
    assert world.timers.deadlines == {}
    assert world.shard.groups == {}


def test_timers_that_come_too_late_mean_nothing() -> None:
    world = World()
    for key in (("join", "g"), ("sync", "g"), ("session", "g", "m")):
        assert world.shard.on_timer(world.now_ms, key).replies == []
    _stable_group(world, "one")
    for key in (("join", "g"), ("sync", "g"), ("session", "g", "m")):
        assert world.shard.on_timer(world.now_ms, key).records == []
    assert world.shard.groups["g"].state is State.STABLE


def test_subscriptions() -> None:
    assert subscribed_topics([subscription("a", "b"), subscription("b", "c")]) == frozenset({"a", "b", "c"})
    newest = b"\0\3" + subscription("a")[2:] + b"\0\0\0\0" + b"\0\0\0\1" + b"\xff\xff"
    assert subscribed_topics([newest]) == frozenset({"a"})
    assert subscribed_topics([subscription("a"), b"\0"]) is None
    assert subscribed_topics([b"\0\0\0\0\0\x09"]) is None


def test_every_state_can_be_reached_and_left_but_the_last() -> None:
    reached = {State.EMPTY}.union(*MAY_FOLLOW.values())
    assert reached == set(State)
    assert all(MAY_FOLLOW[state] - {state} for state in State if state is not State.DEAD)


# Requests over many groups.

GROUPS = [f"group-{number}" for number in range(20)]
SHARD_COUNT = 7


def test_each_group_goes_to_its_shard() -> None:
    fetches = split_offset_fetch(
        OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=each) for each in GROUPS], require_stable=True),
        8,
        SHARD_COUNT,
    )
    describes = split_describe_groups(DescribeGroupsRequest(groups=GROUPS), SHARD_COUNT)
    deletes = split_delete_groups(DeleteGroupsRequest(groups_names=GROUPS), SHARD_COUNT)
    assert fetches.keys() == describes.keys() == deletes.keys()
    for shard, part in fetches.items():
        expected = [each for each in GROUPS if partition_for_group(each, SHARD_COUNT) == shard]
        assert [group.group_id for group in part.groups] == expected
        assert part.require_stable
        assert describes[shard].groups == expected
        assert deletes[shard].groups_names == expected


def test_answers_come_together() -> None:
    assert len(merge_describe_groups([DescribeGroupsResponse(groups=[DescribedGroup()])] * 2).groups) == 2
    assert len(merge_delete_groups([DeleteGroupsResponse(results=[DeletableGroupResult()])] * 3).results) == 3
    assert len(merge_list_groups([ListGroupsResponse(groups=[ListedGroup()]), ListGroupsResponse()]).groups) == 1


@pytest.mark.parametrize("version", range(1, 11))
def test_offset_fetch_has_one_shape_inside(version: int) -> None:
    partition = OffsetFetchResponsePartitions(partition_index=3, committed_offset=9, metadata="m")
    topic = OffsetFetchResponseTopics(name="orders", topic_id=topic_id_of("orders"), partitions=[partition])
    inside = OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="g", topics=[topic])])
    outside = merge_offset_fetch([inside], version)
    heard = OffsetFetchResponse.decode(outside.encode(version), version)
    told = heard.groups[0].topics[0] if version >= 8 else heard.topics[0]
    assert (told.partitions[0].partition_index, told.partitions[0].committed_offset) == (3, 9)


def test_administrators_leave_for_others() -> None:
    world = World()
    _stable_group(world, "one", "two")
    request = LeaveGroupRequest(
        group_id="g", members=[MemberIdentity(group_instance_id="one"), MemberIdentity(group_instance_id="two")]
    )
    world.ask(request, 5)
    assert world.shard.groups["g"].state is State.EMPTY
    assert world.timers.deadlines == {}
