"""Group coordinators: what they are made of, and how all groups of one are listed."""

from __future__ import annotations

from functools import partial
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Pause, Steps
from penstock.core.groups.counts import GroupCounts
from penstock.core.groups.member_memory import MemberMemory
from penstock.core.groups.routing import partition_for_group
from penstock.core.groups.settings import GroupSettings, MemberSettings
from penstock.core.groups.shard import GroupShard
from penstock.core.node.coordination.host import Host
from penstock.core.node.coordination.journal import PartitionJournal
from penstock.core.node.coordination.ports import CoordinatorHost
from penstock.core.node.coordination.state_keeper import FindHost, StateKeeper
from penstock.core.node.group_overrides import GroupOverrides, Value
from penstock.core.node.serving.slots import Answerable
from penstock.core.partition.partition import Partition
from penstock.core.records.codecs import Codec
from penstock.core.rsm.result import Result, Timers
from penstock.core.wire.api.list_groups import ListGroupsRequest, ListGroupsResponse

OFFSETS_TOPIC: Final = "__consumer_offsets"
TOLD_MS: Final = 60_000

GroupHost = Host[GroupShard]


class Groups:
    """The machines over `__consumer_offsets`."""

    topic = OFFSETS_TOPIC

    def __init__(self, node: CoordinatorHost, find_host: FindHost) -> None:
        self._node = node
        self._find_host = find_host
        self._told_ms: int | None = None
        self.counts = GroupCounts()
        self.memory = MemberMemory(node.settings["penstock.group.members.bytes.max"], self._tell)

    @property
    def count(self) -> int:
        topic = self._node.image.topic(OFFSETS_TOPIC)
        return self._node.settings["offsets.topic.num.partitions"] if topic is None else len(topic)

    def journal(self, partition: Partition) -> PartitionJournal:
        node = self._node
        codec = Codec(node.settings["offsets.topic.compression.codec"])
        return PartitionJournal(node, partition, codec, lambda: node.settings["offsets.commit.timeout.ms"])

    def make(self, partition: Partition, timers: Timers) -> GroupShard:
        node = self._node
        return GroupShard(
            group_settings(node),
            timers,
            node.topic_lookup,
            node.entropy,
            self.memory,
            self.counts,
            StateKeeper(node, partition.index, self._find_host),
        )

    def _tell(self) -> None:
        """Once a minute."""
        now_ms = self._node.now_ms
        if self._told_ms is None or now_ms - self._told_ms >= TOLD_MS:
            self._told_ms = now_ms
            what = f"members of groups keep {self.memory.taken_bytes} bytes here"
            self._node.log("warning", "coordinator", f"{what}: those that say much are told to come again")

    def index_of(self, key: str, count: int) -> int:
        return partition_for_group(key, count)


def group_settings(node: CoordinatorHost) -> GroupSettings:
    settings = node.settings
    return GroupSettings(
        session_timeout_ms_min=settings["group.min.session.timeout.ms"],
        session_timeout_ms_max=settings["group.max.session.timeout.ms"],
        initial_rebalance_delay_ms=settings["group.initial.rebalance.delay.ms"],
        group_members_max=settings["group.max.size"],
        offset_metadata_chars_max=settings["offset.metadata.max.bytes"],
        batch_bytes_max=settings["message.max.bytes"],
        offsets_retention_ms=settings["offsets.retention.minutes"] * 60_000,
        consumer_members_max=settings["group.consumer.max.size"],
        consumer_migration_policy=settings["group.consumer.migration.policy"].lower(),
        consumer_assignors=tuple(settings["group.consumer.assignors"]),
        share_members_max=settings["group.share.max.size"],
        share_initialize_retry_ms=settings["group.share.initialize.retry.interval.ms"],
        streams_session_timeout_ms=settings["group.streams.session.timeout.ms"],
        streams_heartbeat_interval_ms=settings["group.streams.heartbeat.interval.ms"],
        streams_members_max=settings["group.streams.max.size"],
        streams_initial_rebalance_delay_ms=settings["group.streams.initial.rebalance.delay.ms"],
        streams_standbys=settings["group.streams.num.standby.replicas"],
        streams_assignment_interval_ms=lambda: settings["group.streams.assignment.interval.ms"],
        consumer=GroupOverrides(node, partial(_of_members, "consumer")).of,
        share=GroupOverrides(node, partial(_of_members, "share")).of,
    )


def _of_members(group_type: str, value: Value) -> MemberSettings:
    return MemberSettings(
        session_timeout_ms=value(f"{group_type}.session.timeout.ms"),
        heartbeat_interval_ms=value(f"{group_type}.heartbeat.interval.ms"),
        assignment_interval_ms=value(f"{group_type}.assignment.interval.ms"),
    )


def list_groups(host: GroupHost, request: ListGroupsRequest, reply: Answerable) -> Steps[None]:
    """Gather the groups that are asked for, and answer once all that was seen is committed."""
    shard = host.machine
    found = ListGroupsResponse()
    for group_ids in shard.groups.slices():
        found.groups += shard.list_groups(request, group_ids)
        yield Pause()
    if host.driver is None or host.machine is not shard:
        host.answer(reply, ListGroupsResponse(error_code=ErrorCode.NOT_COORDINATOR))
    else:
        host.run(lambda _: Result(replies=[(reply, found)]))
