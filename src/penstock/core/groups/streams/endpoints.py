"""Where the state of an application can be asked for: where members say they are, and what they have."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.groups.streams.member import StreamsMember
from penstock.core.groups.streams.tasks import Tasks
from penstock.core.groups.streams.topology import Topology
from penstock.core.groups.topics import TopicLookup
from penstock.core.wire.api.streams_group_heartbeat import EndpointToPartitions, ResponseEndpoint, TopicPartition


def endpoints(lookup: TopicLookup, topology: Topology, members: Iterable[StreamsMember]) -> list[EndpointToPartitions]:
    read = {part.name: part.read for part in topology.subtopologies}
    return [
        EndpointToPartitions(
            user_endpoint=ResponseEndpoint(host=each.endpoint[0], port=each.endpoint[1]),
            active_partitions=_partitions(lookup, read, each.assigned.active),
            standby_partitions=_partitions(lookup, read, each.assigned.standby),
        )
        for each in members
        if each.endpoint is not None
    ]


def _partitions(lookup: TopicLookup, read: dict[str, tuple[str, ...]], tasks: Tasks) -> list[TopicPartition]:
    """A topic with fewer partitions than its subtopology has tasks is none of the last ones' affair."""
    found = []
    for name, numbers in tasks.items():
        for topic in read.get(name, ()):
            count = lookup.partition_count(topic) or 0
            if partitions := sorted(each for each in numbers if each < count):
                found.append(TopicPartition(topic=topic, partitions=partitions))
    return found
