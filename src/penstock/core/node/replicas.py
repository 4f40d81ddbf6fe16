"""The partitions this node holds: kept equal to the image by acting on what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.core.base.ports import FileFailure, Steps
from penstock.core.base.settings import BrokerSettings, TopicSettings
from penstock.core.log.directory import LogDirectory
from penstock.core.metadata.fold import Delta
from penstock.core.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE, Image, TopicImage
from penstock.core.partition.partition import Partition

CREATED_PER_TURN_MAX = 128
"""Partitions that come into being before others get their turn: some milliseconds of work."""


class Replicas:
    """Local partitions by name and number; creates, configures and removes them."""

    def __init__(self, settings: BrokerSettings, directory: LogDirectory, node_id: int) -> None:
        self.settings = settings
        self._directory = directory
        self._node_id = node_id
        self._topics: dict[str, dict[int, Partition]] = {}
        # The same partitions by what stands in a request: the name's bytes, or the topic's id.
        self.by_name: dict[bytes, dict[int, Partition]] = {}
        self.by_id: dict[bytes, dict[int, Partition]] = {}
        # Those that ask to be flushed, so that ten thousand others need not be looked at ten times a second.
        self.flushed: dict[Partition, None] = {}
        self.on_added: Callable[[Partition], None] = lambda partition: None
        self.on_removed: Callable[[Partition], None] = lambda partition: None

    def get(self, topic: str, index: int) -> Partition | None:
        partitions = self._topics.get(topic)
        return None if partitions is None else partitions.get(index)

    def __iter__(self) -> Iterator[Partition]:
        for partitions in self._topics.values():
            yield from partitions.values()

    def topic_settings(self, image: Image, topic: str) -> TopicSettings:
        return TopicSettings(self.settings, image.config(TOPIC_RESOURCE, topic))

    def apply(self, image: Image, delta: Delta, now_ms: int) -> Steps[None]:
        """Act on the difference between two images."""
        for topic in delta.removed.values():
            yield from self._remove_topic(topic)
        for name in sorted(delta.topics):
            known = image.topic(name)
            if known is not None:
                yield from self._add_missing(image, known, now_ms)
        self._configure(image, delta)

    def adopt(self, image: Image, now_ms: int) -> Steps[None]:
        """At start: take the logs that were found, create what is missing, remove what no topic owns."""
        for log in list(self._directory.logs.values()):
            topic = image.topic(log.topic)
            if topic is not None and log.topic_id is None:
                yield from self._directory.adopt(log, topic.id)
            if topic is None or log.partition >= len(topic) or log.topic_id != topic.id:
                yield from self._directory.remove(log)
        for name in sorted(image.topics):
            known = image.topic(name)
            assert known is not None
            yield from self._add_missing(image, known, now_ms)

    def _add_missing(self, image: Image, topic: TopicImage, now_ms: int) -> Steps[None]:
        settings = self.topic_settings(image, topic.name)
        missing = [
            index
            for index in range(len(topic))
            if self._node_id in topic.replicas[index] and self.get(topic.name, index) is None
        ]
        for at in range(0, len(missing), CREATED_PER_TURN_MAX):
            some = missing[at : at + CREATED_PER_TURN_MAX]
            failure = yield from self._create(topic, some, settings, now_ms)
            for index in some:
                log = self._directory.logs.get((topic.name, index))
                # Another image may have come while the disk worked: the newer one decides.
                if log is not None and self.get(topic.name, index) is None:
                    self._add(Partition(topic.name, index, topic.id, log, topic.leader_epochs[index], settings))
            if failure is not None:
                raise failure

    def _create(
        self, topic: TopicImage, indexes: list[int], settings: TopicSettings, now_ms: int
    ) -> Steps[FileFailure | None]:
        """Create the logs that are not there; gives the first failure."""
        absent = [index for index in indexes if (topic.name, index) not in self._directory.logs]
        outcomes = yield from self._directory.create_all(topic.name, topic.id, absent, settings, now_ms)
        return next((outcome for outcome in outcomes if isinstance(outcome, FileFailure)), None)

    def settle_owners(self) -> Steps[None]:
        yield from self._directory.settle_owners()

    def checkpoint_ends(self) -> Steps[None]:
        yield from self._directory.checkpoint_ends(self._high_watermarks())

    def checkpoint_starts(self) -> Steps[None]:
        yield from self._directory.checkpoint_starts()

    def close(self, broker_epoch: int) -> Steps[None]:
        yield from self._directory.close(self._high_watermarks(), broker_epoch)

    def _high_watermarks(self) -> dict[tuple[str, int], int]:
        return {(partition.topic, partition.index): partition.high_watermark for partition in self}

    def _add(self, partition: Partition) -> None:
        partitions = self._topics.setdefault(partition.topic, {})
        partitions[partition.index] = partition
        self.by_name[partition.topic.encode()] = self.by_id[partition.topic_id] = partitions
        self._note_flushing(partition)
        self.on_added(partition)

    def _note_flushing(self, partition: Partition) -> None:
        if partition.is_flushed:
            self.flushed[partition] = None
        else:
            self.flushed.pop(partition, None)

    def _remove_topic(self, topic: TopicImage) -> Steps[None]:
        """Forget first, delete then: nobody reaches a partition whose files are going."""
        partitions = self._topics.get(topic.name, {})
        if any(partition.topic_id != topic.id for partition in partitions.values()):
            return
        self._topics.pop(topic.name, None)
        self.by_name.pop(topic.name.encode(), None)
        self.by_id.pop(topic.id, None)
        for partition in partitions.values():
            partition.remove()
            self.flushed.pop(partition, None)
            self.on_removed(partition)
        for partition in partitions.values():
            yield from self._directory.remove(partition.log)

    def _configure(self, image: Image, delta: Delta) -> None:
        for key in delta.configs:
            kind, _, name = key.partition("/")
            if int(kind) == TOPIC_RESOURCE:
                self._configure_topic(image, name)
            elif int(kind) == BROKER_RESOURCE:
                self._configure_all(image)

    def _configure_topic(self, image: Image, name: str) -> None:
        settings = self.topic_settings(image, name)
        for partition in self._topics.get(name, {}).values():
            partition.configure(settings)
            self._note_flushing(partition)

    def _configure_all(self, image: Image) -> None:
        for name in self._topics:
            self._configure_topic(image, name)
