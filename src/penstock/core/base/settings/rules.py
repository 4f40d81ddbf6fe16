"""What must hold between settings, and what one node cannot do: each rule yields a setting's name and a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from penstock.core.base.endpoints import Endpoint
from penstock.core.base.settings.authorizer_rules import authorizer_rules
from penstock.core.base.settings.key import SettingError
from penstock.core.base.settings.listeners import Listeners, misspelled, read_endpoints, read_protocols
from penstock.core.base.settings.role_rules import listener_rules, quorum_rules
from penstock.core.base.settings.security_rules import security_rules

Values = Mapping[str, Any]
Broken = Iterator[tuple[str, str]]

_CODECS: Final = range(5)
_MIB: Final = 1 << 20
RACK_AWARE_SELECTOR: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
_LISTS: Final = ("listeners", "advertised.listeners")
_PROTOCOLS: Final = "listener.security.protocol.map"
_IP_LIMIT: Final = r"\[?([0-9a-zA-Z\-%._:]+)\]?:([0-9]+)"


_ASSIGNORS: Final = ("uniform", "range")


class UnsoundValue(Exception):
    """A rule has asked for a value that is missing, or refused for itself."""


class SoundValues(Mapping[str, Any]):
    """All values but those that are none: nothing is to be said of what stands in their place."""

    def __init__(self, values: Values, unsound: Collection[str]) -> None:
        self._values = values
        self._unsound = unsound

    def __getitem__(self, name: str) -> Any:
        if name in self._unsound:
            raise UnsoundValue(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def broken_rules(values: Values, given: Collection[str]) -> Broken:
    """What the rules say; one that needs a value which is no sound one says nothing."""
    for rule in _rules(given):
        try:
            yield from rule(values)
        except UnsoundValue:
            continue


def _rules(given: Collection[str]) -> tuple[Callable[[Values], Broken], ...]:
    return (
        _identity,
        quorum_rules,
        _directories,
        _times,
        _compaction,
        _replication,
        _codecs_of_coordinators,
        _memory_of_requests,
        _connection_limits,
        _keys,
        authorizer_rules,
        _assignor_rules,
        lambda values: _listeners(values, given),
    )


def _keys(values: Values) -> Broken:
    if values["penstock.encryption.keys.file"] and values["penstock.encryption.keys.command"]:
        yield "penstock.encryption.keys.command", "keys come from a file or from a command: set one of them"


def _identity(values: Values) -> Broken:
    if values["node.id"] < 0:
        yield "broker.id", f"Invalid value {values['node.id']} for configuration node.id: Value must be at least 0"
    if values["broker.id"] != values["node.id"]:
        yield "broker.id", "You must set `node.id` to the same value as `broker.id`."


def _directories(values: Values) -> Broken:
    name = "log.dir" if values["log.dirs"] is None else "log.dirs"
    if len(values[name]) > 1:
        yield name, f"a node has one log directory: give {name} one path"
    cordoned = values["cordoned.log.dirs"]
    if "*" in cordoned and len(cordoned) > 1:
        yield "cordoned.log.dirs", "When cordoned.log.dirs is set to *, it must not contain other values"
    elif unknown := [path for path in cordoned if path != "*" and path not in values[name]]:
        yield (
            "cordoned.log.dirs",
            "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. "
            f"Missing entries : {', '.join(unknown)}; * stands for all of a node's directories",
        )


def _times(values: Values) -> Broken:
    if values["log.roll.ms"] is not None and values["log.roll.ms"] < 1:
        yield "log.roll.ms", "log.roll.ms must be greater than or equal to 1"
    if values["log.roll.jitter.ms"] is not None and values["log.roll.jitter.ms"] < 0:
        yield "log.roll.jitter.ms", "log.roll.jitter.ms must be greater than or equal to 0"
    for name in ("log.retention.ms", "log.retention.minutes", "log.retention.hours"):
        if values[name] is not None:
            if values[name] == 0:
                yield name, f"{name} must be unlimited (-1) or, greater than or equal to 1"
            break


def _compaction(values: Values) -> Broken:
    if values["log.cleaner.dedupe.buffer.size"] <= _MIB:
        yield "log.cleaner.dedupe.buffer.size", "log.cleaner.dedupe.buffer.size must be more than 1 MiB"
    low, high = values["log.cleaner.min.compaction.lag.ms"], values["log.cleaner.max.compaction.lag.ms"]
    if low > high:
        yield (
            "log.cleaner.min.compaction.lag.ms",
            f"log.cleaner.min.compaction.lag.ms ({low}) > log.cleaner.max.compaction.lag.ms ({high})",
        )


def _replication(values: Values) -> Broken:
    wait_ms = values["replica.fetch.wait.max.ms"]
    if wait_ms > values["replica.socket.timeout.ms"]:
        yield (
            "replica.socket.timeout.ms",
            "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms "
            "to prevent unnecessary socket timeouts",
        )
    if wait_ms > values["replica.lag.time.max.ms"]:
        yield (
            "replica.fetch.wait.max.ms",
            "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms "
            "to prevent frequent changes in ISR",
        )
    if values["replica.selector.class"] not in (None, RACK_AWARE_SELECTOR):
        yield "replica.selector.class", f"Java classes cannot be run; {RACK_AWARE_SELECTOR} is built in"


def _codecs_of_coordinators(values: Values) -> Broken:
    for name in ("offsets.topic.compression.codec", "share.coordinator.state.topic.compression.codec"):
        if values[name] not in _CODECS:
            yield name, f"Unknown compression type id: {values[name]}"


def _memory_of_requests(values: Values) -> Broken:
    queued, largest = values["queued.max.request.bytes"], values["socket.request.max.bytes"]
    if 0 < queued < largest:
        yield (
            "queued.max.request.bytes",
            f"queued.max.request.bytes ({queued}) has no room for a request of socket.request.max.bytes ({largest})",
        )


def _connection_limits(values: Values) -> Broken:
    name = "max.connections.per.ip.overrides"
    try:
        overrides = ip_limits(values[name])
    except SettingError as error:
        yield name, str(error)
        return
    if values["max.connections.per.ip"] == 0 and not overrides:
        yield "max.connections.per.ip", f"max.connections.per.ip can be set to zero only if {name} property is set."


def ip_limits(text: str) -> dict[str, int]:
    """The limits of connections for certain addresses, from `host:count,host:count`."""
    limits = {}
    for entry in filter(None, re.split(r"\s*,\s*", text.strip())):
        match = re.fullmatch(_IP_LIMIT, entry)
        if not match:
            raise SettingError(f"max.connections.per.ip.overrides: {entry} is not of the form host:count")
        limits[match[1]] = int(match[2])
    return limits


def _listeners(values: Values, given: Collection[str]) -> Broken:
    """First each list for itself, so that what is wrong with one hides nothing of the other."""
    if unreadable := [(name, problem) for name in _LISTS for problem in misspelled(name, values[name] or ())]:
        yield from unreadable
        return
    try:
        protocols = read_protocols(values, _PROTOCOLS in given)
    except SettingError as error:
        yield _PROTOCOLS, str(error)
        return
    are_known = True
    for name in _LISTS:
        try:
            endpoints = read_endpoints(name, values[name] or (), protocols)
        except SettingError as error:
            are_known = False
            yield name, str(error)
            continue
        if name == "listeners":
            yield from _ports(endpoints)
    if are_known:
        listeners = Listeners.read(values, _PROTOCOLS in given)
        yield from listener_rules(values, given, listeners)
        yield from security_rules(values, listeners)


def _ports(opened: tuple[Endpoint, ...]) -> Broken:
    """Two listeners may share a port only where one address is IPv4 and the other IPv6; port 0 is any free one."""
    ports: dict[int, list[Endpoint]] = {}
    for endpoint in opened:
        if endpoint.port:
            ports.setdefault(endpoint.port, []).append(endpoint)
    for port, sharing in ports.items():
        families = [_family(endpoint.host) for endpoint in sharing]
        if len(sharing) > 1 and sorted(families) != ["IPv4", "IPv6"]:
            names = ", ".join(endpoint.name for endpoint in sharing)
            yield "listeners", f"each listener must have a different port: {names} share {port}"


def _family(host: str) -> str:
    if ":" in host:
        return "IPv6"
    return "IPv4" if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,3}){3}", host) else "name"


def _assignor_rules(values: Values) -> Broken:
    """There is no class path here from which others could come."""
    if not set(values["group.consumer.assignors"]) <= set(_ASSIGNORS):
        yield "group.consumer.assignors", f"Assignors are {' and '.join(_ASSIGNORS)}: other classes cannot be loaded"
