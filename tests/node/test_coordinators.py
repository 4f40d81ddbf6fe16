"""Groups over the offsets topic: loading, reloading, and what a lost write does to a coordinator."""

from __future__ import annotations

import errno

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import FileFailure, Read
from penstock.core.groups.shard import GroupShard
from penstock.core.node import coordinators
from penstock.core.rsm.result import Result
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest
from penstock.core.wire.api.heartbeat import HeartbeatRequest
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from penstock.core.wire.api.list_groups import ListGroupsRequest
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.core.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)
from penstock.core.wire.api.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.node.world import Client, World


def commit(group: str, offset: int, metadata: str = "") -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata=metadata)
    topics = [OffsetCommitRequestTopic(name="t", partitions=[partition])]
    return OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=topics)


def code_of(answer: object) -> int:
    return int(answer.topics[0].partitions[0].error_code)  # type: ignore[attr-defined]


def committed(client: Client, group: str) -> int:
    topics = [OffsetFetchRequestTopic(name="t", partition_indexes=[0])]
    answer = client.ask(OffsetFetchRequest(group_id=group, topics=topics), 7)
    assert answer.error_code == 0, answer
    return int(answer.topics[0].partitions[0].committed_offset)


def ready(world: World, group: str = "g") -> Client:
    """A client, after the offsets topic has come into being."""
    client = world.client()
    answer = client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]))
    if answer.coordinators[0].error_code:
        world.settle()
        answer = client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]))
    assert answer.coordinators[0].error_code == 0
    return client


def grouped() -> tuple[World, Client]:
    world = World()
    world.create("t")
    return world, ready(world)


@pytest.mark.parametrize("clean", [True, False])
def test_offsets_are_there_after_a_restart(clean: bool) -> None:
    world, client = grouped()
    for group in ("a", "b", "c"):
        for offset in range(5):
            assert code_of(client.ask(commit(group, offset), 8)) == 0
    world.restart(clean=clean)
    client = ready(world)
    assert [committed(client, group) for group in ("a", "b", "c", "nobody")] == [4, 4, 4, -1]


def test_a_group_with_a_member_is_there_after_a_restart() -> None:
    world, client = grouped()
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"m")]
    join = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=protocols,
    )
    member = client.ask(join, 5).member_id
    join.member_id = member
    client.send(join, 5)
    world.pass_time(1000)
    joined = client.replies()[0]
    assert joined.error_code == 0
    assignment = [SyncGroupRequestAssignment(member_id=member, assignment=b"all")]
    sync = SyncGroupRequest(group_id="g", generation_id=joined.generation_id, member_id=member, assignments=assignment)
    assert client.ask(sync, 3).error_code == 0
    world.restart(clean=False)
    client = ready(world)
    beat = HeartbeatRequest(group_id="g", generation_id=joined.generation_id, member_id=member)
    assert client.ask(beat, 3).error_code == 0
    world.pass_time(31_000)
    assert client.ask(beat, 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_while_a_coordinator_loads_its_groups_are_told_to_wait() -> None:
    world, client = grouped()
    client.ask(commit("g", 7), 8)
    world.stop()
    later = World(disk=world.disk, start=False)
    # Everything but the reading of the offsets topic itself goes on.
    later.turn(later.node.start)
    held = []
    while later.node.state != "running":
        later.finish_one()
    for entry in list(later.files.pending):
        if isinstance(entry[1], Read) or "Pause" in type(entry[1]).__name__:
            held.append(entry)
            later.files.pending.remove(entry)
    assert held, "loading was over before anybody could ask"
    client = later.client()
    assert code_of(client.ask(commit("g", 8), 8)) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    later.files.pending += held
    later.settle()
    assert committed(client, "g") == 7


def test_a_commit_may_be_kept_for_longer_than_time_lasts() -> None:
    world, client = grouped()
    request = commit("g", 5)
    request.retention_time_ms = 2**63 - 1
    assert code_of(client.ask(request, 4)) == 0
    world.restart()
    assert committed(ready(world), "g") == 5


def test_a_commit_that_could_not_be_written_never_happened() -> None:
    world, client = grouped()
    assert code_of(client.ask(commit("g", 1), 8)) == 0
    world.files.space_bytes = 0
    assert code_of(client.ask(commit("g", 2), 8)) != 0
    world.files.space_bytes = None
    world.pass_time(5_000)
    assert committed(ready(world), "g") == 1
    assert code_of(client.ask(commit("g", 3), 8)) == 0
    assert committed(client, "g") == 3
    world.restart(clean=False)
    assert committed(ready(world), "g") == 3


def test_a_coordinator_whose_log_takes_nothing_says_so_and_the_node_lives() -> None:
    world, client = grouped()
    client.ask(commit("g", 1), 8)
    for partition in world.node.replicas:
        if partition.topic == "__consumer_offsets":
            world.turn(lambda log=partition.log: log.fail(FileFailure(errno.ENOSPC, "full")))  # type: ignore[misc]
    assert code_of(client.ask(commit("g", 2), 8)) != 0
    assert code_of(client.ask(commit("g", 3), 8)) != 0
    assert world.node.state == "running"
    world.pass_time(700_000)
    assert world.node.state == "running"


def test_offsets_of_a_deleted_topic_go_with_it() -> None:
    world, client = grouped()
    client.ask(commit("g", 5), 8)
    client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1000))
    world.create("t")
    assert committed(client, "g") == -1
    world.restart(clean=False)
    assert committed(ready(world), "g") == -1


def test_all_groups_are_listed_whichever_shard_they_are_in() -> None:
    _, client = grouped()
    for number in range(6):
        client.ask(commit(f"g{number}", 1), 8)
    answer = client.ask(ListGroupsRequest())
    assert sorted(group.group_id for group in answer.groups) == [f"g{number}" for number in range(6)]


# Many groups: some at a time


@pytest.fixture
def two_groups_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinators, "GROUPS_PER_TURN_MAX", 2)


def with_groups(count: int, **settings: str) -> tuple[World, Client, list[str]]:
    world = World({name.replace("_", "."): value for name, value in settings.items()})
    world.create("t")
    client = ready(world)
    names = [f"group-{number}" for number in range(count)]
    for name in names:
        assert code_of(client.ask(commit(name, 5), 8)) == 0
    return world, client, names


@pytest.mark.usefixtures("two_groups_a_turn")
def test_groups_are_listed_over_several_turns() -> None:
    world, client, names = with_groups(20)
    turns = []
    world.turn, turn = lambda event: (turns.append(event), turn(event))[1], world.turn  # type: ignore[method-assign]
    answer = client.ask(ListGroupsRequest(), 4)
    assert sorted(group.group_id for group in answer.groups) == sorted(names)
    assert len(turns) >= 10


@pytest.mark.usefixtures("two_groups_a_turn")
def test_a_group_that_goes_while_groups_are_listed_is_left_out() -> None:
    world, client, names = with_groups(20)
    world.hold()
    client.send(ListGroupsRequest(), 4)
    for coordinator in world.node.coordinators:
        coordinator.shard.groups.clear()
    world.release()
    (answer,) = client.replies()
    assert len(answer.groups) < len(names)


@pytest.mark.usefixtures("two_groups_a_turn")
def test_a_coordinator_that_goes_while_groups_are_listed_says_so() -> None:
    world, client, _ = with_groups(20)
    world.hold()
    client.send(ListGroupsRequest(), 4)
    for coordinator in world.node.coordinators:
        coordinator.close()
    world.release()
    assert len(client.replies()) == 1


@pytest.mark.usefixtures("two_groups_a_turn")
@pytest.mark.parametrize("clean", [True, False])
def test_all_groups_are_loaded_over_several_turns(clean: bool) -> None:
    world, _, names = with_groups(20)
    world.restart(clean=clean)
    client = ready(world)
    assert [committed(client, name) for name in names] == [5] * 20


@pytest.mark.usefixtures("two_groups_a_turn")
def test_offsets_of_a_deleted_topic_go_from_every_group() -> None:
    world, client, names = with_groups(20)
    client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1000), 6)
    world.settle()
    assert [committed(client, name) for name in names] == [-1] * 20


@pytest.mark.usefixtures("two_groups_a_turn")
def test_offsets_of_every_group_expire() -> None:
    world, client, names = with_groups(
        20, offsets_retention_minutes="1", offsets_retention_check_interval_ms="10000", connections_max_idle_ms="600000"
    )
    world.pass_time(80_000)
    assert [committed(client, name) for name in names] == [-1] * 20
    assert client.ask(ListGroupsRequest(), 4).groups == []


def test_a_timer_that_comes_while_groups_are_loaded_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world, client = grouped()
    assert code_of(client.ask(commit("g", 1), 8)) == 0
    coordinator = world.node.coordinators.find("g")
    told = []
    monkeypatch.setattr(GroupShard, "on_timer", lambda shard, now_ms, key: told.append(key) or Result())
    driver, coordinator.driver = coordinator.driver, None
    coordinator._timers.set("a key", world.now_ms + 1)
    world.pass_time(coordinators.LOADING_RETRY_MS)
    assert told == []
    coordinator.driver = driver
    world.pass_time(coordinators.LOADING_RETRY_MS)
    assert told == ["a key"]


def test_a_commit_that_takes_long_is_answered_and_counts_all_the_same() -> None:
    world, client = grouped()
    world.hold()
    client.send(commit("g", 9), 8)
    world.pass_time(4_999, settle=False)
    assert client.replies() == []
    world.pass_time(1, settle=False)
    (answer,) = client.replies()
    assert code_of(answer) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.release()
    assert client.replies() == []
    assert committed(client, "g") == 9


def test_a_commit_that_took_long_and_was_lost_is_forgotten() -> None:
    world, client = grouped()
    assert code_of(client.ask(commit("g", 8), 8)) == ErrorCode.NONE
    world.files.space_bytes = 0
    world.hold()
    client.send(commit("g", 9), 8)
    world.pass_time(5_000, settle=False)
    (answer,) = client.replies()
    assert code_of(answer) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.release()
    world.files.space_bytes = None
    assert committed(client, "g") == 8
