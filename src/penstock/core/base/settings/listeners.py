"""Listeners: from `NAME://host:port` and the map of security protocols to addresses a node can open."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from penstock.core.base.settings.key import SettingError

PLAINTEXT: Final = "PLAINTEXT"
PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_ENDPOINT: Final = r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]{1,5})"
_PORT_MAX: Final = 65535


class Endpoint(NamedTuple):
    """One listener; an empty host stands for every interface."""

    name: str
    protocol: str
    host: str
    port: int


def read_endpoints(setting: str, entries: tuple[str, ...], protocols: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """The endpoints of a list of listeners; names are upper case, and no two are alike."""
    endpoints = tuple(_read_endpoint(setting, entry, protocols) for entry in entries)
    if len({endpoint.name for endpoint in endpoints}) < len(endpoints):
        raise SettingError(f"{setting}: each listener must have a different name, listeners: {', '.join(entries)}")
    return endpoints


def _read_endpoint(setting: str, entry: str, protocols: Mapping[str, str]) -> Endpoint:
    match = re.fullmatch(_ENDPOINT, entry)
    if not match or int(match[3]) > _PORT_MAX:
        raise SettingError(f"{setting}: unable to parse {entry} to a broker endpoint, expected NAME://host:port")
    name = match[1].upper()
    if name not in protocols:
        hint = "add it to listener.security.protocol.map"
        raise SettingError(f"{setting}: no security protocol defined for listener {name}; {hint}")
    return Endpoint(name, protocols[name], match[2], int(match[3]))


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
        )
