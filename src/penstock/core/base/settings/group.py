"""What may be set for one group: within the bounds its broker gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.core.base.settings.broker import BrokerSettings
from penstock.core.base.settings.key import SettingError
from penstock.core.base.settings.registry import BROKER_KEYS, GROUP_KEYS
from penstock.core.base.settings.values import parse_value

_TYPES: Final = ("consumer", "share", "streams")
_STANDBYS: Final = "streams.num.standby.replicas"


def validate_group_overrides(overrides: Mapping[str, str], broker: BrokerSettings) -> None:
    """What AlterConfigs checks for a group; a SettingError names the first thing that is wrong."""
    for name in overrides:
        if name not in GROUP_KEYS:
            raise SettingError(f"Unknown group config name: {name}")
    given = {name: parse_value(GROUP_KEYS[name], text) for name, text in overrides.items()}
    for name, value in given.items():
        _check_bounds(name, value, broker)
    values = {name: given.get(name, broker.group_default(name)) for name in GROUP_KEYS}
    for group_type in _TYPES:
        _check_session(group_type, values)


def in_force(name: str, overrides: Mapping[str, str], broker: BrokerSettings) -> Any:
    """What counts for a group. Its own value was within the bounds when it was set; where the broker has others since,
    the nearest counts."""
    if name not in overrides:
        return broker.group_default(name)
    value = parse_value(GROUP_KEYS[name], overrides[name])
    low, high = (_bound(name, side) for side in ("min", "max"))
    if low in BROKER_KEYS:
        value = max(value, broker[low])
    return min(value, broker[high]) if high in BROKER_KEYS else value


def _check_bounds(name: str, value: Any, broker: BrokerSettings) -> None:
    low, high = (_bound(name, side) for side in ("min", "max"))
    if low in BROKER_KEYS and value < broker[low]:
        raise SettingError(f"{name} must be greater than or equal to {low}")
    if high in BROKER_KEYS and value > broker[high]:
        raise SettingError(f"{name} must be less than or equal to {high}")


def _bound(name: str, side: str) -> str:
    """`consumer.session.timeout.ms` lies between `group.consumer.min.…` and `group.consumer.max.…`."""
    if name == _STANDBYS:
        return f"group.streams.{side}.standby.replicas"
    group_type, _, rest = name.partition(".")
    return f"group.{group_type}.{side}.{rest}"


def _check_session(group_type: str, values: Mapping[str, Any]) -> None:
    session, heartbeat = f"{group_type}.session.timeout.ms", f"{group_type}.heartbeat.interval.ms"
    if values[session] <= values[heartbeat]:
        raise SettingError(f"{session} must be greater than {heartbeat}")
