"""What DescribeConfigs says of a setting: its value, where it comes from, and what would apply without that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from functools import cache
from typing import Any, Final, NamedTuple

from penstock.core.base.settings.broker import BrokerSettings, Layers
from penstock.core.base.settings.classify import classify
from penstock.core.base.settings.key import REQUIRED, Key, Scope
from penstock.core.base.settings.registry import BROKER_KEYS, GROUP_KEYS, TOPIC_KEYS
from penstock.core.base.settings.values import format_value, parse_value

_UNKNOWN_TYPE: Final = 0


class Source(IntEnum):
    """Where a value comes from, by the numbers of the protocol."""

    UNKNOWN = 0
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class Origin(NamedTuple):
    """One place that gives the setting a value; the first of them wins."""

    name: str
    value: str | None
    source: Source


class Described(NamedTuple):
    name: str
    value: str | None
    source: Source
    synonyms: tuple[Origin, ...]
    read_only: bool
    is_sensitive: bool
    config_type: int
    documentation: str | None

    @property
    def is_default(self) -> bool:
        return self.source is Source.DEFAULT


_FAMILIES: Final = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
# Broker settings that mean the same in several units; the flush scheduler is a fallback but not a synonym itself.
_SYNONYMS: Final = {
    **{name: family for family in _FAMILIES for name in family},
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
}


@cache
def _default_texts() -> Mapping[str, str]:
    return {
        name: text
        for name, key in BROKER_KEYS.items()
        if key.default is not REQUIRED and (text := format_value(key, key.default)) is not None
    }


def describe(
    key: Key,
    overrides: Mapping[str, str],
    dynamic_broker: Mapping[str, str],
    dynamic_default: Mapping[str, str],
    static: Mapping[str, str],
    value: Any,
) -> Described:
    """One setting of a topic, a group or a broker, where `value` is what is in force."""
    layers = Layers(dynamic_broker, dynamic_default, static)
    if key.scope is Scope.BROKER:
        origins = _broker_origins(key.name, layers, key.is_sensitive)
    else:
        origins = _override_origins(key, overrides, layers)
    return Described(
        name=key.name,
        value=None if key.is_sensitive else format_value(key, value),
        source=origins[0].source if origins else Source.DEFAULT,
        synonyms=origins,
        read_only=key.is_fixed,
        is_sensitive=key.is_sensitive,
        config_type=key.kind.value,
        documentation=key.doc,
    )


def _override_origins(key: Key, overrides: Mapping[str, str], layers: Layers) -> tuple[Origin, ...]:
    if key.synonyms:
        inherited = _broker_origins(key.synonyms[0].name, layers, key.is_sensitive)
    elif key.scope is Scope.GROUP and key.default is not None:
        inherited = (Origin(key.name, format_value(key, key.default), Source.DEFAULT),)
    else:
        inherited = ()
    if key.name not in overrides:
        return inherited
    own = format_value(key, parse_value(key, overrides[key.name]))
    return (Origin(key.name, own, Source.TOPIC if key.scope is Scope.TOPIC else Source.GROUP), *inherited)


def _broker_origins(name: str, layers: Layers, is_sensitive: bool) -> tuple[Origin, ...]:
    """Kafka lists origins from the first that has this very name on: what is said only in another unit is left out."""
    texts = (
        (layers.dynamic_broker, Source.DYNAMIC_BROKER),
        (layers.dynamic_default, Source.DYNAMIC_DEFAULT_BROKER),
        (layers.static, Source.STATIC_BROKER),
        (_default_texts(), Source.DEFAULT),
    )
    found = [
        Origin(synonym, None if is_sensitive else layer[synonym], source)
        for layer, source in texts
        for synonym in _SYNONYMS.get(name, (name,))
        if synonym in layer
    ]
    first = next((place for place, origin in enumerate(found) if origin.name == name), len(found))
    return tuple(found[first:])


def describe_topic(settings: BrokerSettings, overrides: Mapping[str, str]) -> Iterator[Described]:
    """Every setting of a topic; hidden ones only where the topic sets them."""
    for name, key in TOPIC_KEYS.items():
        if name in overrides:
            value = parse_value(key, overrides[name])
        elif key.hidden:
            continue
        else:
            value = settings.topic_defaults[name]
        yield describe(key, overrides, *settings.layers, value)


def describe_group(settings: BrokerSettings, overrides: Mapping[str, str]) -> Iterator[Described]:
    for name, key in GROUP_KEYS.items():
        value = parse_value(key, overrides[name]) if name in overrides else settings.group_default(name)
        yield describe(key, overrides, *settings.layers, value)


def describe_broker(settings: BrokerSettings) -> Iterator[Described]:
    """Every setting of this broker, and what else its file says; hidden ones only where they are set."""
    for name, key in BROKER_KEYS.items():
        if not key.hidden or name in settings:
            yield describe(key, {}, *settings.layers, settings[name])
    others = {name for layer in settings.layers for name in layer} - BROKER_KEYS.keys()
    for name in sorted(others):
        yield _describe_other(name, settings.layers)


def describe_cluster_default(settings: BrokerSettings) -> Iterator[Described]:
    """What has been set for all brokers at once, and nothing else."""
    only = Layers({}, settings.layers.dynamic_default, {})
    for name, text in sorted(only.dynamic_default.items()):
        key = BROKER_KEYS.get(name)
        described = describe(key, {}, *only, None) if key else _describe_other(name, only)
        own = tuple(origin for origin in described.synonyms if origin.source is Source.DYNAMIC_DEFAULT_BROKER)
        value = None if described.is_sensitive else text
        yield described._replace(value=value, synonyms=own, source=own[0].source if own else Source.DEFAULT)


def _describe_other(name: str, layers: Layers) -> Described:
    """A name without a declaration of its own: a secret for all we know, unless it stands for a known setting."""
    key = classify(name).key
    is_sensitive = key is None or key.is_sensitive
    origins = _broker_origins(name, layers, is_sensitive)
    return Described(
        name=name,
        value=origins[0].value,
        source=origins[0].source,
        synonyms=origins,
        read_only=True,
        is_sensitive=is_sensitive,
        config_type=_UNKNOWN_TYPE if key is None else key.kind.value,
        documentation=None,
    )
