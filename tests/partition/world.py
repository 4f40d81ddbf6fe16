"""A seeded world of brokers that replicate a few partitions: time, a network, disks, a controller, producers.

One seed gives one history. `faults.play` fills it with faults, lets everything heal, and asks for progress.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from penstock.core.base.settings import TopicSettings
from penstock.core.metadata.image import Image
from penstock.core.partition.follower import Follower
from penstock.core.partition.partition import Partition
from penstock.core.records.batch import BatchHeader
from penstock.core.wire.schema import Request, Response
from penstock.sim.chance import Chance
from tests.metadata.cluster import SETTINGS
from tests.partition.broker import Broker
from tests.partition.clients import Producer
from tests.partition.controller import Controller
from tests.partition.court import Court, Entry, Key, Violation
from tests.partition.network import CONTROLLER, Network

FAULTS_MS = 2_500
HEALING_MS_MAX = 5_000

Message = TypeVar("Message", Request, Response)


class Shape(NamedTuple):
    """What kind of history it is."""

    brokers: int
    in_sync_min: int
    slow_disks: bool
    synced: bool
    through_wire: bool


class World:
    """Virtual time and everything in it."""

    def __init__(self, seed: int, shape: Shape) -> None:
        self.chance = Chance(f"partition-{seed}")
        self.shape = shape
        self.now_ms = 1_000
        self.counts: Counter[str] = Counter()
        self.court = Court()
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        ids = range(1, shape.brokers + 1)
        self.network = Network(self)
        self.controller = Controller(self, ids)
        self.settings: dict[str, TopicSettings] = {}
        # Batches that were decoded before, by their headers: the checksum in there makes them what they are.
        self.decoded: dict[BatchHeader, list[Entry]] = {}
        self._create("plain", {}, ids)
        if shape.synced:
            self._create("synced", {"flush.messages": "1"}, ids)
        self.keys: list[Key] = [(topic, index) for topic in self.settings for index in range(2)]
        self._truncations: dict[Partition, int] = {}
        self.brokers = {broker_id: Broker(self, broker_id) for broker_id in ids}
        for broker in self.brokers.values():
            broker.start()
        kinds = [(key, idempotent) for key in self.keys for idempotent in (True, True, False)]
        self.producers = [Producer(self, n, key, idempotent=kind) for n, (key, kind) in enumerate(kinds, 1)]
        for producer in self.producers:
            producer.start()

    def _create(self, topic: str, configs: dict[str, str], ids: range) -> None:
        small = {"min.insync.replicas": str(self.shape.in_sync_min), "internal.segment.bytes": "3000"}
        self.settings[topic] = TopicSettings(SETTINGS, configs | small)
        rotated = [[*ids[at:], *ids[:at]] for at in range(2)]
        self.controller.cluster.create(topic, *rotated, min_insync_replicas=str(self.shape.in_sync_min))

    # Time

    def at(self, delay_ms: int, event: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._events, (self.now_ms + delay_ms, self._order, event))

    def later(self, broker: Broker, delay_ms: int, event: Callable[[], None]) -> None:
        """An event of a broker's: it finds the same life of it, or nobody; a pause puts it off."""
        life = broker.life

        def happens() -> None:
            if broker.life != life or not broker.is_alive:
                return
            if self.now_ms < broker.paused_until_ms:
                self.at(broker.paused_until_ms - self.now_ms, happens)
                return
            event()
            broker.perform()

        self.at(delay_ms, happens)

    def run_until(self, end_ms: int) -> None:
        while self._events and self._events[0][0] <= end_ms:
            self.now_ms, _, event = heapq.heappop(self._events)
            event()
        self.now_ms = max(self.now_ms, end_ms)

    def through_wire(self, message: Message, version: int) -> Message:
        """What arrives: the message itself, or for some seeds what is left of it after the wire."""
        if not self.shape.through_wire:
            return message
        return type(message).decode(message.encode(version), version)

    # What others tell

    def image_changed(self, image: Image) -> None:
        for broker in self.brokers.values():
            if broker.is_alive and self.network.reaches(broker.id, CONTROLLER):
                self.later(broker, self.network.latency(), lambda broker=broker: broker.learn(image))  # type: ignore[misc]

    def refresh_images(self) -> None:
        """Who was cut off catches up."""
        self.image_changed(self.controller.image)

    def leader_seen_by_clients(self, key: Key, before: int) -> int:
        """Mostly the newest; now and then what clients learn is old."""
        leader = self.controller.partition(key).leader
        return leader if leader in self.brokers and self.chance.happens(0.8) else before

    def leads(self, broker: Broker, key: Key, role: Partition) -> None:
        self.counts["elections"] += 1
        entries = broker.entries(role.log, 0, role.log.end_offset)
        epoch = role.leader_epoch
        self.court.leader_has_all(f"leader {broker.id} in epoch {epoch}", key, epoch, entries)

    def took_alone(self, broker: Broker, key: Key, epoch: int) -> None:
        self.counts["acks=1"] += 1
        self.court.leads_alone(f"{broker.id}", key, epoch, self.controller.partition(key).leader_epoch)

    def acknowledged(self, key: Key, offset: int, value: bytes) -> None:
        self.counts["acknowledged"] += 1
        self.court.acknowledges(key, offset, value)

    # The court's eyes

    def look_at(self, broker: Broker) -> None:
        for key, partition in broker.partitions.items():
            self.court.high_watermark_rises(key, partition)
            self._see(broker, key, partition)
            if isinstance(partition, Follower):
                self._count_truncations(partition)

    def _see(self, broker: Broker, key: Key, partition: Partition) -> None:
        seen = broker.seen.get(partition, 0)
        if partition.high_watermark > seen:
            upto = partition.high_watermark
            entries = broker.entries(partition.log, seen, upto)
            if len(entries) != upto - seen:
                raise Violation(f"{broker.id} has {len(entries)} records of {key} in {seen}..{upto}")
            self.court.replicas_are_equal(f"{broker.id}", key, partition.leader_epoch, seen, entries)
        broker.seen[partition] = partition.high_watermark

    def _count_truncations(self, follower: Follower) -> None:
        if follower.stopped is not None:
            raise Violation(follower.stopped)
        before = self._truncations.get(follower, 0)
        if follower.truncations != before:
            self._truncations[follower] = follower.truncations
            self.counts["truncations"] += follower.truncations - before

    # The end

    def heal(self) -> None:
        self.network.cut.clear()
        for broker in self.brokers.values():
            broker.paused_until_ms = 0
            if not broker.is_alive:
                broker.start()
        self.refresh_images()

    def demand_progress(self) -> None:
        """Within a while every replica is in sync and everybody has what is acknowledged, old and new."""
        deadline_ms = self.now_ms + HEALING_MS_MAX
        wanted = {key: len(self.court.acknowledged[key]) + 3 for key in self.keys}
        while not all(len(self.court.acknowledged[key]) >= wanted[key] for key in self.keys):
            self._wait(deadline_ms)
        for producer in self.producers:
            producer.stop()
        while not all(self._is_settled(key) for key in self.keys):
            self._wait(deadline_ms)
        for broker in self.brokers.values():
            for key, partition in broker.partitions.items():
                entries = broker.entries(partition.log, 0, partition.log.end_offset)
                self.check_whole(f"{broker.id}", key, entries)
        for producer in self.producers:
            producer.start()

    def check_whole(self, who: str, key: Key, entries: list[Entry]) -> None:
        self.court.has_all(who, key, entries)
        self.court.acknowledged_is_readable(who, key, entries)
        self.court.idempotence(who, key, entries)

    def _is_settled(self, key: Key) -> bool:
        known = self.controller.partition(key)
        ends = {broker.partitions[key].log.end_offset for broker in self.brokers.values() if key in broker.partitions}
        marks = {broker.partitions[key].high_watermark for broker in self.brokers.values() if key in broker.partitions}
        return set(known.isr) == set(self.brokers) and len(ends) == 1 and ends == marks

    def _wait(self, deadline_ms: int) -> None:
        if self.now_ms >= deadline_ms:
            raise Violation(f"no progress within {HEALING_MS_MAX} ms: {self.describe()}")
        self.refresh_images()
        self.run_until(self.now_ms + 30)

    def describe(self) -> str:
        """Who is what, for the one who looks for the reason."""
        lines = [f"{key}: {self.controller.partition(key)}" for key in self.keys]
        for broker in self.brokers.values():
            lines += [
                f"{broker.id}: {partition} hw {partition.high_watermark}" for partition in broker.partitions.values()
            ]
        return "\n".join(lines)
