"""Moving replicas and leaders, and the throttles under which replicas move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from penstock.client.admin import BROKER, DELETE, SET, TOPIC, Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError, Unreachable, check
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import by_topic
from penstock.core.base.errors import ErrorCode
from penstock.core.base.throttles import LISTS, RATES
from penstock.core.wire.api.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from penstock.core.wire.api.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions
from penstock.core.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from penstock.core.wire.api.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)

CORDONED: Final = "cordoned.log.dirs"
CANNOT_CORDON: Final = frozenset({ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST, ErrorCode.BROKER_NOT_AVAILABLE})
PREFERRED: Final = 0
APPEND: Final = 2
SUBTRACT: Final = 3

Targets = Mapping[TopicPartition, Sequence[int]]


class Moving(NamedTuple):
    """A partition whose replicas are changing: old and new ones together, and which of them come and go."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class Copies(NamedTuple):
    """The copies of a partition that are made: who has it, and who gets it."""

    sources: tuple[int, ...]
    coming: tuple[int, ...]


class Mover:
    """Requests about replicas that move. Each goes to the controller, by way of any broker."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._timeout_ms = int(client.timeout * 1000)

    def move(self, targets: Targets) -> None:
        """Begin to move partitions. All of those that can be moved are; the first that cannot is an error."""
        self._alter({where: list(replicas) for where, replicas in targets.items()})

    def cancel(self, places: Iterable[TopicPartition]) -> None:
        """Go back to the replicas from before. What has arrived meanwhile stays."""
        self._alter(dict.fromkeys(places, None))

    def _alter(self, wanted: Mapping[TopicPartition, list[int] | None]) -> None:
        topics = [
            ReassignableTopic(
                name=topic,
                partitions=[
                    ReassignablePartition(partition_index=number, replicas=wanted[TopicPartition(topic, number)])
                    for number in numbers
                ],
            )
            for topic, numbers in by_topic(wanted).items()
        ]
        request = AlterPartitionReassignmentsRequest(topics=topics, timeout_ms=self._timeout_ms)

        def attempt() -> None:
            answer = self._client.ask(request, AlterPartitionReassignmentsResponse)
            check(answer.error_code, "the reassignment", answer.error_message)
            for topic in answer.responses:
                for partition in topic.partitions:
                    where = TopicPartition(topic.name, partition.partition_index)
                    if partition.error_code != ErrorCode.NO_REASSIGNMENT_IN_PROGRESS:
                        check(partition.error_code, f"partition {where}", partition.error_message)

        self._client.retry(attempt)

    def under_way(self, places: Collection[TopicPartition] | None = None) -> dict[TopicPartition, Moving]:
        """What is moving, of these partitions or of all."""
        topics = None
        if places is not None:
            topics = [
                ListPartitionReassignmentsTopics(name=name, partition_indexes=numbers)
                for name, numbers in by_topic(places).items()
            ]
        request = ListPartitionReassignmentsRequest(topics=topics, timeout_ms=self._timeout_ms)

        def attempt() -> dict[TopicPartition, Moving]:
            answer = self._client.ask(request, ListPartitionReassignmentsResponse)
            if answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                return {}
            check(answer.error_code, "the reassignments", answer.error_message)
            return {
                TopicPartition(topic.name, each.partition_index): Moving(
                    tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
                )
                for topic in answer.topics
                for each in topic.partitions
            }

        return self._client.retry(attempt)

    def lead_where_preferred(self, places: Collection[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        """Give leadership to the first replicas; tells why some could not have it."""
        if not places:
            return {}
        topics = [TopicPartitions(topic=name, partitions=numbers) for name, numbers in by_topic(places).items()]
        request = ElectLeadersRequest(election_type=PREFERRED, topic_partitions=topics, timeout_ms=self._timeout_ms)

        def attempt() -> dict[TopicPartition, ErrorCode]:
            answer = self._client.ask(request, ElectLeadersResponse)
            check(answer.error_code, "the election")
            fine = (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
            return {
                TopicPartition(topic.topic, each.partition_id): ErrorCode(each.error_code)
                for topic in answer.replica_election_results
                for each in topic.partition_result
                if each.error_code not in fine
            }

        return self._client.retry(attempt)

    # Throttles, as Kafka's tools set them: a rate for each broker, and the copies it is meant for on the topics

    def throttle(self, rate_bytes: int, copies: Mapping[TopicPartition, Copies]) -> None:
        """Let copies be sent and fetched at no more than this rate by each broker."""
        self.set_rate(rate_bytes, {broker for each in copies.values() for broker in (*each.sources, *each.coming)})
        self._list(copies)

    def set_rate(self, rate_bytes: int, brokers: Collection[int]) -> None:
        changes = [AlterableConfig(name=name, config_operation=SET, value=str(rate_bytes)) for name in RATES]
        self._configure_brokers(brokers, changes)

    def unthrottle(self, copies: Mapping[TopicPartition, Copies], brokers: Collection[int]) -> None:
        """Take the throttles of copies that have arrived away again."""
        self._unlist(copies)
        changes = [AlterableConfig(name=name, config_operation=DELETE, value=None) for name in RATES]
        self._configure_brokers(brokers, changes)

    def _configure_brokers(self, brokers: Collection[int], changes: list[AlterableConfig]) -> None:
        """Kafka's brokers take no settings of others. One that is down sends and fetches nothing."""
        for broker in sorted(brokers):
            with suppress(Unreachable):
                self._configure([_resource(BROKER, str(broker), changes)], broker)

    def _list(self, copies: Mapping[TopicPartition, Copies]) -> None:
        """Add copies to the lists of their topics."""
        changes: defaultdict[str, list[AlterableConfig]] = defaultdict(list)
        for key, entries in _entries(copies).items():
            for topic, found in entries.items():
                changes[topic].append(AlterableConfig(name=key, config_operation=APPEND, value=",".join(found)))
        self._configure([_resource(TOPIC, topic, found) for topic, found in sorted(changes.items())])

    def _unlist(self, copies: Mapping[TopicPartition, Copies]) -> None:
        """Take copies off the lists; one that has none left would stay as a setting that says nothing, and goes."""
        changes: defaultdict[str, list[AlterableConfig]] = defaultdict(list)
        for key, entries in _entries(copies).items():
            listed = Admin(self._client).topic_setting(sorted(entries), key)
            for topic, value in listed.items():
                left = {entry.strip() for entry in (value or "").split(",")} - {"", *entries[topic]}
                change = AlterableConfig(name=key, config_operation=DELETE, value=None)
                if left:
                    text = ",".join(entries[topic])
                    change = AlterableConfig(name=key, config_operation=SUBTRACT, value=text)
                changes[topic].append(change)
        self._configure([_resource(TOPIC, topic, found) for topic, found in sorted(changes.items())])

    def _configure(self, resources: list[AlterConfigsResource], node: int | None = None) -> None:
        """What is gone meanwhile needs no settings."""
        if not resources:
            return
        request = IncrementalAlterConfigsRequest(resources=resources)

        def attempt() -> None:
            for result in self._client.ask(request, IncrementalAlterConfigsResponse, node=node).responses:
                if result.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    check(result.error_code, f"the settings of {result.resource_name}", result.error_message)

        self._client.retry(attempt)

    def cordon(self, node_id: int) -> bool:
        """Let a broker take no new replicas; False where it cannot do that. One that is down takes nothing anyway."""
        change = AlterableConfig(name=CORDONED, config_operation=SET, value="*")
        try:
            self._configure([_resource(BROKER, str(node_id), [change])], node_id)
        except ClientError as failure:
            if isinstance(failure, Unreachable) or failure.code in CANNOT_CORDON:
                return False
            raise
        return True

    def forget_cordon(self, node_id: int) -> None:
        """For a broker that has stopped for good, so that another one may have its number. Kafka's brokers would have
        to be asked while they run."""
        change = AlterableConfig(name=CORDONED, config_operation=DELETE, value=None)
        with suppress(ClientError):
            self._configure([_resource(BROKER, str(node_id), [change])])


def _resource(kind: int, name: str, changes: list[AlterableConfig]) -> AlterConfigsResource:
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=changes)


def _entries(copies: Mapping[TopicPartition, Copies]) -> dict[str, dict[str, list[str]]]:
    """What the two lists of each topic say of copies: who sends them, and who fetches them."""
    sending: defaultdict[str, list[str]] = defaultdict(list)
    fetching: defaultdict[str, list[str]] = defaultdict(list)
    for where, (sources, coming) in copies.items():
        if coming:
            sending[where.topic] += [f"{where.partition}:{broker}" for broker in sources]
            fetching[where.topic] += [f"{where.partition}:{broker}" for broker in coming]
    return dict(zip(LISTS, (sending, fetching), strict=True))
