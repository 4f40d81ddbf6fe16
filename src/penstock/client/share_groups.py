"""Share groups from outside: how far they are, which share coordinators keep, and setting that while nobody reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from penstock.client.blocking import Client
from penstock.client.errors import check
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import by_topic
from penstock.core.wire.api import alter_share_group_offsets as altering
from penstock.core.wire.api import delete_share_group_offsets as deleting
from penstock.core.wire.api import describe_share_group_offsets as describing

NOTHING: Final = -1


class Standing(NamedTuple):
    """Where a group begins in a partition, as everything before it is done; and how many records it has yet to do.
    None: nobody has begun there, or nobody can tell."""

    start: int | None
    lag: int | None


class ShareGroups:
    """Requests about share groups; each goes to the group's coordinator."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def standings(self, name: str) -> dict[TopicPartition, Standing]:
        """Of every partition that is set up for a group."""

        def attempt() -> dict[TopicPartition, Standing]:
            asked = describing.DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None)
            request = describing.DescribeShareGroupOffsetsRequest(groups=[asked])
            answer = self._client.ask(
                request, describing.DescribeShareGroupOffsetsResponse, node=self._client.coordinator(name)
            )
            (group,) = answer.groups
            check(group.error_code, f"the offsets of group {name}", group.error_message)
            return {
                TopicPartition(topic.topic_name, each.partition_index): Standing(
                    _known(each.start_offset), _known(each.lag)
                )
                for topic in group.topics
                for each in topic.partitions
            }

        return self._client.retry(attempt)

    def starts(self, name: str) -> dict[TopicPartition, int]:
        """Where it begins, of the partitions in which somebody has begun."""
        return {where: each.start for where, each in self.standings(name).items() if each.start is not None}

    def alter(self, name: str, starts: Mapping[TopicPartition, int]) -> None:
        """Let a group that has no members begin elsewhere."""
        topics = [
            altering.AlterShareGroupOffsetsRequestTopic(
                topic_name=topic,
                partitions=[
                    altering.AlterShareGroupOffsetsRequestPartition(
                        partition_index=number, start_offset=starts[TopicPartition(topic, number)]
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in by_topic(starts).items()
        ]
        request = altering.AlterShareGroupOffsetsRequest(group_id=name, topics=topics)

        def attempt() -> None:
            answer = self._client.ask(
                request, altering.AlterShareGroupOffsetsResponse, node=self._client.coordinator(name)
            )
            check(answer.error_code, f"group {name}", answer.error_message)
            for topic in answer.responses:
                for partition in topic.partitions:
                    check(partition.error_code, f"group {name} at {topic.topic_name}-{partition.partition_index}")

        self._client.retry(attempt)

    def delete_offsets(self, name: str, topics: Iterable[str]) -> None:
        """Forget how far a group that has no members is in some topics."""
        asked = [deleting.DeleteShareGroupOffsetsRequestTopic(topic_name=topic) for topic in topics]
        request = deleting.DeleteShareGroupOffsetsRequest(group_id=name, topics=asked)

        def attempt() -> None:
            answer = self._client.ask(
                request, deleting.DeleteShareGroupOffsetsResponse, node=self._client.coordinator(name)
            )
            check(answer.error_code, f"group {name}", answer.error_message)
            for topic in answer.responses:
                check(topic.error_code, f"group {name} at {topic.topic_name}", topic.error_message)

        self._client.retry(attempt)


def _known(value: int) -> int | None:
    return None if value == NOTHING else value
