"""Groups over the offsets topic: loading, reloading, and what a lost write does to a coordinator."""

from __future__ import annotations

import errno
from itertools import islice

import pytest

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import FileFailure, Pause, Steps
from penstock.core.groups import table
from penstock.core.groups.offsets.records import offset_record
from penstock.core.groups.offsets.store import CommittedOffset
from penstock.core.groups.routing import partition_for_group
from penstock.core.groups.shard import GroupShard
from penstock.core.node.coordination.host import LOADING_RETRY_MS
from penstock.core.node.coordination.journal import PartitionJournal
from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch
from penstock.core.records.control import EndTransaction, build_end_transaction
from penstock.core.rsm.machine import OpenTransactions, TopicChanges
from penstock.core.rsm.result import Result
from penstock.core.wire.api.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
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
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
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


def test_while_a_coordinator_loads_its_groups_are_told_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    world, client = grouped()
    client.ask(commit("g", 7), 8)
    world.stop()
    still_loading, begin = Pause(), GroupShard.begin

    def begin_later(shard: GroupShard, now_ms: int, transactions: OpenTransactions) -> Steps[None]:
        yield still_loading
        yield from begin(shard, now_ms, transactions)

    monkeypatch.setattr(GroupShard, "begin", begin_later)
    later = World(disk=world.disk, start=False)
    # Everything but the loading itself goes on.
    later.turn(later.node.start)
    held = []
    while later.node.state != "running":
        held += [entry for entry in later.files.pending if entry[1] is still_loading]
        later.files.pending = [entry for entry in later.files.pending if entry[1] is not still_loading]
        later.finish_one()
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
    monkeypatch.setattr(table, "GROUPS_PER_TURN_MAX", 2)


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
    for coordinator in world.node.coordinators.groups:
        coordinator.machine.groups.clear()
    world.release()
    (answer,) = client.replies()
    assert len(answer.groups) < len(names)


@pytest.mark.usefixtures("two_groups_a_turn")
def test_a_coordinator_that_goes_while_groups_are_listed_says_so() -> None:
    world, client, _ = with_groups(20)
    world.hold()
    client.send(ListGroupsRequest(), 4)
    for coordinator in world.node.coordinators.groups:
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
    coordinator = world.node.coordinators.groups.find("g")
    told = []
    monkeypatch.setattr(GroupShard, "on_timer", lambda shard, now_ms, key: told.append(key) or Result())
    driver, coordinator.driver = coordinator.driver, None
    coordinator._timers.set("a key", world.now_ms + 1)
    world.pass_time(LOADING_RETRY_MS)
    assert told == []
    coordinator.driver = driver
    world.pass_time(LOADING_RETRY_MS)
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


def test_a_commit_that_the_log_refuses_leaves_the_members_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too few replicas in sync is no reason for everybody to look for another coordinator."""
    world, client = grouped()
    assert code_of(client.ask(commit("g", 1), 8)) == 0
    waiting = world.client()
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"m")]
    join = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=protocols,
    )
    join.member_id = waiting.ask(join, 5).member_id
    waiting.send(join, 5)
    machine = world.node.coordinators.groups.find("g").machine

    def refuse(*args: object) -> int:
        raise ApiError(ErrorCode.NOT_ENOUGH_REPLICAS)

    with monkeypatch.context() as patch:
        patch.setattr(PartitionJournal, "append", refuse)
        answer = client.ask(commit("another", 2), 8)
        assert code_of(answer) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.node.coordinators.groups.find("g").machine is machine
    world.pass_time(1_000)
    assert [reply.error_code for reply in waiting.replies()] == [ErrorCode.NONE]
    assert committed(client, "g") == 1


# Transactions, as a log of Kafka's may hold them.


def offsets_log(world: World, *batches: bytearray) -> None:
    """Append to the offsets topic before a coordinator reads it."""
    topic = world.node.image.topic("__consumer_offsets")
    assert topic is not None
    partition = world.node.replicas.get("__consumer_offsets", partition_for_group("g", len(topic)))
    assert partition is not None
    for batch in batches:
        world.turn(lambda batch=batch: partition.append_own(batch, read_header(batch), world.node.now_ms))  # type: ignore[misc]


def stable(client: Client, version: int, *partitions: int, require: bool = True) -> list[tuple[int, int]]:
    """Offset and error of these partitions of topic `t`, or of all."""
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=list(partitions))] if partitions else None
    group = OffsetFetchRequestGroup(group_id="g", topics=topics)
    request = OffsetFetchRequest(groups=[group], require_stable=require)
    if version < 8:
        named = [OffsetFetchRequestTopic(name="t", partition_indexes=list(partitions))] if partitions else None
        request = OffsetFetchRequest(group_id="g", topics=named, require_stable=require)
    answer = client.ask(request, version)
    topic = (answer.groups[0] if version >= 8 else answer).topics[0]
    return [(each.committed_offset, each.error_code) for each in topic.partitions]


@pytest.mark.parametrize("version", [7, 9])
def test_an_offset_that_an_open_transaction_would_change_is_unstable(version: int) -> None:
    world = World()
    world.create("t", partitions=2)
    client = ready(world)
    assert code_of(client.ask(commit("g", 1), 8)) == 0
    changed = offset_record("g", "t", 0, CommittedOffset(5, -1, "", 0, None, world.topic_id("t")))
    offsets_log(world, build_batch([(*changed, (), 0)], producer_id=7, producer_epoch=0, transactional=True))
    world.restart()
    client = ready(world)
    unstable = (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert stable(client, version, 0, 1) == [unstable, (-1, 0)]
    assert stable(client, version) == [unstable]
    assert stable(client, version, 0, 1, require=False) == [(1, 0), (-1, 0)]
    offsets_log(world, build_end_transaction(EndTransaction(True, 0), 7, 0, 0))
    world.restart()
    assert stable(ready(world), version, 0) == [(5, 0)]


# What machines hear of topics.


def test_machines_hear_of_topics_that_come_grow_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    world, client = grouped()
    heard: list[TopicChanges] = []
    monkeypatch.setattr(GroupShard, "topics_changed", lambda shard, changes: heard.append(changes) or ())
    hosts = len(list(world.node.coordinators.groups))

    def news() -> TopicChanges:
        (one,) = {(frozenset(each.removed.items()), each.grown) for each in heard}
        assert len(heard) == hosts
        heard.clear()
        return TopicChanges(dict(one[0]), one[1])

    world.create("new")
    assert news() == ({}, {"new"})
    more = CreatePartitionsTopic(name="new", count=3, assignments=None)
    answer = client.ask(CreatePartitionsRequest(topics=[more], timeout_ms=1000))
    assert answer.results[0].error_code == 0
    assert news() == ({}, {"new"})
    topic_id = world.topic_id("new")
    client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="new")], timeout_ms=1000))
    assert news() == ({"new": topic_id}, frozenset())


def test_what_a_machine_decides_ends_with_it() -> None:
    """A machine that is folded anew while it goes over its groups is not heard any more."""
    world, client = grouped()
    assert code_of(client.ask(commit("g", 1), 8)) == 0
    host = world.node.coordinators.groups.find("g")
    decided = []

    def decide(now_ms: int) -> Result:
        decided.append(host.machine)
        return Result([offset_record("g", "t", 0, CommittedOffset(5, -1, "", 0, None, bytes(16)))])

    steps = host.sweep(lambda machine: [decide])
    world.turn(lambda: next(steps))
    world.turn(lambda: host._fold_anew(ErrorCode.NOT_COORDINATOR))
    world.settle()
    assert host.driver is not None
    assert list(islice(steps, 3)) == []
    assert len(decided) == 1
