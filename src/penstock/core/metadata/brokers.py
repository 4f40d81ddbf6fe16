"""Brokers and controllers as the image knows them: who they are, where they listen, what they may do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from penstock.core.base.endpoints import Endpoint
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.wire.stored.cluster_metadata import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)

NO_BROKER = -1
"""Where a broker's id is expected and there is none."""

MIGRATING_DIRECTORY = bytes(16)
UNASSIGNED_DIRECTORY = (1).to_bytes(16, "big")
LOST_DIRECTORY = (2).to_bytes(16, "big")
FULL_DIRECTORY = (99).to_bytes(16, "big")
"""Kafka's heartbeat has no field for a disk that takes no more records. It is told as one more cordoned directory of
this id, which no directory has."""
RESERVED_DIRECTORIES_END = (100).to_bytes(16, "big")
"""Directory ids below this one are names for special cases."""

HOST_LISTENER = "PENSTOCK_HOST"
"""Kafka's registration has no field for the machine (`penstock.host`). It travels as one more listener of this name,
with port 0, in the request and in the record: Kafka's formats stay as they are, and Kafka's tools read them."""

FeatureRanges = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class BrokerImage:
    """A registered broker."""

    id: int
    epoch: int
    incarnation: bytes
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    fenced: bool = True
    host: str | None = None
    in_controlled_shutdown: bool = False
    features: FeatureRanges = field(default_factory=dict)
    directories: tuple[bytes, ...] = ()
    cordoned: tuple[bytes, ...] | None = None
    registered_at: int = field(default=-1, compare=False)
    """An offset by which the registration is in the log: who has folded so far knows of it."""

    def endpoint(self, listener: str) -> Endpoint | None:
        return next((point for point in self.endpoints if point.name == listener), None)

    @property
    def is_active(self) -> bool:
        """Whether it may lead and be in sync."""
        return not (self.fenced or self.in_controlled_shutdown)

    @property
    def has_room(self) -> bool:
        """Whether one of its directories takes new replicas."""
        return not self.directories or self.cordoned is None or bool(set(self.directories) - set(self.cordoned))

    @property
    def is_full(self) -> bool:
        """Whether its disk takes no more records from producers: it goes on to follow, and leads where nobody else
        can."""
        return self.cordoned is not None and FULL_DIRECTORY in self.cordoned

    @property
    def takes_replicas(self) -> bool:
        """Whether new replicas may be placed on it, perhaps before it is back."""
        return self.has_room and not self.in_controlled_shutdown

    @property
    def takes_copies(self) -> bool:
        """Whether replicas that are elsewhere may be moved to it."""
        return self.takes_replicas and not self.is_full

    def has_online(self, directory: bytes) -> bool:
        """Whether a replica in this directory can be read."""
        if directory in (MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY):
            return True
        return directory != LOST_DIRECTORY and (not self.directories or directory in self.directories)

    @property
    def default_directory(self) -> bytes:
        """Where a new replica goes, as far as that is decided before the broker says so itself."""
        if not self.directories:
            return MIGRATING_DIRECTORY
        return self.directories[0] if len(self.directories) == 1 else UNASSIGNED_DIRECTORY


@dataclass(frozen=True, slots=True)
class ControllerImage:
    """A registered controller."""

    id: int
    incarnation: bytes
    endpoints: tuple[Endpoint, ...]
    features: FeatureRanges = field(default_factory=dict)


class _Listening(Protocol):
    name: str
    host: str
    port: int
    security_protocol: int


class _Supporting(Protocol):
    name: str
    min_supported_version: int
    max_supported_version: int


def endpoints_of(listeners: Iterable[_Listening]) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(each.name, each.host, each.port, each.security_protocol) for each in listeners)


def features_of(features: Iterable[_Supporting]) -> FeatureRanges:
    return {each.name: (each.min_supported_version, each.max_supported_version) for each in features}


def check_epoch(brokers: Mapping[int, BrokerImage], broker_id: int, epoch: int) -> BrokerImage:
    """The registration that a broker speaks for, or the refusal of one that has been replaced."""
    broker = brokers.get(broker_id)
    if broker is None:
        raise ApiError(ErrorCode.STALE_BROKER_EPOCH, f"Broker {broker_id} is not registered.")
    if broker.epoch != epoch:
        raise ApiError(
            ErrorCode.STALE_BROKER_EPOCH, f"Broker {broker_id} is registered with epoch {broker.epoch}, not {epoch}."
        )
    return broker


def host_endpoint(host: str) -> Endpoint:
    """How a registration names the machine."""
    return Endpoint(HOST_LISTENER, host, 0)


def broker_of(record: RegisterBrokerRecord, offset: int) -> BrokerImage:
    points = endpoints_of(record.end_points)
    return BrokerImage(
        record.broker_id,
        record.broker_epoch,
        record.incarnation_id,
        tuple(point for point in points if point.name != HOST_LISTENER),
        record.rack,
        record.fenced,
        next((point.host for point in points if point.name == HOST_LISTENER), None),
        record.in_controlled_shutdown,
        features_of(record.features),
        tuple(record.log_dirs),
        None if record.cordoned_log_dirs is None else tuple(record.cordoned_log_dirs),
        offset,
    )


def record_of(broker: BrokerImage) -> RegisterBrokerRecord:
    """The record that `broker_of` reads."""
    points = broker.endpoints if broker.host is None else (*broker.endpoints, host_endpoint(broker.host))
    return RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=broker.incarnation,
        broker_epoch=broker.epoch,
        end_points=[
            BrokerEndpoint(name=point.name, host=point.host, port=point.port, security_protocol=point.protocol)
            for point in points
        ],
        features=[
            BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in sorted(broker.features.items())
        ],
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.directories),
        cordoned_log_dirs=None if broker.cordoned is None else list(broker.cordoned),
    )


def changed(broker: BrokerImage, record: BrokerRegistrationChangeRecord) -> BrokerImage:
    """A registration after a change: 1 sets, -1 clears, 0 leaves as it was; no directories leave them as they were."""
    cordoned = record.cordoned_log_dirs
    return replace(
        broker,
        fenced=broker.fenced if record.fenced == 0 else record.fenced > 0,
        in_controlled_shutdown=(
            broker.in_controlled_shutdown if record.in_controlled_shutdown == 0 else record.in_controlled_shutdown > 0
        ),
        directories=tuple(record.log_dirs) or broker.directories,
        cordoned=broker.cordoned if cordoned is None else tuple(cordoned),
    )


def controller_of(record: RegisterControllerRecord) -> ControllerImage:
    return ControllerImage(
        record.controller_id, record.incarnation_id, endpoints_of(record.end_points), features_of(record.features)
    )


def controller_record(controller: ControllerImage) -> RegisterControllerRecord:
    """The record that `controller_of` reads."""
    return RegisterControllerRecord(
        controller_id=controller.id,
        incarnation_id=controller.incarnation,
        end_points=[
            ControllerEndpoint(name=point.name, host=point.host, port=point.port, security_protocol=point.protocol)
            for point in controller.endpoints
        ],
        features=[
            ControllerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in sorted(controller.features.items())
        ],
    )
