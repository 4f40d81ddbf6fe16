"""Real clients over TLS: with a password, with a certificate, with both, and with neither."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conformance.security.clients import CLIENTS, Access, error_of_librdkafka
from tests.conformance.security.nodes import PASSWORD, Nodes, plain, scram
from tests.kafka_peer.tools import Tool, java_tool
from tests.tls.certificates import STORE_PASSWORD, Files, files

pytestmark = [pytest.mark.client]

SETTINGS = {
    "listeners": "CLIENTS://localhost:@,MUTUAL://localhost:%,CONTROLLER://localhost:#",
    "listener.security.protocol.map": "CLIENTS:SASL_SSL,MUTUAL:SSL,CONTROLLER:SASL_SSL",
    "inter.broker.listener.name": "CLIENTS",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
    "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.clients.plain.sasl.jaas.config": plain("alice", PASSWORD),
    "listener.name.clients.scram-sha-512.sasl.jaas.config": scram("node", PASSWORD),
    "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.controller.plain.sasl.jaas.config": plain("node", PASSWORD),
    "listener.name.mutual.ssl.client.auth": "required",
    "listener.name.mutual.ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/L",
}
COUNT = 3


class Town(NamedTuple):
    nodes: Nodes
    client: Files

    def access(self, mechanism: str, password: str = PASSWORD) -> Access:
        return Access(self.nodes.bootstrap, "SASL_SSL", mechanism, "alice", password, self.client.ca)

    @property
    def mutual(self) -> Access:
        where = f"localhost:{self.nodes.inner_port}"
        return Access(where, "SSL", ca=self.client.ca, certificate=self.client.certificate, key=self.client.key)


def stores(node: Files) -> dict[str, str]:
    """PKCS12 for a listener, PEM for others."""
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": node.pem,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": node.ca,
        "listener.name.mutual.ssl.keystore.type": "PKCS12",
        "listener.name.mutual.ssl.keystore.location": node.pkcs12,
        "listener.name.mutual.ssl.keystore.password": STORE_PASSWORD,
    }


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """Three nodes that talk to each other in the same way."""
    folder = tmp_path_factory.mktemp("tls")
    with Nodes(folder, {**SETTINGS, **stores(files(folder, "node"))}, COUNT) as nodes:
        for number in range(1, COUNT + 1):
            nodes.wait(number)
        yield Town(nodes, files(folder, "Alice"))
        said = "".join(nodes.log(number).read_text() for number in range(1, COUNT + 1))
        assert PASSWORD not in said
        assert STORE_PASSWORD not in said


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
@pytest.mark.parametrize("client", CLIENTS)
def test_with_a_password(town: Town, client: str, mechanism: str) -> None:
    assert CLIENTS[client](town.access(mechanism), f"t-{client}-{mechanism}") in (b"rd", b"kp", b"ai")


@pytest.mark.parametrize("client", CLIENTS)
def test_with_a_certificate(town: Town, client: str) -> None:
    assert CLIENTS[client](town.mutual, f"m-{client}") in (b"rd", b"kp", b"ai")


def test_without_what_is_asked_for(town: Town, tmp_path: Path) -> None:
    assert error_of_librdkafka(town.mutual._replace(certificate=None, key=None))
    assert "uthentication" in error_of_librdkafka(town.access("PLAIN", "guessed"))
    assert error_of_librdkafka(town.access("PLAIN")._replace(protocol="SASL_PLAINTEXT"))


@pytest.mark.java
def test_kafkas_tools_over_both(town: Town, tmp_path: Path) -> None:
    trust = f"ssl.truststore.type=PEM\nssl.truststore.location={town.client.ca}\n"
    sasl, mutual = tmp_path / "sasl.properties", tmp_path / "mutual.properties"
    module = scram("alice", PASSWORD)
    sasl.write_text(f"{trust}security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config={module}\n")
    own = f"ssl.keystore.type=PKCS12\nssl.keystore.location={town.client.pkcs12}\n"
    secret = f"ssl.keystore.password={STORE_PASSWORD}\nssl.key.password={STORE_PASSWORD}\n"
    mutual.write_text(f"{trust}security.protocol=SSL\n{own}{secret}")
    for where, config in ((town.nodes.bootstrap, sasl), (town.mutual.bootstrap, mutual)):
        done = java_tool(Tool.TOPICS, "--bootstrap-server", where, "--command-config", config, "--list")
        assert done.returncode == 0, done.stdout + done.stderr
