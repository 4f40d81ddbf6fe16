"""Delegation tokens in the hands of Kafka's tools, of our commands and of our client, on a node that asks who it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.librdkafka import librdkafka_security
from penstock.client.security import security_of
from tests.conformance.security.nodes import PASSWORD, Nodes, plain
from tests.conformance.security.test_own_client import run
from tests.kafka_peer.tools import Tool, java_tool

pytestmark = [pytest.mark.client]

SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
SETTINGS = {
    "listeners": "CLIENTS://localhost:@,CONTROLLER://localhost:#",
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.clients.plain.sasl.jaas.config": plain("alice", PASSWORD),
    "delegation.token.secret.key": "a secret of the tests",
}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with Nodes(tmp_path_factory.mktemp("tokens"), SETTINGS) as node:
        node.wait()
        yield node
        assert "a secret of the tests" not in node.log(1).read_text()


def settings(node: Nodes, mechanism: str, jaas: str) -> dict[str, str]:
    return {
        "bootstrap.servers": node.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": jaas,
    }


def written(path: Path, given: dict[str, str]) -> str:
    path.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
    return str(path)


@pytest.fixture
def alice(node: Nodes, tmp_path: Path) -> str:
    return written(tmp_path / "alice.properties", settings(node, "PLAIN", plain("alice", PASSWORD)))


def test_a_token_from_the_first_to_the_last_command(node: Nodes, alice: str, tmp_path: Path) -> None:
    as_alice = ("--command-config", alice)
    printed = run("token", "create", "--renewer", "bob", "--lifetime", "2d", *as_alice)
    way_in = dict(line.split("=", 1) for line in printed.splitlines())
    with_token = {**settings(node, "", ""), **way_in}
    job = ("--command-config", written(tmp_path / "job.properties", with_token))
    run("topic", "create", "of-the-job", *job)
    run("produce", "of-the-job", *job, input="one\n")
    assert run("consume", "of-the-job", "--from", "earliest", *job).split() == ["one"]
    (found,) = json.loads(run("token", "list", "--owner", "alice", "--output", "json", *as_alice))
    assert (found["owner"], found["renewers"]) == ("User:alice", ["User:bob"])
    assert found["latest_ms"] - found["issued_ms"] == 2 * 86_400_000
    assert "hmac" not in found
    assert found["token"] in run("token", "list", *as_alice)
    run("token", "renew", found["token"], "--for", "1h", *as_alice)
    (renewed,) = json.loads(run("token", "list", "--output", "json", *as_alice))
    assert renewed["expires_ms"] < found["expires_ms"]
    run("token", "expire", found["token"], *as_alice)
    assert json.loads(run("token", "list", "--output", "json", *as_alice)), "nothing was done yet"
    run("token", "expire", found["token"], "--execute", *as_alice)
    assert json.loads(run("token", "list", "--output", "json", *as_alice)) == []
    with (
        pytest.raises(ClientError, match="does not let us in"),
        Client(node.bootstrap, security=security_of(with_token)) as client,
    ):
        client.topics()


def test_a_token_makes_none_and_librdkafka_shows_none(node: Nodes, alice: str) -> None:
    made = json.loads(run("token", "create", "--output", "json", "--command-config", alice))
    jaas = f'{SCRAM_MODULE} required username="{made["token"]}" password="{made["hmac"]}" tokenauth="true";'
    given = settings(node, "SCRAM-SHA-512", jaas)
    with Client(node.bootstrap, security=security_of(given)) as client:
        from penstock.client.delegation_tokens import create_token

        with pytest.raises(ClientError, match="DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"):
            create_token(client)
    with pytest.raises(ClientError, match="librdkafka cannot show a delegation token"):
        librdkafka_security(given)


@pytest.mark.java
def test_kafkas_tool_and_kafkas_client(node: Nodes, alice: str, tmp_path: Path) -> None:
    where = ("--bootstrap-server", node.bootstrap, "--command-config")
    made = java_tool(Tool.DELEGATION_TOKENS, *where, alice, "--create", "--max-life-time-period", "-1")
    assert made.returncode == 0, made.stdout + made.stderr
    match = re.search(r"^(\S+)\s+(\S+==)\s+User:alice", made.stdout, re.MULTILINE)
    assert match, made.stdout
    token, proof = match.groups()
    seen = java_tool(Tool.DELEGATION_TOKENS, *where, alice, "--describe", "--owner-principal", "User:alice")
    assert token in seen.stdout
    jaas = f'{SCRAM_MODULE} required username="{token}" password="{proof}" tokenauth="true";'
    job = written(tmp_path / "job.properties", settings(node, "SCRAM-SHA-512", jaas))
    listed = java_tool(Tool.TOPICS, *where, job, "--list")
    assert listed.returncode == 0, listed.stdout + listed.stderr
    renewed = java_tool(Tool.DELEGATION_TOKENS, *where, alice, "--renew", "--renew-time-period", "-1", "--hmac", proof)
    assert "Completed renew operation" in renewed.stdout, renewed.stdout + renewed.stderr
    ended = java_tool(Tool.DELEGATION_TOKENS, *where, alice, "--expire", "--expiry-time-period", "-1", "--hmac", proof)
    assert "Completed expire operation" in ended.stdout, ended.stdout + ended.stderr
    refused = java_tool(Tool.TOPICS, *where, job, "--list")
    assert refused.returncode != 0
    assert "Authentication" in refused.stdout + refused.stderr
