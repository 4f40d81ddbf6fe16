"""Committed offsets: writing them, reading them, and telling what was known meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from penstock.core.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from penstock.sim.clients.client import Client
from penstock.sim.events import CommitAcknowledged, CommitRead, CommitSent, Partition
from penstock.sim.script import Script

NO_OFFSET = -1


class Archive(Protocol):
    """What is known of commits from elsewhere: which one is due, and how far the log of a group's shard reaches."""

    def due(self, group: str, partition: Partition) -> int: ...
    def shard(self, group: str) -> tuple[Partition | None, int | None]: ...


class Membership(NamedTuple):
    """In whose name a commit is made."""

    group: str
    member: str
    generation: int
    instance: str | None = None


class Offsets:
    """One client's way to a group's offsets."""

    def __init__(self, client: Client, topic_ids: Mapping[str, bytes], archive: Archive) -> None:
        self._client = client
        self._topic_ids = topic_ids
        self._archive = archive

    def commit(self, sender: Membership, partition: Partition, offset: int) -> Script[int]:
        """Commit; gives the error code."""
        committed = OffsetCommitRequestPartition(
            partition_index=partition.number,
            committed_offset=offset,
            committed_leader_epoch=self._client.epoch_of(partition),
            committed_metadata="",
        )
        topic = OffsetCommitRequestTopic(
            name=partition.topic, topic_id=self._topic_ids[partition.topic], partitions=[committed]
        )
        request = OffsetCommitRequest(
            group_id=sender.group,
            generation_id_or_member_epoch=sender.generation,
            member_id=sender.member,
            group_instance_id=sender.instance,
            topics=[topic],
        )
        witness = self._client.world.witness
        witness.see(CommitSent(sender.group, partition, offset))
        reply = yield from self._client.call_coordinator(request, OffsetCommitResponse)
        code = reply.topics[0].partitions[0].error_code
        if code == ErrorCode.NONE:
            witness.see(CommitAcknowledged(sender.group, partition, offset, *self._archive.shard(sender.group)))
        return code

    def read(self, group: str, partition: Partition) -> Script[tuple[int, int]]:
        """Give the committed offset (-1: none) and the error code."""
        topic = OffsetFetchRequestTopics(
            name=partition.topic,
            topic_id=self._topic_ids[partition.topic],
            partition_indexes=[partition.number],
        )
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=[topic])])
        yield from self._client.connect_to_coordinator()
        known = self._archive.due(group, partition)
        reply = yield from self._client.call_coordinator(request, OffsetFetchResponse)
        answer = reply.groups[0]
        if answer.error_code != ErrorCode.NONE:
            return NO_OFFSET, answer.error_code
        found = answer.topics[0].partitions[0]
        if found.error_code == ErrorCode.NONE:
            self._client.learn_epoch(partition, found.committed_leader_epoch)
            self._client.world.witness.see(CommitRead(group, partition, found.committed_offset, known))
        return found.committed_offset, found.error_code
