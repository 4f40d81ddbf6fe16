"""The partitions this node holds: kept equal to the image by acting on what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import FileFailure, Pause, Steps
from penstock.core.base.settings import BrokerSettings, TopicSettings
from penstock.core.log.directory import LogDirectory
from penstock.core.log.log import Log
from penstock.core.metadata.fold import Delta
from penstock.core.metadata.image import BROKER_RESOURCE, RECOVERING, TOPIC_RESOURCE, Image, TopicImage
from penstock.core.node.replication import Replication
from penstock.core.partition.follower import Follower
from penstock.core.partition.in_sync import Assignment
from penstock.core.partition.partition import Partition
from penstock.core.partition.roles import Replica, role_of

CREATED_PER_TURN_MAX = 128
"""Partitions that come into being before others get their turn: some milliseconds of work."""


class Replicas:
    """Local partitions by name and number; creates, configures and removes them, and gives them their roles."""

    def __init__(self, settings: BrokerSettings, directory: LogDirectory, replication: Replication) -> None:
        self.settings = settings
        self._directory = directory
        self._replication = replication
        self._node_id = replication.around.node_id
        # Whether an image has been acted upon that knows this process; until then no replica has a role.
        self._is_known = False
        # With which epoch of its partition a replica was last brought in line: most of a large topic needs no look.
        self._acted_on: dict[Partition, int] = {}
        self._topics: dict[str, dict[int, Partition]] = {}
        # The same partitions by what stands in a request: the name's bytes, or the topic's id.
        self.by_name: dict[bytes, dict[int, Partition]] = {}
        self.by_id: dict[bytes, dict[int, Partition]] = {}
        # Those that ask to be flushed, so that ten thousand others need not be looked at ten times a second.
        self.flushed: dict[Partition, None] = {}
        self.on_added: Callable[[Partition], None] = lambda partition: None
        self.on_removed: Callable[[Partition], None] = lambda partition: None
        self.on_flushed: Callable[[], None] = lambda: None

    def get(self, topic: str, index: int) -> Partition | None:
        partitions = self._topics.get(topic)
        return None if partitions is None else partitions.get(index)

    def refusal(self, image: Image, topic: str, index: int) -> ErrorCode:
        """What to say of a partition that is not here: it may be elsewhere, or about to come."""
        known = image.topic(topic)
        is_known = known is not None and 0 <= index < len(known)
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def __iter__(self) -> Iterator[Partition]:
        for partitions in self._topics.values():
            yield from partitions.values()

    def topic_settings(self, image: Image, topic: str) -> TopicSettings:
        return TopicSettings(self.settings, image.config(TOPIC_RESOURCE, topic))

    def apply(self, image: Image, delta: Delta, now_ms: int) -> Steps[None]:
        """Act on the difference between two images."""
        self._replication.image_changed(bool(delta.brokers))
        for topic in delta.removed.values():
            self._remove_topic(topic)
        self._configure(image, delta)
        if not self._is_known:
            yield from self._begin(image, now_ms)
            return
        for name in sorted(delta.topics):
            known = image.topic(name)
            if known is not None:
                yield from self._act_on(image, known, now_ms)

    def adopt(self, image: Image, now_ms: int) -> Steps[None]:
        """At start: take the logs that were found, create what is missing, remove what no topic owns; all of that only
        once the image is sure to have everything from before this process."""
        self._replication.image_changed(False)
        yield from self._begin(image, now_ms)

    def _begin(self, image: Image, now_ms: int) -> Steps[None]:
        """Give every replica its role, if the image knows this process."""
        if not self._replication.is_known():
            return
        self._is_known = True
        yield from self._sort_out(image)
        for name in sorted(image.topics):
            known = image.topic(name)
            assert known is not None
            yield from self._act_on(image, known, now_ms)

    def _sort_out(self, image: Image) -> Steps[None]:
        """Find an owner for each log, and remove those that have none."""
        for log in list(self._directory.logs.values()):
            topic = image.topic(log.topic)
            if topic is not None and log.topic_id is None:
                yield from self._directory.adopt(log, topic.id)
            if topic is None or log.topic_id != topic.id or not self._is_placed_here(topic, log.partition):
                self._directory.discard(log)

    def _is_placed_here(self, topic: TopicImage, index: int) -> bool:
        return index < len(topic) and self._node_id in topic.replicas[index]

    def _act_on(self, image: Image, topic: TopicImage, now_ms: int) -> Steps[None]:
        if len(image.brokers) > 1:
            # Where there is nobody else, nothing ever changes in a partition that is here.
            yield from self._change_roles(topic)
        yield from self._add_missing(image, topic, now_ms)

    def _change_roles(self, topic: TopicImage) -> Steps[None]:
        """Bring the replicas that are here in line with the image; those that belong elsewhere now go."""
        epochs, acted_on, count = topic.partition_epochs, self._acted_on, 0
        for index, current in list(self._topics.get(topic.name, {}).items()):
            if epochs[index] == acted_on.get(current):
                continue
            count += 1
            if count % CREATED_PER_TURN_MAX == 0:
                yield Pause()
            if not self._is_placed_here(topic, index):
                self._remove(current)
                continue
            while isinstance(current, Follower) and current.is_cutting:
                yield Pause()
            epoch = current.leader_epoch
            role = self._role(topic, index, current.log, current.settings, current)
            if role is not current:
                self._forget(current, ErrorCode.NOT_LEADER_OR_FOLLOWER)
                self._add(role)
            elif role.leader_epoch != epoch:
                self._replication.began(role)
            acted_on[role] = epochs[index]

    def _role(
        self, topic: TopicImage, index: int, log: Log, settings: TopicSettings, current: Partition | None
    ) -> Partition:
        known = topic.partition(index)
        assignment = Assignment(
            known.leader,
            known.leader_epoch,
            known.partition_epoch,
            known.replicas,
            known.isr,
            known.standing.recovery == RECOVERING,
        )
        stored = self._directory.high_watermarks.get((topic.name, index), 0)
        replica = Replica(topic.name, index, topic.id, log)
        return role_of(replica, settings, assignment, current, self._replication.around, stored)

    def _add_missing(self, image: Image, topic: TopicImage, now_ms: int) -> Steps[None]:
        settings = self.topic_settings(image, topic.name)
        missing = [
            index
            for index in range(len(topic))
            if self._is_placed_here(topic, index) and self.get(topic.name, index) is None
        ]
        for at in range(0, len(missing), CREATED_PER_TURN_MAX):
            some = missing[at : at + CREATED_PER_TURN_MAX]
            failure = yield from self._create(topic, some, settings, now_ms)
            for index in some:
                log = self._directory.logs.get((topic.name, index))
                # Another image may have come while the disk worked: the newer one decides.
                if log is not None and self.get(topic.name, index) is None:
                    self._add(self._role(topic, index, log, settings, None))
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
        yield from self._directory.checkpoint_ends(self._high_watermarks)

    def checkpoint_starts(self) -> Steps[None]:
        yield from self._directory.checkpoint_starts()

    def close(self, broker_epoch: int) -> Steps[None]:
        yield from self._directory.close(self._high_watermarks, broker_epoch)

    def _high_watermarks(self) -> dict[tuple[str, int], int]:
        known = {(partition.topic, partition.index): partition.high_watermark for partition in self}
        # Until there are roles, what was stored is all that is known.
        return known if self._is_known else {**self._directory.high_watermarks, **known}

    def _add(self, partition: Partition) -> None:
        partitions = self._topics.setdefault(partition.topic, {})
        partitions[partition.index] = partition
        self.by_name[partition.topic.encode()] = self.by_id[partition.topic_id] = partitions
        self._note_flushing(partition)
        self._replication.began(partition)
        if partition.leads:
            self.on_added(partition)

    def _forget(self, partition: Partition, error: ErrorCode) -> None:
        """A role ends; the replica may get another."""
        self._acted_on.pop(partition, None)
        self._replication.ended(partition)
        partition.remove(error)
        self.flushed.pop(partition, None)
        if partition.leads:
            self.on_removed(partition)

    def _remove(self, partition: Partition) -> None:
        """The replica belongs elsewhere now."""
        del self._topics[partition.topic][partition.index]
        self._forget(partition, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._directory.discard(partition.log)

    def _note_flushing(self, partition: Partition) -> None:
        if partition.is_flushed:
            self.flushed[partition] = None
            self.on_flushed()
        else:
            self.flushed.pop(partition, None)

    def _remove_topic(self, topic: TopicImage) -> None:
        """Forget first, delete then: nobody reaches a partition whose files are going."""
        partitions = self._topics.get(topic.name, {})
        if any(partition.topic_id != topic.id for partition in partitions.values()):
            return
        self._topics.pop(topic.name, None)
        self.by_name.pop(topic.name.encode(), None)
        self.by_id.pop(topic.id, None)
        for partition in partitions.values():
            self._forget(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        for partition in partitions.values():
            self._directory.discard(partition.log)

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
            # Fewer copies may be enough from now on, or those that are written and not synced.
            partition.progressed()

    def _configure_all(self, image: Image) -> None:
        for name in self._topics:
            self._configure_topic(image, name)
