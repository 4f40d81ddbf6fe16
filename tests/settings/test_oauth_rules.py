"""What listeners that take signed tokens ask for, said in one line each."""

from __future__ import annotations

import pytest

from penstock.core.base.settings import BrokerSettings, SettingError
from penstock.core.base.settings.oauth_rules import VALIDATOR
from tests.settings.minimal import MINIMAL

LISTENER = "listener.name.clients"
WITH_TOKENS = {
    **MINIMAL,
    "listeners": "CLIENTS://:9092,NODES://:9094,CONTROLLER://:9093",
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,NODES:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "NODES",
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    f"{LISTENER}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": "file:///keys.json",
    f"{LISTENER}.oauthbearer.sasl.server.callback.handler.class": VALIDATOR,
    f"{LISTENER}.oauthbearer.sasl.jaas.config": (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
    ),
}


def problems(**changes: str | None) -> str:
    given = {**WITH_TOKENS, **{name.replace("_", "."): value for name, value in changes.items()}}
    with pytest.raises(SettingError) as error:
        BrokerSettings({name: value for name, value in given.items() if value is not None})
    return "\n".join(error.value.problems)


def test_a_file_that_was_written_for_kafka() -> None:
    own = BrokerSettings(WITH_TOKENS).of_listener("CLIENTS")
    assert own.of_mechanism("OAUTHBEARER", "sasl.oauthbearer.jwks.endpoint.url") == "file:///keys.json"


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        (f"{LISTENER}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url", None, "no keys to check tokens with"),
        (f"{LISTENER}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url", "ftp://idp/keys", "is no place to read keys"),
        (f"{LISTENER}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url", "file://host/keys", "is no place to read keys"),
        (f"{LISTENER}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url", "keys.json", "is no place to read keys"),
        ("sasl.oauthbearer.jwks.endpoint.refresh.ms", "0", "at least 1 ms"),
        ("sasl.oauthbearer.clock.skew.seconds", "-1", "at least 0 s"),
        (
            f"{LISTENER}.oauthbearer.sasl.server.callback.handler.class",
            "org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler",
            "cannot be run; for OAUTHBEARER it may be",
        ),
        ("sasl.oauthbearer.jwt.validator.class", "com.example.Mine", "a Java class that Penstock cannot run"),
        ("inter.broker.listener.name", "CLIENTS", "nodes ask each other at CLIENTS with"),
    ],
)
def test_what_is_wrong_is_said(name: str, value: str | None, complaint: str) -> None:
    more = {"sasl.mechanism.inter.broker.protocol": "OAUTHBEARER"} if name == "inter.broker.listener.name" else {}
    assert complaint in problems(**{name: value, **more})
