"""What a test asks of a `Broker` is checked before anything happens: misuse is a TypeError or a ValueError, at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import UnionType
from typing import Any, Final

from penstock.core.base.errors import ErrorCode
from penstock.core.base.settings import TOPIC_KEYS, BrokerSettings
from penstock.core.base.settings.classify import classify
from penstock.core.base.settings.key import Standing
from penstock.core.wire.api_table import APIS

PORT_MAX: Final = 65_535
SECONDS_MAX: Final = 3600
# What makes the node a test's own, and how a test says it instead.
_OURS: Final = {
    "controller.listener.names": "a test's broker is its own controller",
    "controller.quorum.voters": "a test's broker is its own controller",
    "listeners": "say port=",
    "log.dirs": "say folder=",
    "penstock.metrics.port": "metrics() knows it",
    "process.roles": "a test's broker is its own controller",
}
API_NAMES: Final = tuple(api.name for api in APIS.values() if api.on_brokers)


def checked_settings(settings: Mapping[str, object] | None) -> dict[str, str]:
    """A broker's settings as text; every name must be known."""
    if not isinstance(settings, Mapping | None):
        raise TypeError(f"settings are a mapping such as {{'num.partitions': 3}}, not {type(settings).__name__}")
    found = _texts(settings or {})
    for name in found:
        if name in _OURS:
            raise ValueError(f"{name} cannot be set here: {_OURS[name]}")
        classed = classify(name)
        if classed.standing is Standing.UNKNOWN:
            raise ValueError(f"{name} is no setting of a broker: {classed.why}")
    return found


def check_values(settings: Mapping[str, str]) -> None:
    """A value that no node would start with is a ValueError that names it."""
    BrokerSettings(settings)


def checked_configs(configs: Mapping[str, object]) -> dict[str, str]:
    """A topic's settings, which may be named with `_` for each dot."""
    found = _texts({name.replace("_", "."): value for name, value in configs.items()})
    for name in found:
        require_one_of(name, TOPIC_KEYS, "setting of a topic")
    return found


def checked_port(port: int) -> int:
    require(port, int, "port")
    if not 0 <= port <= PORT_MAX:
        raise ValueError(f"port is from 0, for any free one, to {PORT_MAX}, not {port}")
    return port


def checked_count(count: int, name: str) -> int:
    require(count, int, name)
    if count < 1:
        raise ValueError(f"{name} is at least 1, not {count}")
    return count


def checked_seconds(seconds: float) -> float:
    require(seconds, int | float, "seconds")
    if not 0 <= seconds <= SECONDS_MAX:
        raise ValueError(f"seconds are from 0 to {SECONDS_MAX}, not {seconds}")
    return seconds


def checked_name(name: str, what: str) -> str:
    require(name, str, what)
    if not name:
        raise ValueError(f"a {what} has a name")
    return name


def checked_code(code: ErrorCode | str | int) -> ErrorCode:
    """An error by its name or its number in the protocol."""
    if isinstance(code, str):
        require_one_of(code, ErrorCode.__members__, "error of Kafka's")
        found = ErrorCode[code]
    else:
        require(code, int, "code")
        found = ErrorCode(code)
    if found is ErrorCode.NONE:
        raise ValueError("NONE is no error")
    return found


def require(value: Any, kind: type | UnionType, name: str) -> None:
    # True is a number for Python, and nobody means it as one.
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{name} is {_WORDS[kind]}, not {type(value).__name__}")


def require_one_of(name: str, names: Iterable[str], what: str) -> None:
    require(name, str, f"a {what}")
    known = tuple(names)
    if name not in known:
        near = get_close_matches(name, known, 1)
        raise ValueError(f"{name} is no {what}" + (f": did you mean {near[0]}?" if near else ""))


_WORDS: Final[Mapping[type | UnionType, str]] = {int: "a number", int | float: "a number", str: "a text"}


def _texts(settings: Mapping[str, object]) -> dict[str, str]:
    for name in settings:
        require(name, str, "the name of a setting")
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in settings.items()}
