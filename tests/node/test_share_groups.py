"""Share groups on one node: members read what is set up, tools ask for offsets, and groups go with their state."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.share_state.key import SharePartition
from penstock.core.wire.api import alter_share_group_offsets as altering
from penstock.core.wire.api import delete_share_group_offsets as deleting
from penstock.core.wire.api import describe_share_group_offsets as describing
from penstock.core.wire.api.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from penstock.core.wire.api.delete_groups import DeleteGroupsRequest
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from penstock.core.wire.api.list_groups import ListGroupsRequest
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.core.wire.api.offset_delete import OffsetDeleteRequest
from penstock.core.wire.api.share_group_describe import ShareGroupDescribeRequest
from penstock.core.wire.api.share_group_heartbeat import ShareGroupHeartbeatRequest
from penstock.core.wire.api.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from penstock.core.wire.api.write_share_group_state import (
    PartitionData,
    StateBatch,
    WriteShareGroupStateRequest,
    WriteStateData,
)
from tests.node.world import World, produce

SETTINGS = {
    "share.coordinator.state.topic.num.partitions": "2",
    "group.share.assignment.interval.ms": "0",
    "offsets.retention.check.interval.ms": "1000",
}
BEAT_MS = 5_000


@pytest.fixture
def world() -> World:
    world = World(SETTINGS)
    world.create("t", 4)
    world.create("__consumer_offsets", 1)
    return world


def ask(world: World, request: Any) -> Any:
    """What waits for other coordinators is answered some turns later."""
    client = world.client()
    client.send(request)
    for _ in range(20):
        world.settle()
        world.run_due()
        if replies := client.replies():
            return replies[0]
    raise AssertionError("no answer")


def beat(world: World, member: str, epoch: int = 0, topics: tuple[str, ...] | None = ("t",), **fields: Any) -> Any:
    names = None if topics is None else list(topics)
    said: dict[str, Any] = {"group_id": "g", "member_id": member, "member_epoch": epoch}
    return ask(world, ShareGroupHeartbeatRequest(**(said | {"subscribed_topic_names": names} | fields)))


def given(world: World, answer: Any) -> list[int]:
    """The partitions of `t`."""
    assert answer.error_code == 0, answer
    return [index for each in answer.assignment.topic_partitions for index in each.partitions]


def state(world: World, index: int) -> Any:
    """What a share coordinator keeps."""
    key = SharePartition("g", world.topic_id("t"), index)
    kept = world.node.coordinators.share_state.find(key.text).machine.table.get(key)
    return None if kept is None else kept.state


def describe_offsets(world: World, named: bool = True) -> Any:
    topics = [describing.DescribeShareGroupOffsetsRequestTopic(topic_name="t", partitions=[0, 1])] if named else None
    asked = describing.DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=topics)
    return ask(world, describing.DescribeShareGroupOffsetsRequest(groups=[asked])).groups[0]


def alter(world: World, **starts: int) -> Any:
    partitions = [
        altering.AlterShareGroupOffsetsRequestPartition(partition_index=int(index[1:]), start_offset=start)
        for index, start in starts.items()
    ]
    topic = altering.AlterShareGroupOffsetsRequestTopic(topic_name="t", partitions=partitions)
    return ask(world, altering.AlterShareGroupOffsetsRequest(group_id="g", topics=[topic]))


def test_who_joins_is_told_what_to_read_at_once(world: World) -> None:
    joined = beat(world, "first")
    assert (joined.member_epoch, joined.heartbeat_interval_ms) == (2, 5_000)
    assert given(world, joined) == [0, 1, 2, 3]
    assert {state(world, index).start_offset for index in range(4)} == {-1}
    assert {state(world, index).state_epoch for index in range(4)} == {1}
    second = beat(world, "second")
    assert len(given(world, second)) == 2
    assert len(given(world, beat(world, "first", joined.member_epoch))) == 2


def test_more_members_than_partitions_share_them(world: World) -> None:
    epochs = {name: beat(world, name).member_epoch for name in "abcdefgh"}
    shares = [given(world, beat(world, name, epoch)) for name, epoch in epochs.items()]
    assert sorted(index for each in shares for index in each) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_partitions_that_come_are_set_up_before_they_are_read(world: World) -> None:
    epoch = beat(world, "m").member_epoch
    wanted = CreatePartitionsTopic(name="t", count=6, assignments=None)
    assert ask(world, CreatePartitionsRequest(topics=[wanted], timeout_ms=1000)).results[0].error_code == 0
    world.pass_time(BEAT_MS)
    epoch = beat(world, "m", epoch, None).member_epoch
    world.pass_time(BEAT_MS)
    assert given(world, beat(world, "m", epoch)) == [0, 1, 2, 3, 4, 5]
    assert state(world, 5) is not None


def test_members_are_known_after_a_restart_and_go_by_silence(world: World) -> None:
    epoch = beat(world, "m").member_epoch
    world.restart(clean=False)
    assert given(world, beat(world, "m", epoch)) == [0, 1, 2, 3]
    world.pass_time(46_000)
    assert beat(world, "m", epoch, None).error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"member": ""}, ErrorCode.INVALID_REQUEST),
        ({"member": "m" * 37}, ErrorCode.INVALID_REQUEST),
        ({"member": "m", "group_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member": "m", "rack_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member": "m", "topics": None}, ErrorCode.INVALID_REQUEST),
        ({"member": "m", "epoch": -2}, ErrorCode.INVALID_REQUEST),
        ({"member": "new", "epoch": 3}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member": "m", "epoch": 99}, ErrorCode.FENCED_MEMBER_EPOCH),
        ({"member": "new", "epoch": -1}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member": "m", "epoch": 1, "group_id": "other"}, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
def test_what_a_heartbeat_may_not_say(world: World, fields: dict[str, Any], code: ErrorCode) -> None:
    beat(world, "m")
    assert beat(world, **fields).error_code == code


def test_an_epoch_may_be_one_behind(world: World) -> None:
    first = beat(world, "m")
    beat(world, "other")
    second = beat(world, "m", first.member_epoch)
    assert second.member_epoch > first.member_epoch
    assert beat(world, "m", first.member_epoch).member_epoch == second.member_epoch
    beat(world, "third")
    third = beat(world, "m", second.member_epoch)
    assert third.member_epoch > second.member_epoch
    assert beat(world, "m", first.member_epoch).error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_group_is_full_at_some_size() -> None:
    world = World({**SETTINGS, "group.share.max.size": "1"})
    world.create("t")
    world.create("__consumer_offsets", 1)
    assert beat(world, "a").error_code == 0
    assert beat(world, "b").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_other_protocols_find_no_group_of_theirs(world: World) -> None:
    beat(world, "m")
    protocol = JoinGroupRequestProtocol(name="range", metadata=b"")
    join = JoinGroupRequest(
        group_id="g", session_timeout_ms=6000, rebalance_timeout_ms=6000, protocol_type="consumer", protocols=[protocol]
    )
    assert ask(world, join).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert ask(world, OffsetDeleteRequest(group_id="g")).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    topic = OffsetCommitRequestTopic(
        topic_id=world.topic_id("t"), partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=5)]
    )
    commit = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, topics=[topic])
    assert ask(world, commit).topics[0].partitions[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_is_listed_and_described(world: World) -> None:
    epoch = beat(world, "m").member_epoch
    (listed,) = ask(world, ListGroupsRequest(types_filter=["share"])).groups
    assert (listed.group_id, listed.protocol_type, listed.group_state, listed.group_type) == (
        "g",
        "share",
        "Stable",
        "share",
    )
    group, missing = ask(world, ShareGroupDescribeRequest(group_ids=["g", "h"])).groups
    assert (group.group_state, group.group_epoch, group.assignment_epoch, group.assignor_name) == (
        "Stable",
        2,
        2,
        "simple",
    )
    assert missing.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    (member,) = group.members
    assert (member.member_id, member.member_epoch, member.subscribed_topic_names) == ("m", epoch, ["t"])
    assert member.assignment.topic_partitions[0].topic_name == "t"
    beat(world, "m", -1)
    assert ask(world, ShareGroupDescribeRequest(group_ids=["g"])).groups[0].group_state == "Empty"


def test_offsets_are_set_read_and_deleted(world: World) -> None:
    world.client().ask(produce("t", b"a", b"b", b"c"), 9)
    epoch = beat(world, "m").member_epoch
    assert alter(world, p0=1).error_code == ErrorCode.NON_EMPTY_GROUP
    beat(world, "m", -1)
    altered = alter(world, p0=1, p9=0)
    assert [each.error_code for each in altered.responses[0].partitions] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert state(world, 0).start_offset == 1
    assert state(world, 0).state_epoch > epoch
    described = describe_offsets(world)
    assert [(each.start_offset, each.lag) for each in described.topics[0].partitions] == [(1, 2), (-1, -1)]
    assert len(describe_offsets(world, named=False).topics[0].partitions) == 4
    gone = deleting.DeleteShareGroupOffsetsRequest(
        group_id="g",
        topics=[deleting.DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in ("t", "absent")],
    )
    assert [each.error_code for each in ask(world, gone).responses] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert state(world, 0) is None
    assert describe_offsets(world).topics[0].partitions[0].start_offset == -1
    assert ask(world, gone).responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_whoever_led_before_the_offsets_were_set_cannot_write(world: World) -> None:
    epoch = beat(world, "m").member_epoch
    beat(world, "m", -1)
    alter(world, p0=0)
    batch = StateBatch(first_offset=5, last_offset=6, delivery_state=2, delivery_count=1)
    data = PartitionData(partition=0, state_epoch=epoch, leader_epoch=0, start_offset=5, state_batches=[batch])
    request = WriteShareGroupStateRequest(
        group_id="g", topics=[WriteStateData(topic_id=world.topic_id("t"), partitions=[data])]
    )
    assert ask(world, request).results[0].partitions[0].error_code == ErrorCode.FENCED_STATE_EPOCH


def test_a_group_goes_with_its_state(world: World) -> None:
    beat(world, "m")
    request = DeleteGroupsRequest(groups_names=["g", "absent"])
    codes = [each.error_code for each in ask(world, request).results]
    assert codes == [ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_ID_NOT_FOUND]
    beat(world, "m", -1)
    codes = [each.error_code for each in ask(world, request).results]
    assert codes == [ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND]
    assert [state(world, index) for index in range(4)] == [None] * 4
    assert ask(world, ListGroupsRequest()).groups == []
    assert given(world, beat(world, "m")) == [0, 1, 2, 3]


def test_an_empty_group_stays(world: World) -> None:
    """Its state would outlive it."""
    beat(world, "m")
    beat(world, "m", -1)
    world.pass_time(30_000)
    assert [each.group_id for each in ask(world, ListGroupsRequest()).groups] == ["g"]


def test_a_topic_that_is_deleted_leaves_nothing(world: World) -> None:
    epoch = beat(world, "m").member_epoch
    world.client().ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1000))
    world.pass_time(BEAT_MS)
    assert given(world, beat(world, "m", epoch)) == []
    world.create("t", 2)
    epoch = beat(world, "m", 0).member_epoch
    assert given(world, beat(world, "m", epoch)) == [0, 1]
    world.restart()
    assert [len(host.machine.table) for host in world.node.coordinators.share_state] in ([2, 0], [1, 1], [0, 2])


def test_below_its_version_nothing_is_served(world: World) -> None:
    update = FeatureUpdateKey(feature="share.version", max_version_level=0, upgrade_type=2)
    assert ask(world, UpdateFeaturesRequest(timeout_ms=1000, feature_updates=[update])).error_code == 0
    assert beat(world, "m").error_code == ErrorCode.UNSUPPORTED_VERSION
    assert describe_offsets(world).error_code == ErrorCode.UNSUPPORTED_VERSION
