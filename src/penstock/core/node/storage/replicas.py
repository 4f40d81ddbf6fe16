"""The partitions this node holds: kept equal to the image by acting on what changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import FileFailure, Pause, Steps
from penstock.core.base.settings import BrokerSettings, TopicSettings
from penstock.core.log.damage import Damage
from penstock.core.log.directory import LogDirectory, Offline
from penstock.core.log.log import Log
from penstock.core.log.names import METADATA_TOPIC
from penstock.core.log.strays import holds_records
from penstock.core.metadata.fold import Delta
from penstock.core.metadata.image import BROKER_RESOURCE, RECOVERING, TOPIC_RESOURCE, Image, PartitionImage, TopicImage
from penstock.core.node.replication.replication import Replication
from penstock.core.node.storage.ownership import UNKNOWN_EPOCH, Held, why_kept
from penstock.core.partition.follower import Follower
from penstock.core.partition.in_sync import Assignment
from penstock.core.partition.leader import Leader
from penstock.core.partition.partition import Partition
from penstock.core.partition.roles import Replica, role_of
from penstock.core.partition.schema_source import NO_SCHEMAS, SchemaSource
from penstock.core.partition.traffic import Intake, Traffic

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
        # Topics that records have removed until then: their logs are here, and have no role yet.
        self._removed: set[bytes] = set()
        # With which epoch of its partition a replica was last brought in line: most of a large topic needs no look.
        self._acted_on: dict[Partition, int] = {}
        self._topics: dict[str, dict[int, Partition]] = {}
        # The same partitions by what stands in a request: the name's bytes, or the topic's id.
        self.by_name: dict[bytes, dict[int, Partition]] = {}
        self.by_id: dict[bytes, dict[int, Partition]] = {}
        self.intake = Intake()
        self.traffic: dict[str, Traffic] = {}
        self.past_traffic = Traffic(self.intake)
        """Of topics that are gone: what a node counts in all never goes back."""
        # Those that ask to be flushed, so that ten thousand others need not be looked at ten times a second.
        self.flushed: dict[Partition, None] = {}
        # Whom leaders ask of the schemas that records name.
        self.schemas: SchemaSource = NO_SCHEMAS
        # An image was acted upon.
        self.on_applied: Callable[[], None] = lambda: None
        self.on_added: Callable[[Partition], None] = lambda partition: None
        self.on_removed: Callable[[Partition], None] = lambda partition: None
        self.on_flushed: Callable[[], None] = lambda: None
        # A damaged log was cut, and its replica follows a leader that has what was lost.
        self.on_mended: Callable[[Damage, int], None] = lambda damage, leader: None
        # A replica that was here is about to follow.
        self.on_following: Callable[[Follower, PartitionImage], None] = lambda follower, known: None

    def get(self, topic: str, index: int) -> Partition | None:
        partitions = self._topics.get(topic)
        return None if partitions is None else partitions.get(index)

    def refusal(self, image: Image, topic: str, index: int) -> ErrorCode:
        """What to say of a partition that is not here: it may be elsewhere, or about to come, or damaged."""
        if (topic, index) in self._directory.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
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
            self._remove_topic(topic, delta.is_recorded)
        self._configure(image, delta)
        if not self._is_known:
            yield from self._begin(image, now_ms)
            return
        for name in sorted(delta.topics):
            known = image.topic(name)
            if known is not None:
                yield from self._act_on(image, known, now_ms)

    def adopt(self, image: Image, removed: set[bytes], now_ms: int) -> Steps[None]:
        """At start: take the logs that were found, create what is missing, remove what was deleted (`removed` are the
        ids of topics that records have removed), set aside what no topic owns; all of that only once the image is sure
        to have everything from before this process."""
        self._removed = removed
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
        """Find an owner for each log, and give up those that have none."""
        for log in list(self._directory.logs.values()):
            topic = image.topic(log.topic)
            if topic is not None and log.topic_id is None:
                yield from self._directory.adopt(log, topic.id)
            if topic is None or log.topic_id != topic.id or not self._is_placed_here(topic, log.partition):
                self._give_up(log, topic, is_removed=log.topic_id in self._removed)
        for key, offline in list(self._directory.offline.items()):
            topic, owner = image.topic(key[0]), offline.topic_id
            if topic is None or owner not in (None, topic.id) or not self._is_placed_here(topic, key[1]):
                self._give_up_offline(key, topic, is_removed=owner in self._removed)
        self._removed = set()

    @property
    def offline(self) -> Mapping[tuple[str, int], Offline]:
        """Replicas whose logs are damaged, and which therefore are not open."""
        return self._directory.offline

    @property
    def strays(self) -> Collection[str]:
        """The folders that are set aside: they hold records, and have no place here."""
        return self._directory.deferred_delete.strays

    def _give_up(self, log: Log, topic: TopicImage | None, *, is_removed: bool = False) -> None:
        """A log that does not belong here goes if the metadata says so; otherwise it is only set aside."""
        held = Held(log.topic_id, log.partition, log.epochs.latest, holds_records(log))
        why = None if is_removed else why_kept(held, topic)
        if why is None:
            self._directory.discard(log)
        else:
            self._directory.set_aside(log, why)

    def _give_up_offline(self, key: tuple[str, int], topic: TopicImage | None, *, is_removed: bool = False) -> None:
        """The same for a log that is not open; in which epochs its records are, nobody has looked."""
        held = Held(self._directory.offline[key].topic_id, key[1], UNKNOWN_EPOCH, has_records=True)
        why = None if is_removed else why_kept(held, topic)
        settings = TopicSettings(self.settings, {})
        if why is None:
            self._directory.discard_offline(key, settings)
        else:
            self._directory.set_aside_offline(key, settings, why)

    def _is_placed_here(self, topic: TopicImage, index: int) -> bool:
        """Never the metadata log, though an older metadata log may hold a topic of its name: that one can be deleted,
        which is all that can be done with it."""
        return topic.name != METADATA_TOPIC and index < len(topic) and self._node_id in topic.replicas[index]

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
                self._remove(current, topic)
                continue
            while isinstance(current, Follower) and current.is_cutting:
                yield Pause()
            epoch = current.leader_epoch
            role = self._role(topic, index, current.log, current.settings, current)
            if role is not current:
                self._forget(current, ErrorCode.NOT_LEADER_OR_FOLLOWER)
                if isinstance(role, Follower):
                    self.on_following(role, topic.partition(index))
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
        if self._directory.offline:
            yield from self._mend(topic, settings, now_ms)
        missing = [
            index
            for index in range(len(topic))
            if self._is_placed_here(topic, index)
            and self.get(topic.name, index) is None
            and (topic.name, index) not in self._directory.offline
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

    def _mend(self, topic: TopicImage, settings: TopicSettings, now_ms: int) -> Steps[None]:
        """Cut the damaged logs of replicas that others lead, without counting on this one: what was lost comes from the
        leader. As long as this replica is in sync, or may be elected, it may be the only one that has what is left."""
        for name, index in list(self._directory.offline):
            if name != topic.name:
                continue
            if not self._is_placed_here(topic, index):
                self._give_up_offline((name, index), topic)
                continue
            known = topic.partition(index)
            counts = {*known.isr, *known.standing.elr, *known.standing.last_known_elr}
            if known.leader >= 0 and self._node_id not in counts:
                damage = self._directory.offline[name, index].damage
                yield from self._directory.cut((name, index), settings, now_ms)
                self.on_mended(damage, known.leader)

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
        for partition in self:
            if partition.stage is not None:
                partition.stage.fail(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        yield from self._directory.close(self._high_watermarks, broker_epoch)

    def _high_watermarks(self) -> dict[tuple[str, int], int]:
        known = {(partition.topic, partition.index): partition.high_watermark for partition in self}
        # Until there are roles, what was stored is all that is known.
        return known if self._is_known else {**self._directory.high_watermarks, **known}

    def _add(self, partition: Partition) -> None:
        partitions = self._topics.setdefault(partition.topic, {})
        partitions[partition.index] = partition
        partition.traffic = self._traffic_of(partition.topic)
        self.by_name[partition.topic.encode()] = self.by_id[partition.topic_id] = partitions
        self._note_flushing(partition)
        if isinstance(partition, Leader):
            partition.schemas = self.schemas
        self._replication.began(partition)
        if partition.leads:
            self.on_added(partition)

    def _traffic_of(self, topic: str) -> Traffic:
        traffic = self.traffic.get(topic)
        if traffic is None:
            traffic = self.traffic[topic] = Traffic(self.intake)
        return traffic

    def _forget(self, partition: Partition, error: ErrorCode) -> None:
        """A role ends; the replica may get another."""
        self._acted_on.pop(partition, None)
        self._replication.ended(partition)
        partition.remove(error)
        self.flushed.pop(partition, None)
        if partition.leads:
            self.on_removed(partition)

    def _remove(self, partition: Partition, topic: TopicImage) -> None:
        """The replica belongs elsewhere now."""
        del self._topics[partition.topic][partition.index]
        self._forget(partition, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._give_up(partition.log, topic)

    def _note_flushing(self, partition: Partition) -> None:
        if partition.is_flushed:
            self.flushed[partition] = None
            self.on_flushed()
        else:
            self.flushed.pop(partition, None)

    def _remove_topic(self, topic: TopicImage, is_recorded: bool) -> None:
        """Forget first, delete then: nobody reaches a partition whose files are going."""
        if is_recorded and not self._is_known:
            self._removed.add(topic.id)
        partitions = self._topics.get(topic.name, {})
        if any(partition.topic_id != topic.id for partition in partitions.values()):
            return
        for key in [key for key in self._directory.offline if key[0] == topic.name]:
            if self._directory.offline[key].topic_id in (None, topic.id):
                self._give_up_offline(key, None, is_removed=is_recorded)
        self._topics.pop(topic.name, None)
        if (traffic := self.traffic.pop(topic.name, None)) is not None:
            self.past_traffic.add(traffic)
        self.by_name.pop(topic.name.encode(), None)
        self.by_id.pop(topic.id, None)
        for partition in partitions.values():
            self._forget(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        for partition in partitions.values():
            self._give_up(partition.log, None, is_removed=is_recorded)

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
