"""What whoever wants to log in is answered, step by step, and whether the connection is there afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.testing import Broker
from tests.conformance.beside_kafka.side import CLOSED, Side
from tests.conformance.security.nodes import plain
from tests.kafka_peer import KafkaPeer

pytestmark = [pytest.mark.java]

SETTINGS = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": plain("alice", "secret"),
    "listener.name.plaintext.scram-sha-256.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
    "connection.failed.authentication.delay.ms": "0",
}
Step = tuple[str, int, dict[str, Any]]
GREET: Step = ("ApiVersions", 3, {"client_software_name": "c", "client_software_version": "1"})
PLAIN: Step = ("SaslHandshake", 1, {"mechanism": "PLAIN"})
SCRAM: Step = ("SaslHandshake", 1, {"mechanism": "SCRAM-SHA-256"})
METADATA: Step = ("Metadata", 9, {"topics": []})


def token(text: str, version: int = 2) -> Step:
    return "SaslAuthenticate", version, {"auth_bytes": text.encode()}


SITUATIONS: dict[str, list[Step]] = {
    "knows": [GREET, PLAIN, token("\0alice\0secret"), METADATA],
    "acts for himself": [PLAIN, token("alice\0alice\0secret"), METADATA],
    "knows, in an old version": [PLAIN, token("\0alice\0secret", 0), METADATA],
    "does not know": [GREET, PLAIN, token("\0alice\0guessed"), METADATA],
    "is nobody": [PLAIN, token("\0nobody\0secret")],
    "acts for another": [PLAIN, token("admin\0alice\0secret")],
    "says nothing": [PLAIN, token("")],
    "begins in an unknown way": [("SaslHandshake", 1, {"mechanism": "DIGEST-MD5"}), METADATA],
    "does not begin": [token("\0alice\0secret")],
    "asks at once": [METADATA],
    "begins twice": [PLAIN, PLAIN],
    "begins again": [PLAIN, token("\0alice\0secret"), PLAIN, METADATA],
    "says it again": [PLAIN, token("\0alice\0secret"), token("\0alice\0secret"), METADATA],
    "is nobody to SCRAM and gives up": [SCRAM, token("n=nobody,r=abc")],
}


@pytest.fixture(scope="module")
def ports() -> Iterator[dict[str, int]]:
    with KafkaPeer(properties=SETTINGS) as kafka, Broker(SETTINGS, beside=True) as ours:
        yield {"Kafka": kafka.port, "Penstock": ours.port}


def lived(name: str, port: int, steps: list[Step]) -> list[Any]:
    side = Side(name, port)
    seen: list[Any] = []
    for api, version, values in steps:
        found = side.ask_raw(api, version, **values)
        if found.seen == CLOSED:
            seen.append(CLOSED)
            break
        message = found.message
        code, text = getattr(message, "error_code", None), getattr(message, "error_message", None)
        seen.append((api, code, text or None, sorted(getattr(message, "mechanisms", ()))))
    side.close()
    return seen


@pytest.mark.parametrize("situation", SITUATIONS)
def test_both_answer_alike(ports: dict[str, int], situation: str) -> None:
    theirs, ours = (lived(name, port, SITUATIONS[situation]) for name, port in ports.items())
    assert ours == theirs
