"""A second kind of groups beside the classic ones: each hears what is its own, and an id may change its kind."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.groups import shard as group_shard
from penstock.core.groups.classic.kind import ClassicKind
from penstock.core.groups.settings import GroupSettings
from penstock.core.rsm.machine import TopicChanges
from penstock.core.wire.api.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from penstock.core.wire.api.delete_groups import DeleteGroupsRequest
from penstock.core.wire.api.describe_groups import DescribeGroupsRequest
from penstock.core.wire.api.heartbeat import HeartbeatRequest
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from penstock.core.wire.api.list_groups import ListGroupsRequest
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.core.wire.api.sync_group import SyncGroupRequest
from tests.groups.guests import SESSION_MS, GuestGroup, GuestsKind, guests_record, guests_tombstone
from tests.groups.world import World, topic_id_of


@pytest.fixture(autouse=True)
def two_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_shard, "KINDS", (ClassicKind, GuestsKind))


@pytest.fixture
def world() -> World:
    return World()


def told(world: World, request: Any, version: int) -> Any:
    return world.answers[world.ask(request, version)]


def visit(world: World, guest: str = "anna", group: str = "g") -> ErrorCode:
    request = ConsumerGroupHeartbeatRequest(group_id=group, member_id=guest, member_epoch=0)
    return ErrorCode(told(world, request, 1).error_code)


def commit(world: World, member: str = "", epoch: int = -1) -> ErrorCode:
    part = OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
    topics = [OffsetCommitRequestTopic(name="orders", partitions=[part])]
    request = OffsetCommitRequest(group_id="g", member_id=member, generation_id_or_member_epoch=epoch, topics=topics)
    return ErrorCode(told(world, request, 9).topics[0].partitions[0].error_code)


def join(world: World, group: str = "g") -> Any:
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
    request = JoinGroupRequest(group_id=group, session_timeout_ms=10_000, protocol_type="consumer", protocols=protocols)
    return world.ask(request, 3, client_id="c", client_host="/h")


def kinds(world: World) -> dict[str, str]:
    token = world.list_groups(ListGroupsRequest(), 5)
    answer: Any = world.answers[token]
    return {each.group_id: each.group_type for each in answer.groups}


def test_the_kind_of_a_group_answers_before_those_who_could(world: World) -> None:
    beat = HeartbeatRequest(group_id="g", member_id="anna", generation_id=1)
    assert told(world, beat, 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    visit(world)
    assert told(world, beat, 4).error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_classic_members_are_refused_by_groups_of_another_kind(world: World) -> None:
    visit(world)
    assert world.answers[join(world)].error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL  # type: ignore[attr-defined]
    sync = SyncGroupRequest(group_id="g", generation_id=1, member_id="anna")
    assert told(world, sync, 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    (described,) = told(world, DescribeGroupsRequest(groups=["g"]), 6).groups
    assert (described.error_code, described.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group g is not a classic group.",
    )
    assert kinds(world) == {"g": "guests"}


def test_a_kind_hears_of_its_own_timers_only(world: World) -> None:
    """Both call a member's session by the same name."""
    visit(world, "anna")
    join(world, "classic")
    world.wait(SESSION_MS)
    assert world.shard.groups["g"].is_empty
    assert kinds(world) == {"g": "guests", "classic": "classic"}


def test_a_kind_says_who_may_commit_offsets(world: World) -> None:
    visit(world)
    assert commit(world, "ben", 0) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(world, "anna", 0) is ErrorCode.NONE
    assert world.shard.offsets.of_group("g")["orders"][0].offset == 7


def test_a_group_of_offsets_only_may_become_of_any_kind(world: World) -> None:
    commit(world)
    assert kinds(world) == {"g": "classic"}
    key, value = guests_record("g", ["anna"])
    world.shard.replay(key, value, world.now_ms)
    assert kinds(world) == {"g": "guests"}
    assert world.shard.offsets.of_group("g")["orders"][0].offset == 7


def test_a_group_changes_its_kind_and_keeps_its_offsets(world: World) -> None:
    commit(world)
    join(world)
    assert visit(world) is ErrorCode.GROUP_ID_NOT_FOUND, "somebody is in it"
    world.wait(600_000)
    assert visit(world) is ErrorCode.NONE
    assert kinds(world) == {"g": "guests"}
    assert list(world.timers.deadlines) == [("session", "g", "anna")]
    world.restart()
    assert isinstance(world.shard.groups["g"], GuestGroup)
    assert world.shard.offsets.of_group("g")["orders"][0].offset == 7
    world.settle_records(guests_tombstone("g"))
    join(world)
    assert kinds(world) == {"g": "classic"}
    assert {name: group.kind for name, group in world.refold().groups.items()} == {"g": "classic"}


def test_a_late_tombstone_of_one_kind_leaves_a_group_of_another_alone(world: World) -> None:
    join(world)
    world.shard.replay(*guests_tombstone("g"), world.now_ms)
    assert kinds(world) == {"g": "classic"}


def test_groups_are_listed_by_kind(world: World) -> None:
    visit(world)
    join(world, "c")
    token = world.list_groups(ListGroupsRequest(types_filter=["Guests"], states_filter=["open"]), 5)
    answer: Any = world.answers[token]
    assert [each.group_id for each in answer.groups] == ["g"]


def test_a_deleted_group_leaves_nothing_of_its_kind(world: World) -> None:
    visit(world)
    commit(world, "anna", 0)
    delete = DeleteGroupsRequest(groups_names=["g"])
    assert told(world, delete, 2).results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    world.wait(SESSION_MS)
    assert told(world, delete, 2).results[0].error_code == ErrorCode.NONE
    assert world.log[-1] == guests_tombstone("g")
    assert not world.refold().groups
    assert not world.shard.offsets.of_group("g")


def test_an_empty_group_whose_offsets_have_expired_goes() -> None:
    world = World(GroupSettings(offsets_retention_ms=20_000))
    visit(world)
    commit(world, "anna", 0)
    world.wait(20_000)
    world.sweep(world.shard.expire_offsets())
    assert world.log[-1] == guests_tombstone("g")
    assert world.shard.groups == {}


def test_every_kind_hears_of_changed_topics_at_once(world: World) -> None:
    visit(world)
    commit(world, "anna", 0)
    heard = world.shard._kinds["guests"].changes
    changes = TopicChanges({"orders": topic_id_of("orders")}, frozenset({"payments"}))
    decisions = world.shard.topics_changed(changes)
    assert heard == [changes]
    assert world.shard.offsets.of_group("g"), "what is to be written comes later"
    assert world.sweep(decisions) == [1, 1]
    assert not world.shard.offsets.of_group("g")
