"""Producer, Consumer and Admin at a node that encrypts and asks who it is, in librdkafka's words and in Java's."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

from penstock import Admin, AsyncAdmin, Consumer, Producer
from penstock.api.security import with_security
from tests.api.test_page import PAGE
from tests.conformance.security.nodes import PASSWORD, Nodes, scram
from tests.tls.certificates import STORE_PASSWORD, Files, files

pytestmark = pytest.mark.client

LISTENER = {
    "listeners": "CLIENTS://localhost:@,CONTROLLER://localhost:#",
    "listener.security.protocol.map": "CLIENTS:SASL_SSL,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "CLIENTS",
    "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
    "listener.name.clients.scram-sha-512.sasl.jaas.config": scram("node", PASSWORD),
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
}
EXAMPLE = re.compile(r"```python security\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return files(tmp_path_factory.mktemp("own"), "node")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, own: Files) -> Iterator[Nodes]:
    stores = {"ssl.keystore.location": own.pem, "ssl.truststore.location": own.ca}
    with Nodes(tmp_path_factory.mktemp("node"), {**LISTENER, **stores}) as node:
        node.wait()
        yield node


def javas(own: Files) -> dict[str, Any]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": scram("alice", PASSWORD),
        "ssl.truststore.location": own.trust12,
        "ssl.truststore.password": STORE_PASSWORD,
    }


def test_the_example_of_the_page_gets_in(node: Nodes, own: Files) -> None:
    (example,) = EXAMPLE.findall(PAGE.read_text())
    for shown, real in (("localhost:9092", node.bootstrap), ("/etc/penstock/ca.pem", own.ca)):
        assert shown in example
        example = example.replace(shown, real)
    names: dict[str, Any] = {"Admin": Admin, "Producer": Producer, "password": PASSWORD}
    exec(compile(example, PAGE.name, "exec"), names)
    with Consumer(node.bootstrap, group="page", topics=["secured"], config=names["config"]) as consumer:
        (record,) = consumer.poll_many(1, timeout_s=10)
    assert record.text == "nobody else can read this on its way"


def test_the_words_of_a_java_client_do_too(node: Nodes, own: Files) -> None:
    Admin(node.bootstrap, config=javas(own)).create_topic("java")
    with Producer(node.bootstrap, config=javas(own) | {"linger.ms": 1}) as producer:
        producer.send_and_wait("java", value="1")
    with Consumer(node.bootstrap, group="java", topics=["java"], config=javas(own)) as consumer:
        assert [each.text for each in consumer.poll_many(1, timeout_s=10)] == ["1"]

    async def topics() -> list[str]:
        async with AsyncAdmin(node.bootstrap, config=javas(own)) as admin:
            return list(await admin.list_topics())

    assert "java" in asyncio.run(topics())


def test_librdkafkas_own_words_stay() -> None:
    given = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "ssl.keystore.location": "a.p12"}
    assert with_security(given) == given


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"ssl.truststore.location": "/nowhere"}, "cannot read /nowhere"),
        ({"ssl.truststore.password": "guessed"}, "password"),
        ({"sasl.jaas.config": f"Module required {PASSWORD}"}, "sasl.jaas.config cannot be read"),
        ({"sasl.mechanism": "GSSAPI"}, "Kerberos is not supported"),
    ],
)
def test_what_cannot_be_is_misuse(own: Files, changes: dict[str, str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint) as caught:
        Producer("localhost:1", config=javas(own) | changes)
    assert PASSWORD not in str(caught.value)
    assert STORE_PASSWORD not in str(caught.value)
