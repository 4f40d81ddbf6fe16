"""What listeners that encrypt or authenticate ask of a node's other settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from penstock.core.base.endpoints import AUTHENTICATING, ENCRYPTING, Endpoint
from penstock.core.base.mechanisms import KERBEROS, MECHANISMS, MODULES, OAUTHBEARER, PLAIN, WITH_PASSWORDS
from penstock.core.base.settings.key import SettingError
from penstock.core.base.settings.listeners import Listeners, inter_broker_listener
from penstock.core.base.settings.oauth_rules import callback_rules, oauth_rules
from penstock.core.base.settings.per_listener import JAAS, ListenerSettings
from penstock.core.base.settings.principal_rules import read_principal_rules

Broken = Iterator[tuple[str, str]]
_OFFERED: Final = "sasl.enabled.mechanisms"
TLS_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")


def security_rules(values: Mapping[str, Any], listeners: Listeners) -> Broken:
    """What is missing for the listeners that this node opens."""
    for endpoint in (*listeners.broker, *listeners.controller):
        own = ListenerSettings(values, endpoint.name)
        if endpoint.protocol in ENCRYPTING:
            yield from _encrypting(endpoint, own)
        if endpoint.protocol in AUTHENTICATING:
            yield from _authenticating(endpoint, own)
    if listeners.advertised:
        yield from _between_brokers(values, listeners)
    yield from _to_controllers(values, listeners)


def _encrypting(endpoint: Endpoint, own: ListenerSettings) -> Broken:
    if not (own["ssl.keystore.location"] or own["ssl.keystore.key"]):
        yield (
            "ssl.keystore.location",
            f"listener {endpoint.name} encrypts and has no certificate: set ssl.keystore.location to a PEM or PKCS12 "
            "file and ssl.keystore.type to which of them, or ssl.keystore.key and ssl.keystore.certificate.chain",
        )
    unknown = [name for name in own["ssl.enabled.protocols"] if name not in TLS_VERSIONS]
    if unknown:
        yield "ssl.enabled.protocols", f"{', '.join(unknown)} is not spoken: only {' and '.join(TLS_VERSIONS)} are"
    try:
        read_principal_rules(own["ssl.principal.mapping.rules"])
    except SettingError as error:
        yield "ssl.principal.mapping.rules", str(error)


def _authenticating(endpoint: Endpoint, own: ListenerSettings) -> Broken:
    offered = own[_OFFERED]
    if not offered:
        yield _OFFERED, f"listener {endpoint.name} offers no mechanism: set {_OFFERED} to some of {_some()}"
    for mechanism in offered:
        if mechanism == KERBEROS:
            yield _OFFERED, f"listener {endpoint.name}: Kerberos (GSSAPI) is not supported; set {_OFFERED} to {_some()}"
        elif mechanism not in MECHANISMS:
            yield _OFFERED, f"listener {endpoint.name}: {mechanism} is not supported; there are {_some()}"
        else:
            yield from _login_module(endpoint, own, mechanism)
            yield from oauth_rules(endpoint, own) if mechanism == OAUTHBEARER else callback_rules(own, mechanism)


def _login_module(endpoint: Endpoint, own: ListenerSettings, mechanism: str) -> Broken:
    name = own.name_of(mechanism, JAAS)
    try:
        module = own.login_module(mechanism)
    except SettingError as error:
        yield name, f"{name} cannot be read: {error}"
        return
    if mechanism == PLAIN and (module is None or not module.users):
        yield (
            name,
            f"listener {endpoint.name} offers PLAIN and knows no users: set {name} to "
            f'{MODULES[PLAIN]} required user_NAME="PASSWORD";',
        )


def _between_brokers(values: Mapping[str, Any], listeners: Listeners) -> Broken:
    listener = inter_broker_listener(values, listeners)
    key = "sasl.mechanism.inter.broker.protocol"
    yield from _logging_in(values, listeners, listener, key, ListenerSettings(values, listener)[key])


def _to_controllers(values: Mapping[str, Any], listeners: Listeners) -> Broken:
    key = "sasl.mechanism.controller.protocol"
    for name in values["controller.listener.names"][:1]:
        yield from _logging_in(values, listeners, name.upper(), key, values[key])


def _logging_in(values: Mapping[str, Any], listeners: Listeners, listener: str, key: str, mechanism: str) -> Broken:
    """Whether this node can say who it is where it asks others."""
    if listeners.protocols.get(listener) not in AUTHENTICATING:
        return
    own = ListenerSettings(values, listener)
    name = own.name_of(mechanism, JAAS)
    if mechanism not in WITH_PASSWORDS:
        some = ", ".join(WITH_PASSWORDS)
        yield key, f"nodes ask each other at {listener} with {mechanism}, which is not supported; set {key} to {some}"
        return
    try:
        module = own.login_module(mechanism)
    except SettingError:
        return  # It is a listener of this node, and said already.
    if module is None or module.login is None:
        yield (
            name,
            f'nodes log in at {listener}: set {name} to {MODULES[mechanism]} required username="..." password="...";',
        )


def _some() -> str:
    return ", ".join(MECHANISMS)
