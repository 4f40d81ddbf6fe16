"""Registration: who may join, with which epoch, and what becomes of what the id had before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.broker_fencing import returning, unregistering
from penstock.core.metadata.brokers import (
    RESERVED_DIRECTORIES_END,
    BrokerImage,
    ControllerImage,
    FeatureRanges,
    controller_record,
    endpoints_of,
    features_of,
)
from penstock.core.metadata.features import METADATA_VERSION
from penstock.core.metadata.heartbeats import Heartbeats
from penstock.core.metadata.image import Image
from penstock.core.metadata.sweep import Sweep
from penstock.core.wire.api.broker_registration import BrokerRegistrationRequest
from penstock.core.wire.api.controller_registration import ControllerRegistrationRequest
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord

PREVIOUS_EPOCH_SINCE = 3
"""The request version that tells with which epoch the broker last stopped cleanly."""


class Registration(NamedTuple):
    """The sweep that makes a registration true, and the epoch to answer with once it is."""

    sweep: Sweep
    epoch: int


class Caller(NamedTuple):
    """What is known about a request beside its content."""

    cluster_id: str
    version: int
    next_offset: int
    """The end of the metadata log: larger than any epoch so far, so it becomes the epoch of a new process."""
    is_connected: bool = False
    """Whether the process that is registered with this id has a connection."""


def plan_registration(
    image: Image, settings: BrokerSettings, heartbeats: Heartbeats, request: BrokerRegistrationRequest, caller: Caller
) -> Registration:
    """Decide about a BrokerRegistration request."""
    known = image.brokers.get(request.broker_id)
    is_new = known is None or known.incarnation != request.incarnation_id
    if request.cluster_id != caller.cluster_id:
        raise ApiError(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f"This cluster's id is {caller.cluster_id}, the broker belongs to {request.cluster_id}.",
        )
    _check_not_leaving(heartbeats, request.broker_id)
    if known is not None and is_new and not _is_gone(known, heartbeats, request, caller):
        raise ApiError(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            f"Another process is registered as broker {known.id}. If it was restarted just now, its session ends soon.",
        )
    if request.is_migrating_zk_broker:
        raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, "There is no ZooKeeper to migrate from.")
    _check_directories(image, request)
    check_features(image.features, features_of(request.features), request.broker_id)
    record = _record(request, caller.next_offset)
    if known is not None and not is_new:
        return Registration(_amended(image, record, known), known.epoch)
    was_clean = (
        known is not None and caller.version >= PREVIOUS_EPOCH_SINCE and known.epoch == request.previous_broker_epoch
    )
    sweep = returning(image, settings, request.broker_id, was_clean=was_clean, registration=record)
    heartbeats.forget(request.broker_id)
    heartbeats.sessions.prove_hint(request.broker_id)
    heartbeats.let_go(request.broker_id, sweep)
    return Registration(sweep, caller.next_offset)


def _is_gone(known: BrokerImage, heartbeats: Heartbeats, request: BrokerRegistrationRequest, caller: Caller) -> bool:
    """Whether the process that was registered is gone: it was silent for a session, or somebody has its folders. These
    are locked by who uses them, so that is its successor, unless it is still connected: then this request has come
    late, from a predecessor."""
    if not heartbeats.sessions.is_valid(known.id, known.epoch):
        return True
    return not caller.is_connected and bool(known.directories) and set(known.directories) == set(request.log_dirs)


def _amended(image: Image, record: RegisterBrokerRecord, known: BrokerImage) -> Sweep:
    """The same process again: it keeps its epoch and its standing, the rest is as it says now."""
    record.broker_epoch = known.epoch
    record.fenced = known.fenced
    record.in_controlled_shutdown = known.in_controlled_shutdown
    return Sweep(image, None, lambda *_: [], opening=[record])


def _record(request: BrokerRegistrationRequest, epoch: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=epoch,
        end_points=[
            BrokerEndpoint(name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol)
            for each in request.listeners
        ],
        features=[
            BrokerFeature(
                name=each.name,
                min_supported_version=each.min_supported_version,
                max_supported_version=each.max_supported_version,
            )
            for each in request.features
        ],
        rack=request.rack,
        log_dirs=request.log_dirs,
    )


def _check_directories(image: Image, request: BrokerRegistrationRequest) -> None:
    """A directory belongs to one broker, and has an id of its own."""
    given = request.log_dirs
    problem = None
    if not given:
        problem = "No directories are given."
    elif any(directory < RESERVED_DIRECTORIES_END for directory in given):
        problem = "A directory id is a reserved one."
    elif len(set(given)) != len(given):
        problem = "A directory is given more than once."
    for broker in image.brokers.values():
        if broker.id != request.broker_id and set(broker.directories) & set(given):
            problem = f"A directory is already registered by broker {broker.id}."
    if problem is not None:
        raise ApiError(ErrorCode.INVALID_REGISTRATION, problem)


def check_features(agreed: Mapping[str, int], offered: FeatureRanges, broker_id: int) -> None:
    """A broker must know the level of everything that the cluster has agreed on."""
    if METADATA_VERSION not in offered:
        raise ApiError(ErrorCode.INVALID_REGISTRATION, f"The features do not contain {METADATA_VERSION!r}.")
    for name in {**offered, **agreed}:
        level = agreed.get(name, 0)
        low, high = offered.get(name, (0, 0))
        if not low <= level <= high:
            raise ApiError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"Broker {broker_id} supports {name} from {low} to {high}; the cluster is at {level}.",
            )


def plan_unregistration(image: Image, settings: BrokerSettings, heartbeats: Heartbeats, broker_id: int) -> Sweep:
    """Decide about an UnregisterBroker request."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker {broker_id} is not registered.")
    _check_not_leaving(heartbeats, broker_id)
    sweep = unregistering(image, settings, broker)
    heartbeats.forget(broker_id)
    heartbeats.let_go(broker_id, sweep)
    return sweep


def _check_not_leaving(heartbeats: Heartbeats, broker_id: int) -> None:
    """What an id's last process had must be settled before anything new is decided about it; that takes moments."""
    if heartbeats.is_leaving(broker_id):
        raise ApiError(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION, f"The partitions of broker {broker_id} are being given to others."
        )


def plan_controller(request: ControllerRegistrationRequest) -> list[StoredRecord]:
    """Decide about a ControllerRegistration request."""
    controller = ControllerImage(
        request.controller_id,
        request.incarnation_id,
        endpoints_of(request.listeners),
        features_of(request.features),
    )
    return [controller_record(controller)]
