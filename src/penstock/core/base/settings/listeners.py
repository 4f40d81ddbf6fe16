"""Listeners: from `NAME://host:port` and the map of security protocols to addresses a node can open."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from penstock.core.base.endpoints import Endpoint, SecurityProtocol
from penstock.core.base.settings.key import SettingError

PLAINTEXT: Final = SecurityProtocol.PLAINTEXT.name
PROTOCOLS: Final = tuple(SecurityProtocol.__members__)
_ENDPOINT: Final = r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]{1,5})"
_PORT_MAX: Final = 65535


def read_endpoints(setting: str, entries: tuple[str, ...], protocols: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """The endpoints of a list of listeners; names are upper case, and no two are alike."""
    endpoints = tuple(_read_endpoint(setting, entry, protocols) for entry in entries)
    if len({endpoint.name for endpoint in endpoints}) < len(endpoints):
        raise SettingError(f"{setting}: each listener must have a different name, listeners: {', '.join(entries)}")
    return endpoints


def misspelled(setting: str, entries: tuple[str, ...]) -> list[str]:
    """What can be said of a list of listeners before anything else is known."""
    return [_unreadable(setting, entry) for entry in entries if _read(entry) is None]


def _read(entry: str) -> re.Match[str] | None:
    match = re.fullmatch(_ENDPOINT, entry)
    return match if match and int(match[3]) <= _PORT_MAX else None


def _unreadable(setting: str, entry: str) -> str:
    return f"{setting}: unable to parse {entry} to a broker endpoint, expected NAME://host:port"


def _read_endpoint(setting: str, entry: str, protocols: Mapping[str, str]) -> Endpoint:
    match = _read(entry)
    if match is None:
        raise SettingError(_unreadable(setting, entry))
    name = match[1].upper()
    if name not in protocols:
        hint = "add it to listener.security.protocol.map"
        raise SettingError(f"{setting}: no security protocol defined for listener {name}; {hint}")
    return Endpoint(name, match[2], int(match[3]), SecurityProtocol[protocols[name]])


def read_protocols(values: Mapping[str, Any], is_given: bool) -> dict[str, str]:
    """The protocol of each listener name; controller listeners are plaintext unless a map was given."""
    protocols = {}
    for entry in filter(None, re.split(r"\s*,\s*", values["listener.security.protocol.map"])):
        name, colon, protocol = entry.rpartition(":")
        if not colon or protocol not in PROTOCOLS:
            allowed = ", ".join(PROTOCOLS)
            raise SettingError(
                f"Invalid security protocol `{protocol}` defined in listener.security.protocol.map: "
                f"each entry must be NAME:PROTOCOL with one of {allowed}"
            )
        protocols[name.strip().upper()] = protocol
    if not is_given:
        protocols |= {name.upper(): PLAINTEXT for name in values["controller.listener.names"] if name not in PROTOCOLS}
    return protocols


def controller_protocols(values: Mapping[str, Any], is_given: bool) -> dict[str, str | None]:
    """The protocol of each listener that controllers have, here or elsewhere; None where nothing says which."""
    protocols = read_protocols(values, is_given)
    return {name.upper(): protocols.get(name.upper()) for name in values["controller.listener.names"]}


class Listeners(NamedTuple):
    """Where a node listens, and what it tells its clients and the other controllers."""

    broker: tuple[Endpoint, ...]
    controller: tuple[Endpoint, ...]
    advertised: tuple[Endpoint, ...]
    advertised_controller: tuple[Endpoint, ...]
    protocols: Mapping[str, int]
    """By name, those of listeners that only other nodes have included."""

    @classmethod
    def read(cls, values: Mapping[str, Any], has_map: bool) -> Listeners:
        protocols = read_protocols(values, has_map)
        controllers = {name.upper() for name in values["controller.listener.names"]}
        opened = read_endpoints("listeners", values["listeners"], protocols)
        told = values["advertised.listeners"]
        advertised = opened if told is None else read_endpoints("advertised.listeners", told, protocols)
        controller = tuple(endpoint for endpoint in opened if endpoint.name in controllers)
        # Whoever advertises only what clients need still tells other controllers where it listens.
        by_name = {endpoint.name: endpoint for endpoint in advertised}
        return cls(
            broker=tuple(endpoint for endpoint in opened if endpoint.name not in controllers),
            controller=controller,
            advertised=tuple(endpoint for endpoint in advertised if endpoint.name not in controllers),
            advertised_controller=tuple(by_name.get(endpoint.name, endpoint) for endpoint in controller),
            protocols={name: SecurityProtocol[protocol] for name, protocol in protocols.items()},
        )


def inter_broker_listener(values: Mapping[str, Any], listeners: Listeners) -> str:
    """By which listener brokers ask each other: the one that is named for it, or else that of their protocol, or else
    the first."""
    name: str = (values["inter.broker.listener.name"] or values["security.inter.broker.protocol"]).upper()
    names = [endpoint.name for endpoint in listeners.advertised]
    return name if name in names or not names else names[0]
