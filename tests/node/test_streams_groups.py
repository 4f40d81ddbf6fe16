"""Streams groups on one node: members share the tasks of an application whose topics the node creates."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.streams import configuring
from penstock.core.wire.api import streams_group_heartbeat as beating
from penstock.core.wire.api.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from penstock.core.wire.api.delete_groups import DeleteGroupsRequest
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.api.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from penstock.core.wire.api.list_groups import ListGroupsRequest
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.core.wire.api.streams_group_describe import StreamsGroupDescribeRequest
from penstock.core.wire.api.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.node.world import World

SETTINGS = {"group.streams.assignment.interval.ms": "0", "group.streams.initial.rebalance.delay.ms": "0"}
BEAT_MS = 5_000


@pytest.fixture
def world() -> World:
    return begun({})


def begun(settings: dict[str, str]) -> World:
    world = World(SETTINGS | settings)
    world.create("lines", 4)
    world.create("__consumer_offsets", 1)
    return world


def ask(world: World, request: Any) -> Any:
    """What waits for the controller is answered some turns later."""
    client = world.client()
    client.send(request)
    for _ in range(20):
        world.settle()
        world.run_due()
        if replies := client.replies():
            return replies[0]
    raise AssertionError("no answer")


def topology(epoch: int = 0, **changes: Any) -> beating.Topology:
    """Words of `lines` are counted: a repartition topic between, and the counts in a changelog."""
    words, store = "app-words-repartition", "app-store-changelog"
    first = {"subtopology_id": "0", "source_topics": ["lines"], "repartition_sink_topics": [words]}
    compact = beating.KeyValue(key="cleanup.policy", value="compact")
    second = {
        "subtopology_id": "1",
        "repartition_source_topics": [beating.TopicInfo(name=words)],
        "state_changelog_topics": [beating.TopicInfo(name=store, topic_configs=[compact])],
    }
    parts = [beating.Subtopology(**(first | changes)), beating.Subtopology(**second)]
    return beating.Topology(epoch=epoch, subtopologies=parts)


def beat(world: World, member: str, epoch: int = 0, **fields: Any) -> Any:
    said: dict[str, Any] = {"group_id": "app", "member_id": member, "member_epoch": epoch}
    if epoch == 0:
        nothing: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
        said |= {"topology": topology(), "process_id": member, "rebalance_timeout_ms": 60_000} | nothing
    return ask(world, beating.StreamsGroupHeartbeatRequest(**(said | fields)))


def tasks(said: Any) -> list[tuple[str, int]]:
    return sorted((each.subtopology_id, number) for each in said for number in each.partitions)


def has(active: list[tuple[str, int]], standby: list[tuple[str, int]] | None = None) -> dict[str, Any]:
    """What a member says that it has."""

    def ids(held: list[tuple[str, int]]) -> list[beating.RequestTaskIds]:
        return [beating.RequestTaskIds(subtopology_id=name, partitions=[number]) for name, number in held]

    return {"active_tasks": ids(active), "standby_tasks": ids(standby or []), "warmup_tasks": []}


def codes(answer: Any) -> list[int]:
    assert answer.error_code == 0, answer
    return [each.status_code for each in answer.status]


def joined(world: World, member: str, **fields: Any) -> Any:
    """It has its tasks; the first one waits for the topics in between."""
    answer = beat(world, member, **fields)
    if configuring.MISSING_INTERNAL_TOPICS in codes(answer):
        answer = beat(world, member, answer.member_epoch)
    assert codes(answer) == []
    return answer


ALL = [(name, number) for name in "01" for number in range(4)]


def test_topics_are_created_before_the_first_member_gets_its_tasks(world: World) -> None:
    first = beat(world, "m")
    assert (codes(first), first.active_tasks) == ([configuring.MISSING_INTERNAL_TOPICS], [])
    assert first.status[0].status_detail == ("Internal topics are missing: app-store-changelog, app-words-repartition")
    assert first.member_epoch > 0
    assert len(world.node.image.topic("app-words-repartition")) == 4
    resource = DescribeConfigsResource(
        resource_type=2, resource_name="app-store-changelog", configuration_keys=["cleanup.policy"]
    )
    (described,) = ask(world, DescribeConfigsRequest(resources=[resource])).results
    assert described.configs[0].value == "compact"
    second = beat(world, "m", first.member_epoch)
    assert (codes(second), tasks(second.active_tasks)) == ([], ALL)
    third = beat(world, "m", second.member_epoch)
    assert (third.member_epoch, third.active_tasks) == (second.member_epoch, None)


def test_a_second_member_gets_half_once_the_first_has_given_it_up(world: World) -> None:
    first = joined(world, "a")
    second = beat(world, "b")
    assert tasks(second.active_tasks) == []
    told = beat(world, "a", first.member_epoch, **has(ALL))
    kept = tasks(told.active_tasks)
    assert len(kept) == 4
    assert tasks(beat(world, "b", second.member_epoch).active_tasks or []) == []
    beat(world, "a", told.member_epoch, **has(kept))
    rest = beat(world, "b", second.member_epoch)
    assert tasks(rest.active_tasks) == sorted(set(ALL) - set(kept))
    state = ask(world, StreamsGroupDescribeRequest(group_ids=["app"])).groups[0].group_state
    assert state == "Stable"


def test_who_does_not_give_up_loses_its_place(world: World) -> None:
    first = joined(world, "a", rebalance_timeout_ms=10_000)
    second = beat(world, "b")
    beat(world, "a", first.member_epoch, **has(ALL))
    given = []
    for _ in range(3):
        world.pass_time(BEAT_MS)
        beat(world, "a", first.member_epoch)
        second = beat(world, "b", second.member_epoch)
        given += tasks(second.active_tasks or [])
    assert beat(world, "a", first.member_epoch).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert given == ALL


def test_copies_are_elsewhere() -> None:
    world = begun({"group.streams.num.standby.replicas": "1"})
    first = joined(world, "a")
    assert first.standby_tasks == []
    second = beat(world, "b")
    told = beat(world, "a", first.member_epoch, **has(ALL))
    kept = tasks(told.active_tasks)
    first = beat(world, "a", told.member_epoch, **has(kept))
    second = beat(world, "b", second.member_epoch)
    first = beat(world, "a", first.member_epoch, **has(kept))
    own, copies = tasks(second.active_tasks), tasks(second.standby_tasks)
    assert sorted([*own, *kept]) == ALL
    assert copies == [each for each in kept if each[0] == "1"]


def test_silence_and_leaving_free_the_tasks(world: World) -> None:
    first = joined(world, "a")
    world.pass_time(50_000)
    assert beat(world, "a", first.member_epoch).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    second = joined(world, "b")
    assert tasks(second.active_tasks) == ALL
    gone = beat(world, "b", -1)
    assert (gone.member_epoch, gone.error_code) == (-1, 0)
    assert tasks(joined(world, "c").active_tasks) == ALL


def test_what_is_wrong_with_topics_is_said(world: World) -> None:
    absent = beat(world, "m", group_id="x", topology=topology(source_topics=["lines", "nowhere"]))
    assert [(each.status_code, each.status_detail) for each in absent.status] == [
        (configuring.MISSING_SOURCE_TOPICS, "Source topics nowhere are missing.")
    ]
    world.create("app-words-repartition", 3)
    uneven = beat(world, "m")
    assert codes(uneven) == [configuring.INCORRECTLY_PARTITIONED_TOPICS]
    assert "expected 4, found 3" in uneven.status[0].status_detail
    state = ask(world, StreamsGroupDescribeRequest(group_ids=["app"])).groups[0].group_state
    assert state == "NotReady"
    world.create("pairs", 2)
    both = topology(source_topics=["lines", "pairs"])
    both.subtopologies[0].copartition_groups = [beating.CopartitionGroup(source_topics=[0, 1])]
    answer = beat(world, "m", group_id="y", topology=both)
    assert codes(answer) == [configuring.INCORRECTLY_PARTITIONED_TOPICS]
    looped = beat(world, "m", group_id="z", topology=topology(repartition_sink_topics=[]))
    assert looped.error_code == ErrorCode.STREAMS_INVALID_TOPOLOGY


def test_topics_that_grow_or_go_are_noticed(world: World) -> None:
    first = joined(world, "a")
    ask(world, DeleteTopicsRequest(topics=[DeleteTopicState(name="lines")]))
    gone = beat(world, "a", first.member_epoch, **has(ALL))
    assert codes(gone) == [configuring.MISSING_SOURCE_TOPICS]
    assert gone.active_tasks == []
    beat(world, "a", gone.member_epoch, **has([]))
    world.create("lines", 4)
    back = beat(world, "a", gone.member_epoch + 1)
    assert tasks(back.active_tasks) == ALL
    grown = [CreatePartitionsTopic(name="lines", count=5, assignments=None)]
    assert ask(world, CreatePartitionsRequest(topics=grown)).results[0].error_code == 0
    # Kafka does not let topics in between grow by themselves either.
    assert codes(beat(world, "a", back.member_epoch)) == [configuring.INCORRECTLY_PARTITIONED_TOPICS]


def test_a_new_group_waits_for_further_members() -> None:
    world = begun({"group.streams.initial.rebalance.delay.ms": "3000"})
    first = beat(world, "a")
    assert configuring.ASSIGNMENT_DELAYED in codes(first)
    assert first.member_epoch == 1
    second = beat(world, "b")
    assert codes(beat(world, "a", first.member_epoch)) == [configuring.ASSIGNMENT_DELAYED]
    world.pass_time(3_000)
    answers = [beat(world, each.member_id, each.member_epoch) for each in (first, second)]
    assert [len(tasks(each.active_tasks)) for each in answers] == [4, 4]


def test_epochs_and_topologies_of_others_are_refused(world: World) -> None:
    first = joined(world, "a")
    assert beat(world, "a", first.member_epoch + 1).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert beat(world, "b", 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert beat(world, "a", 3, group_id="none").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    other = beat(world, "b", topology=topology(1))
    assert (other.error_code, other.error_message) == (
        ErrorCode.INVALID_REQUEST,
        "Topology updates are not supported yet.",
    )
    task = has([("0", 9)])
    assert beat(world, "a", first.member_epoch, **task).error_code == ErrorCode.INVALID_REQUEST
    static = beat(world, "a", instance_id="i")
    assert (static.error_code, static.error_message) == (
        ErrorCode.INVALID_REQUEST,
        "Static membership is not yet supported.",
    )
    internal = beat(world, "b", topology=topology(source_topics=["__consumer_offsets"]))
    assert internal.error_code == ErrorCode.STREAMS_INVALID_TOPOLOGY
    stale = beat(world, "b", topology=topology(-1))
    assert codes(stale) == [configuring.STALE_TOPOLOGY]


def test_one_member_ends_all(world: World) -> None:
    first = joined(world, "a")
    second = beat(world, "b")
    beat(world, "a", first.member_epoch, shutdown_application=True)
    assert codes(beat(world, "b", second.member_epoch)) == [configuring.SHUTDOWN_APPLICATION]


def test_members_hear_where_state_is(world: World) -> None:
    where = beating.RequestEndpoint(host="h", port=7)
    first = joined(world, "a", user_endpoint=where)
    (told,) = first.partitions_by_user_endpoint
    assert (told.user_endpoint.host, told.user_endpoint.port) == ("h", 7)
    assert [each.topic for each in told.active_partitions] == ["lines", "app-words-repartition"]
    again = beat(world, "a", first.member_epoch, endpoint_information_epoch=first.endpoint_information_epoch)
    assert again.partitions_by_user_endpoint is None


def commit(world: World, member: str, epoch: int) -> int:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=0, committed_metadata="")
    topic = OffsetCommitRequestTopic(name="lines", topic_id=world.topic_id("lines"), partitions=[partition])
    request = OffsetCommitRequest(group_id="app", member_id=member, generation_id_or_member_epoch=epoch, topics=[topic])
    code: int = ask(world, request).topics[0].partitions[0].error_code
    return code


def test_tools_see_it_and_delete_it(world: World) -> None:
    first = joined(world, "a")
    (group,) = ask(world, ListGroupsRequest()).groups
    assert (group.group_type, group.protocol_type, group.group_state) == ("streams", "streams", "Stable")
    (described,) = ask(world, StreamsGroupDescribeRequest(group_ids=["app"])).groups
    (repartition,) = described.topology.subtopologies[1].repartition_source_topics
    assert (repartition.name, repartition.partitions) == ("app-words-repartition", 4)
    (member,) = described.members
    assert tasks(member.assignment.active_tasks) == tasks(member.target_assignment.active_tasks) == ALL
    assert commit(world, "a", first.member_epoch) == 0
    assert commit(world, "a", first.member_epoch - 1) == ErrorCode.STALE_MEMBER_EPOCH
    assert commit(world, "", -1) == ErrorCode.UNKNOWN_MEMBER_ID
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
    join = JoinGroupRequest(group_id="app", session_timeout_ms=6_000, protocol_type="consumer", protocols=protocols)
    assert ask(world, join).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    delete = DeleteGroupsRequest(groups_names=["app"])
    assert ask(world, delete).results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    beat(world, "a", -1)
    assert ask(world, delete).results[0].error_code == 0
    assert ask(world, ListGroupsRequest()).groups == []


def test_a_group_goes_on_after_a_restart(world: World) -> None:
    first = joined(world, "a")
    world.restart()
    again = beat(world, "a", first.member_epoch)
    assert (codes(again), again.member_epoch, again.active_tasks) == ([], first.member_epoch, None)
    (described,) = ask(world, StreamsGroupDescribeRequest(group_ids=["app"])).groups
    assert (described.group_state, tasks(described.members[0].assignment.active_tasks)) == ("Stable", ALL)


def test_a_cluster_that_has_not_agreed_does_not_serve_them(world: World) -> None:
    update = FeatureUpdateKey(feature="streams.version", max_version_level=0, upgrade_type=2)
    ask(world, UpdateFeaturesRequest(feature_updates=[update]))
    assert beat(world, "a").error_code == ErrorCode.UNSUPPORTED_VERSION
