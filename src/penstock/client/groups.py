"""Groups from outside: who is in them, how far they are, and moving them while nobody is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from penstock.client.blocking import Client
from penstock.client.errors import ClientError, check
from penstock.client.everybody import Silent, ask_everybody
from penstock.client.group_progress import SETTLED, Progress, of_classic, of_consumers
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import by_topic
from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.consumer_group_describe import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from penstock.core.wire.api.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from penstock.core.wire.api.describe_groups import DescribedGroupMember, DescribeGroupsRequest, DescribeGroupsResponse
from penstock.core.wire.api.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from penstock.core.wire.api.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from penstock.core.wire.api.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from penstock.core.wire.api.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from penstock.core.wire.api.streams_group_describe import StreamsGroupDescribeRequest, StreamsGroupDescribeResponse
from penstock.core.wire.errors import DecodeError
from penstock.core.wire.stored.consumer_protocol import ConsumerProtocolAssignment

# The last version that names topics; later ones want ids, which a deleted topic no longer has.
OFFSET_FETCH_BY_NAME = 9
OFFSET_COMMIT_BY_NAME = 9
NO_OFFSET = -1
SHARE = "share"
STREAMS = "streams"
STICKY = "sticky"
_ASSIGNMENT_VERSION_BYTES = 2


class Member(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: tuple[TopicPartition, ...]


class Group(NamedTuple):
    name: str
    state: str
    kind: str
    assignor: str
    coordinator: int
    members: tuple[Member, ...]
    progress: Progress = SETTLED


class Commit(NamedTuple):
    """How far a group is in a partition; the epoch of the leader it read from, -1 where it did not say."""

    offset: int
    leader_epoch: int
    metadata: str


class Groups:
    """Requests about groups; each goes to the group's coordinator."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def list(self) -> list[ListedGroup]:
        """Every group of every broker, by name."""
        found, silent = self.known()
        silent.refuse()
        return [*found]

    def known(self) -> tuple[Sequence[ListedGroup], Silent]:
        """The groups of those brokers that answer, by name, and who does not."""
        answers, silent = ask_everybody(self._client, self._list_at)
        found = [group for answer in answers.values() for group in answer.groups]
        return sorted(found, key=lambda group: group.group_id), silent

    def _list_at(self, node: int) -> ListGroupsResponse:
        answer = self._client.ask(ListGroupsRequest(), ListGroupsResponse, node=node)
        check(answer.error_code, "the list of groups")
        return answer

    def describe(self, name: str) -> Group:
        """A group with its members; raises GROUP_ID_NOT_FOUND where there is none."""
        found, silent = self.known()
        kinds = {group.group_id: group.group_type.lower() for group in found}
        if name not in kinds:
            silent.refuse()
            check(ErrorCode.GROUP_ID_NOT_FOUND, f"group {name}")
        if kinds[name] == "consumer":
            return self._client.retry(lambda: self._describe_consumer(name))
        if kinds[name] == SHARE:
            return self._client.retry(lambda: self._describe_share(name))
        if kinds[name] == STREAMS:
            return self._client.retry(lambda: self._describe_streams(name))
        return self._client.retry(lambda: self._describe_classic(name))

    def _describe_classic(self, name: str) -> Group:
        node = self._client.coordinator(name)
        (group,) = self._client.ask(DescribeGroupsRequest(groups=[name]), DescribeGroupsResponse, node=node).groups
        check(group.error_code, f"group {name}", group.error_message)
        # Only the consumers' own protocol says which partitions an assignment holds.
        readable = group.protocol_type == "consumer"
        members = (_classic_member(member, readable) for member in group.members)
        progress = of_classic(group.group_state)
        return Group(name, group.group_state, "classic", group.protocol_data, node, tuple(sorted(members)), progress)

    def _describe_consumer(self, name: str) -> Group:
        node = self._client.coordinator(name)
        request = ConsumerGroupDescribeRequest(group_ids=[name])
        (group,) = self._client.ask(request, ConsumerGroupDescribeResponse, node=node).groups
        check(group.error_code, f"group {name}", group.error_message)
        members = (
            Member(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                tuple(
                    TopicPartition(topic.topic_name, number)
                    for topic in member.assignment.topic_partitions
                    for number in topic.partitions
                ),
            )
            for member in group.members
        )
        shown, progress = tuple(sorted(members)), of_consumers(group)
        return Group(name, group.group_state, "consumer", group.assignor_name, node, shown, progress)

    def _describe_share(self, name: str) -> Group:
        node = self._client.coordinator(name)
        request = ShareGroupDescribeRequest(group_ids=[name])
        (group,) = self._client.ask(request, ShareGroupDescribeResponse, node=node).groups
        check(group.error_code, f"group {name}", group.error_message)
        members = (
            Member(
                member.member_id,
                None,
                member.client_id,
                member.client_host,
                tuple(
                    TopicPartition(topic.topic_name, number)
                    for topic in member.assignment.topic_partitions
                    for number in topic.partitions
                ),
            )
            for member in group.members
        )
        return Group(name, group.group_state, SHARE, group.assignor_name, node, tuple(sorted(members)))

    def _describe_streams(self, name: str) -> Group:
        node = self._client.coordinator(name)
        request = StreamsGroupDescribeRequest(group_ids=[name])
        (group,) = self._client.ask(request, StreamsGroupDescribeResponse, node=node).groups
        check(group.error_code, f"group {name}", group.error_message)
        parts = () if group.topology is None else group.topology.subtopologies or ()
        read = {
            each.subtopology_id: [*each.source_topics, *(topic.name for topic in each.repartition_source_topics)]
            for each in parts
        }
        members = (
            Member(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                tuple(
                    TopicPartition(topic, number)
                    for tasks in member.assignment.active_tasks
                    for topic in read.get(tasks.subtopology_id, ())
                    for number in tasks.partitions
                ),
            )
            for member in group.members
        )
        return Group(name, group.group_state, STREAMS, STICKY, node, tuple(sorted(members)))

    def is_share_group(self, name: str) -> bool:
        """Of a group that is not there, or whose coordinator does not answer, it is not known to be one."""
        return any(group.group_id == name and group.group_type.lower() == SHARE for group in self.known()[0])

    def offsets(self, name: str) -> dict[TopicPartition, int]:
        """Everything the group has committed."""
        return {where: commit.offset for where, commit in self.commits(name).items()}

    def commits(self, name: str) -> dict[TopicPartition, Commit]:
        """The same, with all that is kept of it."""

        def attempt() -> dict[TopicPartition, Commit]:
            node = self._client.coordinator(name)
            if self._client.link(node).versions.pick(OffsetFetchRequest, OFFSET_FETCH_BY_NAME) < 8:
                check(ErrorCode.UNSUPPORTED_VERSION, f"the offsets of group {name}")
            request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=name, topics=None)])
            answer = self._client.ask(request, OffsetFetchResponse, node=node, newest_version=OFFSET_FETCH_BY_NAME)
            (group,) = answer.groups
            if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
                # It is there, and of a kind that commits nothing.
                return {}
            check(group.error_code, f"the offsets of group {name}")
            return {
                TopicPartition(topic.name, each.partition_index): Commit(
                    each.committed_offset, each.committed_leader_epoch, each.metadata or ""
                )
                for topic in group.topics
                for each in topic.partitions
                if each.committed_offset != NO_OFFSET
            }

        return self._client.retry(attempt)

    def commit(self, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Move a group that has no members."""
        topics = [
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=number,
                        committed_offset=offsets[TopicPartition(topic, number)],
                        committed_metadata="",
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in by_topic(offsets).items()
        ]
        request = OffsetCommitRequest(group_id=name, topics=topics)

        def attempt() -> None:
            node = self._client.coordinator(name)
            answer = self._client.ask(request, OffsetCommitResponse, node=node, newest_version=OFFSET_COMMIT_BY_NAME)
            for topic in answer.topics:
                for partition in topic.partitions:
                    check(partition.error_code, f"group {name} at {topic.name}-{partition.partition_index}")

        self._client.retry(attempt)

    def delete(self, name: str) -> None:
        """Delete a group that has no members, with its offsets."""

        def attempt() -> None:
            node = self._client.coordinator(name)
            request = DeleteGroupsRequest(groups_names=[name])
            (gone,) = self._client.ask(request, DeleteGroupsResponse, node=node).results
            check(gone.error_code, f"group {name}")

        self._client.retry(attempt)

    def delete_offsets(self, name: str, places: Iterable[TopicPartition]) -> None:
        """Forget how far a group is in some partitions."""
        topics = [
            OffsetDeleteRequestTopic(
                name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=number) for number in numbers]
            )
            for topic, numbers in by_topic(places).items()
        ]
        request = OffsetDeleteRequest(group_id=name, topics=topics)

        def attempt() -> None:
            node = self._client.coordinator(name)
            answer = self._client.ask(request, OffsetDeleteResponse, node=node)
            check(answer.error_code, f"group {name}")
            for topic in answer.topics:
                for partition in topic.partitions:
                    check(partition.error_code, f"group {name} at {topic.name}-{partition.partition_index}")

        self._client.retry(attempt)


def _classic_member(member: DescribedGroupMember, readable: bool) -> Member:
    places = _read_assignment(member.member_assignment) if readable else ()
    return Member(member.member_id, member.group_instance_id, member.client_id, member.client_host, places)


def _read_assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """The partitions in a classic consumer's assignment: the version of its format, then the assignment."""
    if not data:
        return ()
    version = int.from_bytes(data[:_ASSIGNMENT_VERSION_BYTES], "big", signed=True)
    # Later formats only add to the end, so the newest one known here reads what it needs of them.
    known = min(version, ConsumerProtocolAssignment.VERSIONS[-1])
    try:
        assignment, _ = ConsumerProtocolAssignment.decode_from(data, known, _ASSIGNMENT_VERSION_BYTES)
    except DecodeError as failure:
        raise ClientError(f"the assignment of a member cannot be read: {failure}") from failure
    topics = assignment.assigned_partitions
    return tuple(sorted(TopicPartition(topic.topic, number) for topic in topics for number in topic.partitions))
