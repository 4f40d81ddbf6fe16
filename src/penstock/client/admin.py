"""Managing a cluster: topics, settings, records, and what the brokers say about themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, repeat
from typing import Final, NamedTuple, TypeVar

from penstock import __version__
from penstock.client.blocking import SOON_SECONDS, Client
from penstock.client.errors import ClientError, check
from penstock.client.metadata import BrokerView, TopicPartition
from penstock.client.offsets import by_leader, by_topic
from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from penstock.core.wire.api.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from penstock.core.wire.api.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from penstock.core.wire.api.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from penstock.core.wire.api.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from penstock.core.wire.api.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from penstock.core.wire.api.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from penstock.core.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

T = TypeVar("T")

TOPIC: Final = 2
BROKER: Final = 4
SET: Final = 0
DELETE: Final = 1
DEFAULT: Final = -1
# DeleteRecords takes this for "up to the high watermark".
END: Final = -1
RESOURCES_PER_REQUEST_MAX: Final = 500
FULL_RATIO: Final = "penstock.disk.full.ratio"

DEFAULT_SOURCE: Final = 5
_SOURCES: Final = {
    1: "topic",
    2: "broker",
    3: "all brokers",
    4: "file",
    5: "default",
    6: "broker logger",
    7: "client metrics",
    8: "group",
}


class Setting(NamedTuple):
    """One setting as a broker describes it; `source` says where the value comes from."""

    name: str
    value: str | None
    source: str
    is_default: bool
    is_read_only: bool
    is_sensitive: bool


class CreatedTopic(NamedTuple):
    name: str
    partitions: int
    replication_factor: int


class Cluster(NamedTuple):
    cluster_id: str
    controller: int
    brokers: tuple[BrokerView, ...]


class LogDir(NamedTuple):
    """A data folder of a broker, with the bytes of each partition in it."""

    broker: int
    path: str
    total_bytes: int
    usable_bytes: int
    sizes: Mapping[TopicPartition, int]


class Admin:
    """Requests that change or describe the cluster, each tried again while that can help."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._timeout_ms = int(client.timeout * 1000)

    # Topics

    def create_topic(
        self,
        name: str,
        partitions: int = DEFAULT,
        replication_factor: int = DEFAULT,
        configs: Mapping[str, str] | None = None,
        *,
        validate_only: bool = False,
    ) -> CreatedTopic:
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replication_factor,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=self._timeout_ms, validate_only=validate_only)

        def attempt(is_first: bool) -> CreatedTopic:
            (made,) = self._client.ask(request, CreateTopicsResponse, node=self._client.controller()).topics
            if made.error_code == ErrorCode.TOPIC_ALREADY_EXISTS and not is_first:
                # It came true what an attempt before this one was told had failed.
                there = self._client.topic(name, fresh=True).partitions
                return CreatedTopic(name, len(there), len(there[0].replicas))
            check(made.error_code, f"topic {name}", made.error_message)
            return CreatedTopic(made.name, made.num_partitions, made.replication_factor)

        return self._client.retry(_knowing_the_first(attempt))

    def delete_topic(self, name: str) -> None:
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name)], topic_names=[name], timeout_ms=self._timeout_ms
        )

        def attempt(is_first: bool) -> None:
            (gone,) = self._client.ask(request, DeleteTopicsResponse, node=self._client.controller()).responses
            if gone.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or is_first:
                check(gone.error_code, f"topic {name}", gone.error_message)

        self._client.retry(_knowing_the_first(attempt))
        self._client.forget(name)

    def add_partitions(self, name: str, count: int, *, validate_only: bool = False) -> None:
        """Grow a topic to `count` partitions."""
        topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
        request = CreatePartitionsRequest(topics=[topic], timeout_ms=self._timeout_ms, validate_only=validate_only)

        def attempt() -> None:
            (grown,) = self._client.ask(request, CreatePartitionsResponse, node=self._client.controller()).results
            check(grown.error_code, f"topic {name}", grown.error_message)

        self._client.retry(attempt)
        self._client.forget(name)

    def delete_records(self, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Delete what lies before an offset of each partition (END: everything); gives the new first offsets."""
        left = dict(before)
        done: dict[TopicPartition, int] = {}

        def attempt() -> None:
            for leader, places in by_leader(self._client, list(left)).items():
                self._delete_records_at(leader, {where: left[where] for where in places}, done)
                for where in done:
                    left.pop(where, None)

        self._client.retry(attempt)
        return done

    def _delete_records_at(
        self, leader: int, before: Mapping[TopicPartition, int], done: dict[TopicPartition, int]
    ) -> None:
        topics = [
            DeleteRecordsTopic(
                name=topic,
                partitions=[
                    DeleteRecordsPartition(partition_index=number, offset=before[TopicPartition(topic, number)])
                    for number in numbers
                ],
            )
            for topic, numbers in by_topic(before).items()
        ]
        request = DeleteRecordsRequest(topics=topics, timeout_ms=self._timeout_ms)
        for result in self._client.ask(request, DeleteRecordsResponse, node=leader).topics:
            for partition in result.partitions:
                where = TopicPartition(result.name, partition.partition_index)
                check(partition.error_code, f"deleting records of {where}")
                done[where] = partition.low_watermark

    # Settings

    def describe_configs(self, kind: int, name: str, keys: Sequence[str] | None = None) -> list[Setting]:
        """The settings of a topic (TOPIC) or a broker (BROKER, by id; the empty name is the default of all)."""
        resource = DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=None if keys is None else list(keys)
        )
        request = DescribeConfigsRequest(resources=[resource])

        def attempt() -> list[Setting]:
            node = int(name) if kind == BROKER and name else None
            (result,) = self._client.ask(request, DescribeConfigsResponse, node=node).results
            check(result.error_code, _named(kind, name), result.error_message)
            return sorted(map(_setting, result.configs))

        return self._client.retry(attempt)

    def topic_setting(self, topics: Sequence[str], key: str) -> dict[str, str | None]:
        """One setting of many topics; those that are gone meanwhile are left out."""
        found: dict[str, str | None] = {}
        for first in range(0, len(topics), RESOURCES_PER_REQUEST_MAX):
            resources = [
                DescribeConfigsResource(resource_type=TOPIC, resource_name=name, configuration_keys=[key])
                for name in topics[first : first + RESOURCES_PER_REQUEST_MAX]
            ]
            found |= self._client.retry(partial(self._settings_of, DescribeConfigsRequest(resources=resources)))
        return found

    def settings_of(self, topics: Sequence[str]) -> dict[str, list[Setting]]:
        """All settings of many topics; those that are gone meanwhile are left out."""
        found: dict[str, list[Setting]] = {}
        for first in range(0, len(topics), RESOURCES_PER_REQUEST_MAX):
            resources = [
                DescribeConfigsResource(resource_type=TOPIC, resource_name=name, configuration_keys=None)
                for name in topics[first : first + RESOURCES_PER_REQUEST_MAX]
            ]
            found |= self._client.retry(partial(self._all_settings_of, DescribeConfigsRequest(resources=resources)))
        return found

    def own_settings(self, topics: Sequence[str]) -> dict[str, dict[str, str | None]]:
        """What was set for each topic itself."""
        return {
            name: {each.name: each.value for each in settings if each.source == "topic"}
            for name, settings in self.settings_of(topics).items()
        }

    def _all_settings_of(self, request: DescribeConfigsRequest) -> dict[str, list[Setting]]:
        found = {}
        for result in self._client.ask(request, DescribeConfigsResponse).results:
            if result.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                check(result.error_code, f"topic {result.resource_name}", result.error_message)
                found[result.resource_name] = sorted(map(_setting, result.configs))
        return found

    def _settings_of(self, request: DescribeConfigsRequest) -> dict[str, str | None]:
        results = self._client.ask(request, DescribeConfigsResponse).results
        return {result.resource_name: one.value for result in results for one in result.configs}

    def alter_configs(
        self,
        kind: int,
        name: str,
        to_set: Mapping[str, str],
        to_delete: Iterable[str] = (),
        *,
        validate_only: bool = False,
    ) -> None:
        """Set some settings and let others fall back to their defaults; all or none."""
        changes = [AlterableConfig(name=key, config_operation=SET, value=value) for key, value in to_set.items()]
        changes += [AlterableConfig(name=key, config_operation=DELETE, value=None) for key in to_delete]
        resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=changes)
        request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)

        def attempt() -> None:
            node = int(name) if kind == BROKER and name else self._client.controller()
            (result,) = self._client.ask(request, IncrementalAlterConfigsResponse, node=node).responses
            check(result.error_code, _named(kind, name), result.error_message)

        self._client.retry(attempt)

    # The cluster

    def cluster(self) -> Cluster:
        def attempt() -> Cluster:
            answer = self._client.ask(DescribeClusterRequest(), DescribeClusterResponse)
            check(answer.error_code, "the cluster", answer.error_message)
            brokers = tuple(sorted(BrokerView(one.broker_id, one.host, one.port, one.rack) for one in answer.brokers))
            return Cluster(answer.cluster_id, answer.controller_id, brokers)

        return self._client.retry(attempt)

    def features(self) -> dict[str, int]:
        """The finalized features and their levels."""
        request = ApiVersionsRequest(client_software_name="penstock", client_software_version=__version__)
        answer = self._client.retry(lambda: self._client.ask(request, ApiVersionsResponse))
        return {one.name: one.max_version_level for one in answer.finalized_features}

    def api_versions(self, node: int | None = None) -> dict[int, range]:
        """The versions of each API that a broker speaks."""
        return self._client.retry(lambda: dict(self._client.link(node).versions.all()))

    def log_dirs(self) -> list[LogDir]:
        """The data folders of every broker."""
        found = []
        for broker in self.cluster().brokers:
            if broker.node_id not in self._client.cluster.brokers:
                self._client.refresh(())
            found += self._client.retry(partial(self._log_dirs_of, broker.node_id))
        return found

    def known_log_dirs(self) -> list[LogDir]:
        """The same of those brokers that answer soon."""
        found = []
        for broker in self.cluster().brokers:
            try:
                with self._client.within(SOON_SECONDS):
                    found += self._client.retry(partial(self._log_dirs_of, broker.node_id))
            except ClientError as failure:
                if not failure.is_absence:
                    raise
        return found

    def full_brokers(self, nodes: Iterable[int]) -> list[int]:
        """Those of some brokers that refuse producers for want of room; who does not answer is left out."""
        return [node for node in nodes if self._is_full(node)]

    def _is_full(self, node: int) -> bool:
        try:
            with self._client.within(SOON_SECONDS):
                limits = self.describe_configs(BROKER, str(node), [FULL_RATIO])
                folders = self._client.retry(partial(self._log_dirs_of, node, is_brief=True))
        except ClientError as failure:
            if not failure.is_absence:
                raise
            return False
        shares = [1 - each.usable_bytes / each.total_bytes for each in folders if each.total_bytes > 0]
        return any(share >= float(limit.value or 1) for limit in limits for share in shares)

    def _log_dirs_of(self, node: int, *, is_brief: bool = False) -> list[LogDir]:
        request = DescribeLogDirsRequest(topics=[] if is_brief else None)
        answer = self._client.ask(request, DescribeLogDirsResponse, node=node)
        check(answer.error_code, f"the data folders of broker {node}")
        dirs = []
        for result in answer.results:
            check(result.error_code, f"the data folder {result.log_dir} of broker {node}")
            sizes = {
                TopicPartition(topic.name, partition.partition_index): partition.partition_size
                for topic in result.topics
                for partition in topic.partitions
            }
            dirs.append(LogDir(node, result.log_dir, result.total_bytes, result.usable_bytes, sizes))
        return dirs


def _setting(told: DescribeConfigsResourceResult) -> Setting:
    source = _SOURCES.get(told.config_source, "unknown")
    is_default = told.config_source == DEFAULT_SOURCE
    return Setting(told.name, told.value, source, is_default, told.read_only, told.is_sensitive)


def _named(kind: int, name: str) -> str:
    if kind == TOPIC:
        return f"topic {name}"
    return f"broker {name}" if name else "the default of all brokers"


def _knowing_the_first(attempt: Callable[[bool], T]) -> Callable[[], T]:
    """An attempt that fails may come true all the same: the next one has to know that there was one."""
    firsts = chain((True,), repeat(False))
    return lambda: attempt(next(firsts))
