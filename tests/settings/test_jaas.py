"""JAAS in settings, and what listeners that authenticate ask for."""

from __future__ import annotations

import pytest

from penstock.core.base.settings import BrokerSettings, SettingError, describe_broker
from penstock.core.base.settings.jaas import read_jaas
from tests.settings.minimal import MINIMAL

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
USERS = f'{PLAIN_MODULE} required username="node" password="n;o=d e" user_node="n;o=d e" user_alice=\'a"b\';'
SECURE = {
    **MINIMAL,
    "listeners": "CLIENTS://:9092,CONTROLLER://:9093",
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.clients.plain.sasl.jaas.config": USERS,
}


def test_a_login_module_is_read() -> None:
    module = read_jaas(USERS)
    assert module.name == PLAIN_MODULE
    assert module.users == {"node": "n;o=d e", "alice": 'a"b'}
    assert module.login == ("node", "n;o=d e")
    escaped = read_jaas('  M  REQUIRED\n  user_a = "x\\"y\\\\z"  user_b=plain;  ')
    assert escaped.users == {"a": 'x"y\\z', "b": "plain"}
    assert escaped.login is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "M required",
        "M;",
        "M sometimes a=b;",
        "M required secret;",
        'M required a="secret;',
        "M required; N required;",
    ],
)
def test_what_is_wrong_is_told_without_the_secret(text: str) -> None:
    with pytest.raises(SettingError) as error:
        read_jaas(text)
    assert "secret" not in str(error.value)


def test_a_listener_has_its_own_settings() -> None:
    settings = BrokerSettings({**SECURE, "listener.name.clients.connections.max.reauth.ms": "5000"})
    clients, controllers = settings.of_listener("CLIENTS"), settings.of_listener("CONTROLLER")
    assert clients["connections.max.reauth.ms"] == 5000
    assert controllers["connections.max.reauth.ms"] == 0
    assert clients.of_mechanism("PLAIN", "connections.max.reauth.ms") == 5000
    module = clients.login_module("PLAIN")
    assert module is not None
    assert module.users["alice"] == 'a"b'
    assert controllers.login_module("PLAIN") is None
    assert settings.inter_broker_listener == "CLIENTS"


def test_passwords_are_not_described() -> None:
    described = {each.name: each for each in describe_broker(BrokerSettings(SECURE))}
    found = described["listener.name.clients.plain.sasl.jaas.config"]
    assert found.is_sensitive
    assert found.value is None
    assert not any(origin.value for origin in found.synonyms)
    assert "n;o=d" not in repr(BrokerSettings(SECURE).of_listener("CLIENTS").of_mechanism("PLAIN", "sasl.jaas.config"))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"sasl.enabled.mechanisms": "GSSAPI"}, "Kerberos (GSSAPI) is not supported"),
        ({"sasl.enabled.mechanisms": "DIGEST-MD5"}, "DIGEST-MD5 is not supported"),
        ({"sasl.enabled.mechanisms": ""}, "offers no mechanism"),
        ({"listener.name.clients.plain.sasl.jaas.config": f"{PLAIN_MODULE} required;"}, "knows no users"),
        ({"listener.name.clients.plain.sasl.jaas.config": "nonsense"}, "cannot be read"),
        ({"sasl.mechanism.inter.broker.protocol": "GSSAPI"}, "with GSSAPI, which is not supported"),
        ({"sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512"}, "nodes log in at CLIENTS"),
        ({"sasl.jaas.config": USERS}, "it is for one listener and mechanism"),
        ({"security.inter.broker.protocol": "SASL_PLAINTEXT"}, "there is no advertised listener SASL_PLAINTEXT"),
        (
            {"listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"},
            "nodes ask each other at CONTROLLER with GSSAPI",
        ),
    ],
)
def test_what_is_missing_is_said(changes: dict[str, str], complaint: str) -> None:
    with pytest.raises(SettingError) as error:
        BrokerSettings({**SECURE, **changes})
    assert complaint in str(error.value)
    assert "n;o=d" not in str(error.value)
