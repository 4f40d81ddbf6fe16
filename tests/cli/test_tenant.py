"""Tenants that share a node: each may do what it likes with what is its own, and nothing with what is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.core.base.settings.authorizer_rules import STANDARD_AUTHORIZER
from penstock.testing import Broker
from tests.cli.running import Shell
from tests.conformance.security.nodes import Nodes

pytestmark = [pytest.mark.client]

SETTINGS = {
    "listeners": "ADMINS://localhost:@,USERS://localhost:%,CONTROLLER://localhost:#",
    "listener.security.protocol.map": "ADMINS:PLAINTEXT,USERS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "ADMINS",
    "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with Nodes(tmp_path_factory.mktemp("node"), SETTINGS) as node:
        node.wait()
        yield node


@pytest.fixture
def penstock(shell: Shell, node: Nodes, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("PENSTOCK_BOOTSTRAP", node.bootstrap)
    return shell


def made(penstock: Shell, *words: str) -> dict[str, Any]:
    told = penstock("tenant", "create", *words, "-o", "json")
    assert told.code == 0, told.err
    found: dict[str, Any] = json.loads(told.out)
    return found


def login(node: Nodes, tenant: dict[str, Any]) -> dict[str, str]:
    return {
        "bootstrap.servers": f"localhost:{node.inner_port}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": tenant["user"],
        "sasl.password": tenant["password"],
    }


def create(admin: AdminClient, name: str, partitions: int) -> None:
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(10)


def test_a_tenant_owns_what_begins_with_its_prefix_and_no_more(penstock: Shell, node: Nodes) -> None:
    shop = made(penstock, "shop", "--produce", "10M", "--partitions", "5")
    made(penstock, "bank", "--prefix", "bank-")
    admin = AdminClient(login(node, shop))
    create(admin, "shop.orders", 3)
    with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
        create(admin, "bank-accounts", 1)
    with pytest.raises(KafkaException, match="POLICY_VIOLATION"):
        create(admin, "shop.more", 3)
    lost: list[object] = []
    producer = Producer(login(node, shop))
    producer.produce("shop.orders", b"first", on_delivery=lambda error, _: lost.append(error) if error else None)
    assert producer.flush(10) == 0
    assert lost == []
    assert list(admin.list_topics(timeout=10).topics) == ["shop.orders"]
    described = json.loads(penstock("tenant", "describe", "shop", "-o", "json").out)
    assert (described["topics"], described["partitions"], described["partitions at most"]) == (1, 3, 5)
    assert described["producer_byte_rate"] == 10 << 20
    assert [each["tenant"] for each in json.loads(penstock("tenant", "list", "-o", "json").out)] == ["bank", "shop"]


def test_a_tenant_that_is_deleted_may_nothing_and_its_topics_stay(penstock: Shell, node: Nodes) -> None:
    gone = made(penstock, "gone")
    create(AdminClient(login(node, gone)), "gone.kept", 1)
    shown = penstock("tenant", "delete", "gone")
    assert "1 topics that begin with 'gone.' stay" in shown.err
    assert penstock("tenant", "describe", "gone").code == 0
    assert penstock("tenant", "delete", "gone", "--execute").code == 0
    assert penstock("tenant", "describe", "gone").code == 1
    assert "gone" not in penstock("user", "list").out
    assert "gone" not in penstock("acl", "list").out
    assert "gone.kept" in penstock("topic", "list").out


def test_what_cannot_be_is_refused_and_leaves_nothing(penstock: Shell) -> None:
    made(penstock, "first", "--prefix", "one.")
    assert "there is a tenant first already" in penstock("tenant", "create", "first").err
    overlapping = penstock("tenant", "create", "second", "--prefix", "one.two.")
    assert overlapping.code == 1
    assert "would also be first's" in overlapping.err
    assert "second" not in penstock("acl", "list").out + penstock("user", "list").out
    assert penstock("tenant", "create", "a b").code == 2


def test_where_there_are_no_rules_there_are_no_tenants(shell: Shell) -> None:
    with Broker() as broker:
        told = shell("tenant", "create", "shop", "-b", broker.bootstrap)
        assert told.code == 1
        assert "authorizer.class.name" in told.err
        assert "there are no tenants" in shell("tenant", "list", "-b", broker.bootstrap).err
