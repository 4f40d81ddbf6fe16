"""Topics and groups: create, describe, change, delete. Each call waits for its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

from penstock.api.config import client_config
from penstock.api.errors import TopicExists, checked_config, explained

ANSWER_S_MAX: Final = 30.0
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """Who has a partition: broker ids."""

    index: int
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic, its partitions, and its settings as they act."""

    name: str
    id: str
    is_internal: bool
    partitions: tuple[PartitionInfo, ...]
    config: Mapping[str, str | None]

    @property
    def replication_factor(self) -> int:
        return len(self.partitions[0].replicas) if self.partitions else 0


class Admin:
    """Administers a cluster. Threads may share one."""

    def __init__(self, bootstrap: str, *, config: Mapping[str, Any] | None = None) -> None:
        with checked_config():
            self._client = AdminClient(client_config(bootstrap, {}, config, {}))

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        config: Mapping[str, object] | None = None,
        exist_ok: bool = False,
    ) -> None:
        """Create a topic; what is not said is as the broker's settings say. Raises TopicExists unless `exist_ok`."""
        settings = {key: _text(value) for key, value in (config or {}).items()}
        topic = NewTopic(name, partitions, replication_factor, config=settings)
        try:
            self._one(f"creating {name}", self._client.create_topics([topic], request_timeout=ANSWER_S_MAX))
        except TopicExists:
            if not exist_ok:
                raise

    def delete_topic(self, name: str) -> None:
        self._one(f"deleting {name}", self._client.delete_topics([name], request_timeout=ANSWER_S_MAX))

    def describe_topic(self, name: str) -> TopicInfo:
        """Raises TopicUnknown where there is none."""
        described = self._client.describe_topics(TopicCollection([name]), request_timeout=ANSWER_S_MAX)
        found: Any = self._one(f"describing {name}", described)
        config = self.topic_config(name)
        parts = (
            PartitionInfo(each.id, getattr(each.leader, "id", None), _ids(each.replicas), _ids(each.isr))
            for each in found.partitions
        )
        return TopicInfo(found.name, str(found.topic_id), bool(found.is_internal), tuple(parts), config)

    def list_topics(self, *, internal: bool = False) -> list[str]:
        with explained("listing topics"):
            found = self._client.list_topics(timeout=ANSWER_S_MAX)
        return sorted(name for name in found.topics if internal or not name.startswith("__"))

    def add_partitions(self, name: str, total: int) -> None:
        """Let the topic have so many partitions; never fewer than before. Keys may move to other partitions."""
        grown = self._client.create_partitions([NewPartitions(name, total)], request_timeout=ANSWER_S_MAX)
        self._one(f"adding partitions to {name}", grown)

    def topic_config(self, name: str) -> dict[str, str | None]:
        """All settings of a topic as they act, those of the broker included."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, name)
        found: Any = self._one(
            f"describing {name}", self._client.describe_configs([resource], request_timeout=ANSWER_S_MAX)
        )
        return {key: entry.value for key, entry in sorted(found.items())}

    def set_topic_config(self, name: str, config: Mapping[str, object | None]) -> None:
        """Change settings of a topic; None takes one back to what the broker says."""
        from confluent_kafka.admin import AlterConfigOpType, ConfigEntry

        entries = [
            ConfigEntry(
                key,
                None if value is None else _text(value),
                incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
            )
            for key, value in config.items()
        ]
        resource = ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=entries)
        altered = self._client.incremental_alter_configs([resource], request_timeout=ANSWER_S_MAX)
        self._one(f"changing {name}", altered)

    def list_groups(self) -> list[str]:
        with explained("listing groups"):
            found = self._client.list_consumer_groups(request_timeout=ANSWER_S_MAX).result(ANSWER_S_MAX)
        return sorted(each.group_id for each in found.valid)

    def delete_group(self, group: str) -> None:
        """Delete a group that has no members, with its offsets."""
        self._one(f"deleting {group}", self._client.delete_consumer_groups([group], request_timeout=ANSWER_S_MAX))

    def close(self) -> None:
        """The client ends with the last reference to it; nothing is left to say."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _one(self, doing: str, futures: Mapping[Any, Future[T]]) -> T:
        (future,) = futures.values()
        with explained(doing):
            return future.result(2 * ANSWER_S_MAX)


def _ids(nodes: Sequence[Any]) -> tuple[int, ...]:
    return tuple(node.id for node in nodes)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
