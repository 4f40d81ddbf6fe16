"""Real clients say who they are, over plain connections."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from tests.conformance.security.clients import CLIENTS, Access, error_of_librdkafka, librdkafka
from tests.conformance.security.nodes import PASSWORD, Nodes, plain, scram
from tests.kafka_peer.tools import Tool, java_tool

pytestmark = [pytest.mark.client]

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
SETTINGS = {
    "listeners": "CLIENTS://localhost:@,CONTROLLER://localhost:#",
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
    "listener.name.clients.plain.sasl.jaas.config": plain("alice", PASSWORD),
    "listener.name.clients.scram-sha-512.sasl.jaas.config": scram("node", PASSWORD),
}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with Nodes(tmp_path_factory.mktemp("sasl"), SETTINGS) as node:
        node.wait()
        yield node
        said = "".join(node.log(1).read_text())
        assert PASSWORD not in said


def access(node: Nodes, mechanism: str, password: str = PASSWORD) -> Access:
    return Access(node.bootstrap, "SASL_PLAINTEXT", mechanism, "alice", password)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_knows_its_password(node: Nodes, client: str, mechanism: str) -> None:
    found = CLIENTS[client](access(node, mechanism), f"t-{client}-{mechanism}")
    assert found in (b"rd", b"kp", b"ai")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_client_that_does_not_is_told_so(node: Nodes, mechanism: str) -> None:
    error = error_of_librdkafka(access(node, mechanism, "guessed"))
    assert "uthentication" in error, error
    assert "guessed" not in error


def test_a_user_is_added_changed_and_deleted(node: Nodes) -> None:
    admin = AdminClient(librdkafka(access(node, "PLAIN")))
    for password in ("first", "second"):
        change = UserScramCredentialUpsertion(
            "bob", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192), password.encode()
        )
        admin.alter_user_scram_credentials([change])["bob"].result(10)
        bob = access(node, "SCRAM-SHA-256", password)._replace(user="bob")
        assert CLIENTS["librdkafka"](bob, "t-of-bob") == b"rd"
    found = admin.describe_user_scram_credentials(["bob"])["bob"].result(10)
    (info,) = found.scram_credential_infos
    assert (info.mechanism, info.iterations) == (ScramMechanism.SCRAM_SHA_256, 8192)
    admin.alter_user_scram_credentials([UserScramCredentialDeletion("bob", ScramMechanism.SCRAM_SHA_256)])[
        "bob"
    ].result(10)
    assert "uthentication" in error_of_librdkafka(bob)
    with pytest.raises(KafkaException, match="RESOURCE_NOT_FOUND"):
        admin.describe_user_scram_credentials(["bob"])["bob"].result(10)


@pytest.mark.java
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafkas_tools_log_in(node: Nodes, mechanism: str, tmp_path: Path) -> None:
    module = plain("alice", PASSWORD) if mechanism == "PLAIN" else scram("alice", PASSWORD)
    config = tmp_path / "client.properties"
    config.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config={module}\n")
    done = java_tool(Tool.TOPICS, "--bootstrap-server", node.bootstrap, "--command-config", config, "--list")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.java
def test_kafkas_tool_makes_a_user(node: Nodes, tmp_path: Path) -> None:
    """It salts the password itself."""
    config = tmp_path / "admin.properties"
    module = plain("alice", PASSWORD)
    config.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={module}\n")
    made = ("--alter", "--entity-type", "users", "--entity-name", "java")
    added = ("--add-config", "SCRAM-SHA-512=[iterations=8192,password=simple]")
    done = java_tool(Tool.CONFIGS, "--bootstrap-server", node.bootstrap, "--command-config", config, *made, *added)
    assert done.returncode == 0, done.stdout + done.stderr
    java = access(node, "SCRAM-SHA-512", "simple")._replace(user="java")
    assert CLIENTS["librdkafka"](java, "t-of-java") == b"rd"
