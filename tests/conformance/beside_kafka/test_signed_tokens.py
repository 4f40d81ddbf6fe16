"""Which signed tokens let in, and what whoever shows another one hears: the same of both brokers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.testing import Broker
from tests.conformance.beside_kafka.side import CLOSED, Side
from tests.kafka_peer import KafkaPeer
from tests.kafka_peer.peer import QUICK_START_FLAGS
from tests.oauth.minting import confused, jwk, jwks, mint, packed, unsigned

pytestmark = [pytest.mark.java]

PACKAGE = "org.apache.kafka.common.security.oauthbearer"
ALLOWED = "-Dorg.apache.kafka.sasl.oauthbearer.allowed"


def of(algorithm: str = "RS256", name: str = "one", /, header: dict[str, Any] | None = None, **changes: Any) -> str:
    return mint({**usual(), **changes}, algorithm, name, **(header or {}))


def usual() -> dict[str, Any]:
    now_s = int(time.time())
    return {"sub": "alice", "iss": "https://idp", "aud": "kafka", "iat": now_s, "exp": now_s + 3_600}


def tokens() -> dict[str, str]:
    """As they are now: some of them end within seconds."""
    now_s = int(time.time())
    return {
        "usual": of(),
        "for several": of(aud=["x", "kafka"]),
        "for another": of(aud="billing"),
        "for nobody": of(aud=None),
        "by another": of(iss="https://evil"),
        "by nobody": of(iss=None),
        "expired": of(iat=now_s - 600, exp=now_s - 60),
        "expired within the skew": of(iat=now_s - 600, exp=now_s - 5),
        "that ends before it was made": of(exp=now_s - 5),
        "that ends before it is good": of(nbf=now_s + 10, exp=now_s + 5),
        "without an end": of(exp=None),
        "without a beginning": of(iat=None),
        "made tomorrow": of(iat=now_s + 600),
        "not yet": of(nbf=now_s + 600),
        "not yet, within the skew": of(nbf=now_s + 10),
        "about nobody": of(sub=None),
        "about a blank": of(sub="  "),
        "about a number": of(sub=7),
        "with a scope": of(scope="read write"),
        "with scopes": of(scope=["read", "write"]),
        "with a scope twice": of(scope=["read", "read"]),
        "with an empty scope": of(scope=""),
        "of a curve": of("ES256", "two"),
        "of another size": of(header={"alg": "RS512"}),
        "of an unknown key": of(header={"kid": "nine"}),
        "of another's key": of(header={"kid": "three"}),
        "of a key of another kind": of(header={"kid": "two"}),
        "with extensions": of(header={"crit": ["x"], "x": 1}),
        "with another type": of(header={"typ": "at+jwt"}),
        "unsigned": f"{unsigned(usual(), alg='none')}.",
        "unsigned, with a signature": f"{unsigned(usual(), alg='none')}.{packed(b'x')}",
        "with a public key for a secret": confused(),
        "cut": of()[:-20],
        "two parts": of().rpartition(".")[0],
        "a word": "garbage",
    }


def messages() -> dict[str, str]:
    """First messages. Of a scheme that is not Bearer Kafka's parser stumbles, and hangs up; so that is not compared."""
    made = tokens()
    return {
        **{name: f"n,,\1auth=Bearer {token}\1\1" for name, token in made.items()},
        "for himself": f"n,a=alice,\1auth=Bearer {made['usual']}\1\1",
        "for root": f"n,a=root,\1auth=Bearer {made['usual']}\1\1",
        "with more to say": f"n,,\1auth=Bearer {made['usual']}\1traceId=7\1\1",
        "with small letters": f"n,,\1auth=bearer {made['usual']}\1\1",
        "no end": f"n,,\1auth=Bearer {made['usual']}\1",
        "nothing": "",
        "only an end": "\1",
    }


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, int]]:
    keys: Path = tmp_path_factory.mktemp("keys") / "keys.json"
    keys.write_bytes(jwks(jwk("RS256"), jwk("ES256", "two"), jwk("RS256", "three")))
    own = "listener.name.plaintext.oauthbearer"
    settings = {
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listener.name.plaintext.sasl.enabled.mechanisms": "OAUTHBEARER,PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": (
            'org.apache.kafka.common.security.plain.PlainLoginModule required username="n" password="p" user_n="p";'
        ),
        f"{own}.sasl.jaas.config": f"{PACKAGE}.OAuthBearerLoginModule required;",
        f"{own}.sasl.server.callback.handler.class": f"{PACKAGE}.OAuthBearerValidatorCallbackHandler",
        f"{own}.sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        f"{own}.sasl.oauthbearer.expected.audience": "kafka",
        f"{own}.sasl.oauthbearer.expected.issuer": "https://idp",
        "connection.failed.authentication.delay.ms": "0",
    }
    flags = (*QUICK_START_FLAGS, f"{ALLOWED}.urls={keys.as_uri()}", f"{ALLOWED}.files={keys}")
    with KafkaPeer(properties=settings, flags=flags) as kafka, Broker(settings, beside=True) as ours:
        yield {"Kafka": kafka.port, "Penstock": ours.port}


def heard(name: str, port: int, message: str) -> list[Any]:
    """What comes to a first message, and to the byte that follows on a refusal; and roughly how long one is in."""
    side = Side(name, port)
    assert side.ask("SaslHandshake", 1, mechanism="OAUTHBEARER")["error_code"] == 0
    seen: list[Any] = []
    for token in (message.encode(), b"\1"):
        answer = side.ask_raw("SaslAuthenticate", 2, auth_bytes=token)
        if answer.seen == CLOSED:
            seen.append(CLOSED)
            break
        said = answer.message
        seen.append((said.error_code, said.error_message, bytes(said.auth_bytes)))
        if said.error_code or not said.auth_bytes:
            seen.append(round(said.session_lifetime_ms / 60_000))
            break
    side.close()
    return seen


@pytest.mark.parametrize("case", messages())
def test_both_hear_the_same(ports: dict[str, int], case: str) -> None:
    theirs, ours = (heard(name, port, messages()[case]) for name, port in ports.items())
    assert ours == theirs
