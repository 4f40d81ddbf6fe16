"""The controller's decisions about settings of topics, brokers and groups: checked, then written as records."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.settings import (
    BROKER_KEYS,
    GROUP_KEYS,
    TOPIC_KEYS,
    BrokerSettings,
    Key,
    Kind,
    SettingError,
    parse_value,
    validate_dynamic,
    validate_group_overrides,
    validate_topic_overrides,
)
from penstock.core.base.settings.key import FIXED_BY_SOCKETS
from penstock.core.metadata import client_metrics
from penstock.core.metadata.fold import fold
from penstock.core.metadata.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    Image,
    UnusualState,
)
from penstock.core.metadata.rules import MIN_INSYNC_REPLICAS, has_eligible_leaders, rules_for
from penstock.core.metadata.topics import check_topic_name
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import ClearElrRecord, ConfigRecord, PartitionChangeRecord

SET, DELETE, APPEND, SUBTRACT = range(4)
"""Operations of IncrementalAlterConfigs."""

Operation = tuple[int, str, str | None]
"""(operation, key, value)"""


def check_resource(image: Image, resource_type: int, name: str) -> None:
    """Refuse settings for what does not exist."""
    if resource_type == TOPIC_RESOURCE:
        if not name:
            raise ApiError(ErrorCode.INVALID_REQUEST, "There are no settings for all topics; name one.")
        check_topic_name(name)
        if image.topic(name) is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {name!r}.")
    elif resource_type == BROKER_RESOURCE:
        if name and not (name.isdecimal() and int(name) in image.brokers):
            raise ApiError(ErrorCode.INVALID_REQUEST, f"There is no broker {name!r}.")
    elif resource_type == GROUP_RESOURCE:
        if not name:
            raise ApiError(ErrorCode.INVALID_REQUEST, "There are no settings for all groups; name one.")
    elif resource_type == CLIENT_METRICS_RESOURCE:
        if not name:
            raise ApiError(ErrorCode.INVALID_REQUEST, "A subscription needs a name.")
    else:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Settings of resource type {resource_type} cannot be changed.")


def plan_increment(
    image: Image, settings: BrokerSettings, resource_type: int, name: str, operations: list[Operation]
) -> list[StoredRecord]:
    """Decide about one resource of an IncrementalAlterConfigs request."""
    check_resource(image, resource_type, name)
    before = image.config(resource_type, name)
    after = dict(before)
    seen: set[str] = set()
    for operation, key, value in operations:
        if key in seen:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"Setting {key} is given more than once.")
        seen.add(key)
        _operate(after, resource_type, operation, key, value)
    _check_values(image, settings, resource_type, name, after)
    return _difference(image, settings, resource_type, name, after)


def plan_replacement(
    image: Image, settings: BrokerSettings, resource_type: int, name: str, configs: dict[str, str | None]
) -> list[StoredRecord]:
    """Decide about one resource of an AlterConfigs request: what is not named goes back to its default."""
    check_resource(image, resource_type, name)
    for key, value in configs.items():
        if value is None:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"Setting {key} has no value.")
    after = {key: value for key, value in configs.items() if value is not None}
    _check_values(image, settings, resource_type, name, after)
    return _difference(image, settings, resource_type, name, after)


def _operate(after: dict[str, str], resource_type: int, operation: int, key: str, value: str | None) -> None:
    if operation == DELETE:
        after.pop(key, None)
        return
    if value is None:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Setting {key} has no value.")
    if operation == SET:
        after[key] = value
    elif operation in (APPEND, SUBTRACT):
        known = _keys(resource_type).get(key)
        if known is None or known.kind is not Kind.LIST:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"{key} is not a list: nothing can be added to or taken from it.")
        items = _items(after.get(key, _default_text(known)))
        given = _items(value)
        items = (
            [*items, *(item for item in given if item not in items)]
            if operation == APPEND
            else [item for item in items if item not in given]
        )
        after[key] = ",".join(items)
    else:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Operation {operation} is not known.")


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _default_text(key: Key) -> str:
    return ",".join(key.default) if isinstance(key.default, list | tuple) else str(key.default or "")


def _keys(resource_type: int) -> Mapping[str, Key]:
    """Nothing can be added to the lists of a subscription to clients' metrics, as with Kafka."""
    known = {TOPIC_RESOURCE: TOPIC_KEYS, BROKER_RESOURCE: BROKER_KEYS, GROUP_RESOURCE: GROUP_KEYS}
    return known.get(resource_type, {})


def _check_values(image: Image, settings: BrokerSettings, resource_type: int, name: str, after: dict[str, str]) -> None:
    try:
        if resource_type == TOPIC_RESOURCE:
            validate_topic_overrides(after, settings)
        elif resource_type == GROUP_RESOURCE:
            validate_group_overrides(after, settings)
        elif resource_type == CLIENT_METRICS_RESOURCE:
            client_metrics.subscription(name, after)
        else:
            _check_broker(image, settings, name, after)
    except SettingError as error:
        code = ErrorCode.INVALID_REQUEST if resource_type == BROKER_RESOURCE else ErrorCode.INVALID_CONFIG
        raise ApiError(code, str(error)) from None


def _check_broker(image: Image, settings: BrokerSettings, name: str, after: dict[str, str]) -> None:
    """Each value for itself, and then all settings together: a node must be able to start with what is stored."""
    validate_dynamic(after, per_broker=name != "")
    if fixed := sorted(FIXED_BY_SOCKETS & after.keys()):
        raise SettingError(f"{', '.join(fixed)} cannot be changed while a node runs: change its file and restart it")
    for key, value in sorted(after.items()):
        if key in BROKER_KEYS:
            parse_value(BROKER_KEYS[key], value)
    if name:
        settings.with_dynamic(after, image.config(BROKER_RESOURCE, ""))
    else:
        settings.with_dynamic(image.config(BROKER_RESOURCE, str(settings.node_id)), after)


def _difference(
    image: Image, settings: BrokerSettings, resource_type: int, name: str, after: Mapping[str, str]
) -> list[StoredRecord]:
    before = image.config(resource_type, name)
    changed = [key for key in sorted({*before, *after}) if before.get(key) != after.get(key)]
    records: list[StoredRecord] = [
        ConfigRecord(resource_type=resource_type, resource_name=name, name=key, value=after.get(key)) for key in changed
    ]
    if MIN_INSYNC_REPLICAS in changed and has_eligible_leaders(image):
        _check_min_insync(resource_type, name, after.get(MIN_INSYNC_REPLICAS))
        records += _forget_eligible(image, settings, name if resource_type == TOPIC_RESOURCE else "", records)
    return records


def _forget_eligible(
    image: Image, settings: BrokerSettings, name: str, changes: list[StoredRecord]
) -> list[StoredRecord]:
    """Where as many are in sync as the new number asks for, they acknowledge without the eligible leaders, who must be
    forgotten. Elsewhere these are still those who have it all, and perhaps the only ones who can lead again: Kafka
    forgets them too, and the partition stays without a leader."""
    image, _ = fold(image, changes, image.offset)
    outdated: list[StoredRecord] = []
    some_stay = False
    for topic in image.topics.values():
        if name not in ("", topic.name) or not any(topic.standings.codes):
            continue
        min_insync = rules_for(image, settings, topic).min_insync
        for index in (index for index in range(len(topic)) if _has_eligible(topic.standings[index])):
            if len(topic.isrs[index]) < min_insync:
                some_stay = True
            else:
                forgotten = PartitionChangeRecord(topic_id=topic.id, partition_id=index, eligible_leader_replicas=[])
                outdated.append(forgotten)
    return outdated if some_stay else [ClearElrRecord(topic_name=name)]


def _has_eligible(standing: UnusualState) -> bool:
    return bool(standing.elr or standing.last_known_elr)


def _check_min_insync(resource_type: int, name: str, value: str | None) -> None:
    """All controllers must find the same eligible leaders, so the number is the cluster's, not a broker's."""
    if resource_type != BROKER_RESOURCE:
        return
    if name:
        raise ApiError(
            ErrorCode.INVALID_CONFIG, f"{MIN_INSYNC_REPLICAS} of a broker cannot be changed while ELR is enabled."
        )
    if value is None:
        raise ApiError(
            ErrorCode.INVALID_CONFIG, f"{MIN_INSYNC_REPLICAS} of the cluster cannot be removed while ELR is enabled."
        )
