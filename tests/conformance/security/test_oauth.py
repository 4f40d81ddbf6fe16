"""Real clients show signed tokens: from a provider, from a file, and from nobody who may make them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient

from penstock import Producer
from penstock.client.blocking import Client
from penstock.client.security import security_of
from penstock.spark.rows.settings import ClientSettings
from tests.conformance.security.clients import TIMEOUT_S
from tests.conformance.security.nodes import PASSWORD, Nodes, plain
from tests.conformance.security.test_own_client import run
from tests.kafka_peer.tools import Tool, java_tool
from tests.oauth.minting import NOW_S, confused, unsigned
from tests.oauth.provider import CLIENT, SECRET, Provider
from tests.waiting import wait_until

pytestmark = [pytest.mark.client]

PACKAGE = "org.apache.kafka.common.security.oauthbearer"
SETTINGS = {
    "listeners": "CLIENTS://localhost:@,NODES://localhost:%,CONTROLLER://localhost:#",
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,NODES:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "NODES",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.clients.sasl.enabled.mechanisms": "OAUTHBEARER",
    "listener.name.nodes.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.nodes.plain.sasl.jaas.config": plain("node", PASSWORD),
    "sasl.oauthbearer.expected.audience": "kafka",
    "sasl.oauthbearer.expected.issuer": "https://idp",
}


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> Iterator[Nodes]:
    settings = {**SETTINGS, "sasl.oauthbearer.jwks.endpoint.url": provider.keys_url}
    with Nodes(tmp_path_factory.mktemp("oauth"), settings) as node:
        node.wait()
        yield node
        assert provider.token().split(".")[0] not in node.log(1).read_text()


def through(node: Nodes, **more: Any) -> dict[str, Any]:
    given = {name.replace("_", "."): value for name, value in more.items() if name != "oauth_cb"}
    called = {"oauth_cb": more["oauth_cb"]} if "oauth_cb" in more else {}
    base = {"bootstrap.servers": node.bootstrap, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
    return {**base, **given, **called}


def writes_and_reads(settings: dict[str, Any], topic: str) -> bool:
    failures: list[Any] = []
    producer = confluent_kafka.Producer({**settings, "error_cb": failures.append})
    producer.produce(topic, b"rd", on_delivery=lambda error, _: failures.append(error) if error else None)
    assert producer.flush(TIMEOUT_S) == 0, failures
    consumer = confluent_kafka.Consumer({**settings, "group.id": topic, "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([topic])
        found = consumer.poll(TIMEOUT_S)
        return found is not None and found.value() == b"rd"
    finally:
        consumer.close()


def error_of(settings: dict[str, Any]) -> str:
    failures: list[str] = []
    client = AdminClient({**settings, "error_cb": lambda error: failures.append(str(error)), "log_level": 0})
    for _ in range(100):
        client.poll(0.1)
        if failures:
            return failures[0]
    return ""


def test_librdkafka_asks_the_provider(node: Nodes, provider: Provider) -> None:
    settings = through(
        node,
        sasl_oauthbearer_method="oidc",
        sasl_oauthbearer_client_id=CLIENT,
        sasl_oauthbearer_client_secret=SECRET,
        sasl_oauthbearer_token_endpoint_url=provider.token_url,
    )
    assert writes_and_reads(settings, "of-librdkafka")
    assert "/token" in provider.asked


FORGED = {
    "expired": lambda provider: provider.token(exp=NOW_S - 999_999_999),
    "for another": lambda provider: provider.token(aud="billing"),
    "by another": lambda provider: provider.token(iss="https://evil"),
    "not yet": lambda provider: provider.token(nbf=4_000_000_000),
    "confused": lambda provider: confused(),
    "unsigned": lambda provider: unsigned(provider.claims, alg="none") + ".",
    "cut": lambda provider: provider.token()[:-20],
    "garbage": lambda provider: "garbage",
}


@pytest.mark.parametrize("case", FORGED)
def test_who_may_not_make_tokens_makes_none(node: Nodes, provider: Provider, case: str) -> None:
    shown = FORGED[case](provider)
    error = error_of(through(node, oauth_cb=lambda _: (shown, 4_000_000_000.0)))
    assert "invalid_token" in error, error
    assert shown not in error


@pytest.mark.java
@pytest.mark.parametrize("source", ["provider", "file"])
def test_kafkas_tools_show_a_token(
    node: Nodes, provider: Provider, tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka's client goes to no place that its own command line does not allow."""
    token = tmp_path / "token"
    token.write_text(provider.token())
    url = provider.token_url if source == "provider" else token.as_uri()
    config = tmp_path / "client.properties"
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
        f"sasl.login.callback.handler.class={PACKAGE}.OAuthBearerLoginCallbackHandler\n"
        f"sasl.oauthbearer.token.endpoint.url={url}\n"
        f'sasl.jaas.config={PACKAGE}.OAuthBearerLoginModule required clientId="{CLIENT}" clientSecret="{SECRET}";\n'
    )
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={url}"
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"{allowed} -Dorg.apache.kafka.sasl.oauthbearer.allowed.files={token}")
    done = java_tool(Tool.TOPICS, "--bootstrap-server", node.bootstrap, "--command-config", config, "--list")
    assert done.returncode == 0, done.stdout + done.stderr


def our_settings(node: Nodes, provider: Provider) -> dict[str, str]:
    return {
        "bootstrap.servers": node.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": f"{PACKAGE}.OAuthBearerLoginCallbackHandler",
        "sasl.oauthbearer.token.endpoint.url": provider.token_url,
        "sasl.oauthbearer.client.credentials.client.id": CLIENT,
        "sasl.oauthbearer.client.credentials.client.secret": SECRET,
    }


def test_our_client_and_commands_show_a_token(node: Nodes, provider: Provider, tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in our_settings(node, provider).items()))
    get_in = ("--command-config", str(config))
    run("topic", "create", "with-a-token", *get_in)
    run("produce", "with-a-token", *get_in, input="one\n")
    assert run("consume", "with-a-token", "--from", "earliest", *get_in).split() == ["one"]
    assert run("consume", "with-a-token", "--from", "earliest", "--group", "g", *get_in).split() == ["one"]


def test_the_python_api_and_spark_take_the_same_settings(node: Nodes, provider: Provider) -> None:
    given = our_settings(node, provider)
    config = {name: value for name, value in given.items() if name != "bootstrap.servers"}
    with Producer(node.bootstrap, config=config) as producer:
        producer.send("of-the-api", value=b"v").result(TIMEOUT_S)
    options = {f"kafka.{name}": value for name, value in given.items()}
    security = ClientSettings.of(options).security
    assert SECRET not in repr(security)
    with Client(node.bootstrap, security=pickle.loads(pickle.dumps(security))) as client:
        assert any(topic.name == "of-the-api" for topic in client.topics())


def test_a_session_is_renewed_with_another_token(node: Nodes, provider: Provider) -> None:
    """The client is quicker than the session that its token makes."""
    provider.lives_s = 2
    try:
        settings = {**our_settings(node, provider), "sasl.oauthbearer.scope": "short"}
        with Client(node.bootstrap, security=security_of(settings)) as client:
            first, asked = client.link(), len(provider.forms)
            wait_until(lambda: client.topics() is not None and len(provider.forms) > asked + 1)
            assert client.link() is first
    finally:
        provider.lives_s = 600
