"""A cluster that exists as metadata only: an image, and shorthands for what happens to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.brokers import BrokerImage, host_endpoint
from penstock.core.metadata.features import ELR_VERSION, METADATA_LEVEL, METADATA_VERSION, SUPPORTED_FEATURES
from penstock.core.metadata.fold import fold
from penstock.core.metadata.framing import decode_record, encode_record
from penstock.core.metadata.heartbeats import Beat, Heartbeats
from penstock.core.metadata.image import TOPIC_RESOURCE, Image, PartitionImage
from penstock.core.metadata.registration import Caller, Registration, plan_registration
from penstock.core.metadata.sweep import Sweep
from penstock.core.metadata.topics import plan_topic
from penstock.core.wire.api.broker_heartbeat import BrokerHeartbeatRequest
from penstock.core.wire.api.broker_registration import BrokerRegistrationRequest, Feature, Listener
from penstock.core.wire.api.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
)
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import ConfigRecord, FeatureLevelRecord

CLUSTER_ID = "a-cluster"
SESSION_MS = 1_500
FILE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@localhost:10093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:10093",
}
SETTINGS = BrokerSettings(FILE)


def topic_id(name: str) -> bytes:
    return name.encode().ljust(16, b"-")[:16]


def directory_of(broker_id: int, number: int = 0) -> bytes:
    return (1_000 * (number + 1) + broker_id).to_bytes(16, "big")


def wanted_topic(name: str, assignments: Sequence[Sequence[int]], configs: Mapping[str, str]) -> CreatableTopic:
    """A topic with given replicas; underscores stand for the dots of settings."""
    return CreatableTopic(
        name=name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=list(replicas))
            for index, replicas in enumerate(assignments)
        ],
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )


class Cluster:
    """Records go through their bytes on the way to the image, as they do in a log."""

    def __init__(self, brokers: Sequence[int] = (), *, elr: bool = True, settings: BrokerSettings = SETTINGS) -> None:
        self.image = Image()
        self.settings = settings
        self.now_ms = 0
        self.log: list[StoredRecord] = []
        self.apply([FeatureLevelRecord(name=METADATA_VERSION, feature_level=METADATA_LEVEL)])
        if elr:
            self.apply([FeatureLevelRecord(name=ELR_VERSION, feature_level=1)])
        self.heartbeats = Heartbeats(self.image, SESSION_MS, 0)
        for broker_id in brokers:
            self.join(broker_id)

    def apply(self, records: Iterable[StoredRecord]) -> list[StoredRecord]:
        taken = [decode_record(encode_record(record)) for record in records]
        self.log += taken
        self.image, _ = fold(self.image, taken, self.image.offset + len(taken))
        return taken

    def sweep(self, sweep: Sweep | None) -> list[StoredRecord]:
        """Append what a sweep says, turn by turn."""
        records: list[StoredRecord] = []
        while sweep is not None and not sweep.is_done:
            records += self.apply(sweep.step(self.image))
        return records

    def register(self, broker_id: int, version: int = 4, **changes: Any) -> Registration:
        planned = plan_registration(
            self.image,
            self.settings,
            self.heartbeats,
            registration(broker_id, **changes),
            Caller(CLUSTER_ID, version, self.image.offset + 1),
        )
        self.sweep(planned.sweep)
        return planned

    def join(self, broker_id: int, **changes: Any) -> None:
        """Register and unfence."""
        self.register(broker_id, **changes)
        self.beat(broker_id)
        assert not self.image.brokers[broker_id].fenced

    def beat(self, broker_id: int, **changes: Any) -> Beat:
        request = BrokerHeartbeatRequest(
            broker_id=broker_id,
            broker_epoch=changes.pop("epoch", self.image.brokers[broker_id].epoch),
            current_metadata_offset=changes.pop("offset", self.image.offset),
            **changes,
        )
        beat = self.heartbeats.beat(self.image, self.settings, request)
        for sweep in beat.sweeps:
            self.sweep(sweep)
        return beat

    def tick(self, now_ms: int) -> list[int]:
        """Time passes, without the controller being late for any of its calls; tells who was fenced."""
        fenced = []
        while True:
            due_ms = min(now_ms, self.heartbeats.sessions.next_call_ms())
            self.now_ms = due_ms
            self.heartbeats.sessions.advance(due_ms)
            fenced += self.expire()
            if due_ms == now_ms:
                return fenced

    def expire(self) -> list[int]:
        before = {broker.id for broker in self.image.brokers.values() if broker.fenced}
        while (expired := self.heartbeats.expire(self.image, self.settings)) is not None:
            self.sweep(expired.sweep)
        return sorted({broker.id for broker in self.image.brokers.values() if broker.fenced} - before)

    def create(self, name: str, *assignments: Sequence[int], **configs: str) -> None:
        """A topic with given replicas."""
        wanted = wanted_topic(name, assignments, configs)
        self.apply(plan_topic(self.image, self.settings, wanted, lambda: topic_id(name)).records())

    def configure(self, name: str, **configs: str | None) -> None:
        self.apply(
            ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name=name, name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        )

    def partition(self, name: str = "t", index: int = 0) -> PartitionImage:
        topic = self.image.topic(name)
        assert topic is not None
        return topic.partition(index)

    def broker(self, broker_id: int) -> BrokerImage:
        return self.image.brokers[broker_id]


def registration(broker_id: int, **changes: Any) -> BrokerRegistrationRequest:
    """A request to join, as a broker with one directory sends it."""
    host = changes.pop("host", None)
    listeners = [Listener(name="PLAINTEXT", host=f"node{broker_id}", port=9092)]
    if host is not None:
        point = host_endpoint(host)
        listeners.append(Listener(name=point.name, host=point.host, port=point.port))
    values: dict[str, Any] = {
        "broker_id": broker_id,
        "cluster_id": CLUSTER_ID,
        "incarnation_id": bytes([broker_id % 256]) * 16,
        "listeners": listeners,
        "features": [
            Feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in SUPPORTED_FEATURES.items()
        ],
        "rack": None,
        "log_dirs": [directory_of(broker_id)],
    }
    return BrokerRegistrationRequest(**{**values, **changes})
