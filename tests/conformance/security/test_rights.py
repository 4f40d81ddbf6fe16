"""Rules among three nodes that log in at each other: real clients are allowed, and refused, what the rules say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from penstock.core.base.settings.authorizer_rules import STANDARD_AUTHORIZER
from tests.conformance.security.clients import CLIENTS, TIMEOUT_S, Access, librdkafka
from tests.conformance.security.nodes import PLAIN_MODULE, Nodes
from tests.waiting import wait_until

pytestmark = [pytest.mark.client]

USERS = ("node", "root", "ann", "bob")
JAAS = f'{PLAIN_MODULE} required username="node" password="node" ' + " ".join(f'user_{each}="{each}"' for each in USERS)
SETTINGS = {
    "listeners": "CLIENTS://localhost:@,CONTROLLER://localhost:#",
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.clients.plain.sasl.jaas.config": f"{JAAS};",
    "listener.name.controller.plain.sasl.jaas.config": f"{JAAS};",
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:node;User:root",
}


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with Nodes(tmp_path_factory.mktemp("rights"), SETTINGS, count=3) as nodes:
        for number in (1, 2, 3):
            nodes.wait(number)
        yield nodes
        admin_of.cache_clear()


def access(nodes: Nodes, user: str) -> Access:
    return Access(nodes.bootstrap, "SASL_PLAINTEXT", "PLAIN", user, user)


@cache
def admin_of(nodes: Nodes, user: str) -> AdminClient:
    """One that is kept: what it is asked ends with it."""
    return AdminClient(librdkafka(access(nodes, user)))


def allowed(kind: ResourceType, name: str, operation: AclOperation) -> AclBinding:
    pattern = ResourcePatternType.PREFIXED if kind == ResourceType.GROUP else ResourcePatternType.LITERAL
    return AclBinding(kind, name, pattern, "User:ann", "*", operation, AclPermissionType.ALLOW)


RIGHTS = [
    allowed(ResourceType.TOPIC, "anns", AclOperation.READ),
    allowed(ResourceType.TOPIC, "anns", AclOperation.WRITE),
    allowed(ResourceType.TOPIC, "anns", AclOperation.CREATE),
    allowed(ResourceType.GROUP, "anns", AclOperation.READ),
]


def error_of(act: Callable[[], Any]) -> str:
    try:
        act()
    except KafkaException as failure:
        return str(failure.args[0].name())
    return ""


def create(nodes: Nodes, user: str, name: str) -> str:
    wanted = NewTopic(name, num_partitions=3, replication_factor=3)
    return error_of(lambda: admin_of(nodes, user).create_topics([wanted])[name].result(TIMEOUT_S))


def produce(nodes: Nodes, user: str, topic: str) -> str:
    """The name of the error, if there is one."""
    failures: list[KafkaError] = []
    producer = confluent_kafka.Producer({**librdkafka(access(nodes, user)), "error_cb": failures.append})
    producer.produce(topic, b"v", on_delivery=lambda error, _: failures.append(error) if error else None)
    assert producer.flush(TIMEOUT_S) == 0
    return failures[0].name() if failures else ""


def test_clients_do_what_the_rules_say(nodes: Nodes) -> None:
    assert create(nodes, "ann", "anns") == "TOPIC_AUTHORIZATION_FAILED"
    assert error_of(
        lambda: [each.result(TIMEOUT_S) for each in admin_of(nodes, "ann").create_acls(RIGHTS).values()]
    ) == ("CLUSTER_AUTHORIZATION_FAILED")
    for each in admin_of(nodes, "root").create_acls(RIGHTS).values():
        each.result(TIMEOUT_S)
    assert create(nodes, "bob", "anns") == "TOPIC_AUTHORIZATION_FAILED"
    assert create(nodes, "ann", "anns") == ""
    assert create(nodes, "ann", "bobs") == "TOPIC_AUTHORIZATION_FAILED"
    wait_until(lambda: produce(nodes, "ann", "anns") == "", what="all brokers know the rules")
    assert "TOPIC_AUTHORIZATION_FAILED" in produce(nodes, "bob", "anns")
    assert CLIENTS["librdkafka"](access(nodes, "ann"), "anns") in (b"v", b"rd")
    assert set(admin_of(nodes, "ann").list_topics(timeout=TIMEOUT_S).topics) == {"anns"}
    assert not admin_of(nodes, "bob").list_topics(timeout=TIMEOUT_S).topics
    anns = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, "User:ann", None, AclOperation.ANY, AclPermissionType.ANY
    )
    (gone,) = admin_of(nodes, "root").delete_acls([anns]).values()
    assert len(gone.result(TIMEOUT_S)) == len(RIGHTS)
    wait_until(lambda: "TOPIC_AUTHORIZATION_FAILED" in produce(nodes, "ann", "anns"), what="the rules are gone")
