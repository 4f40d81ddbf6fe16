"""The same pages beside Apache Kafka: each is opened, and a topic, its settings, records and a group are handled."""

from __future__ import annotations

import pytest

from penstock.client.blocking import Client
from penstock.client.groups import Groups
from penstock.client.metadata import TopicPartition
from penstock.services.console.pages import PAGES
from tests.console.world import site
from tests.kafka_peer import KafkaPeer
from tests.waiting import wait_until

pytestmark = pytest.mark.java


def test_a_cluster_of_apache_kafka() -> None:
    with KafkaPeer() as peer, site(peer.bootstrap) as console:
        made = console.post("/topics-create", name="orders", partitions="2", configs="retention.ms=100000")
        assert "topic orders was made" in made.text
        for page in PAGES:
            seen = console.get(page.path)
            assert seen.status == (404 if page.name == "schemas" else 200), (page.path, seen.text)
        assert "Nothing needs attention" in console.get("/").text
        settings = console.get("/topics/orders/settings?q=retention.ms").text
        assert "retention.ms 100000 this topic" in settings
        assert "Default: 1048588" in console.get("/topics/orders/settings?q=max.message.bytes").text
        changed = console.post("/topics/orders/settings", name="retention.ms", seen="100000", to="", unset="1")
        assert "falls back to its default" in changed.text
        written = console.post(
            "/topics/orders/produce", key="k", value='{"a": 1}', key_format="text", value_format="text", partition="1"
        )
        assert "the record was written: orders-1, offset 0" in written.text
        assert '{"a": 1}' in console.get("/topics/orders/messages?filter=value.a+==+1").text
        with Client(peer.bootstrap) as client:
            wait_until(lambda: commits(client), what="a coordinator")
        assert "orders 1 0 1 1" in console.get("/groups/view?name=billing").text
        moved = console.post("/groups/reset", name="billing", topic="orders", planned="1:1", confirm="billing")
        assert "stands where it was put" in moved.text
        assert (
            '"group": "billing"'
            in console.get("/topics/__consumer_offsets/messages?filter=key.group+==+'billing'").text
        )
        assert "topic orders was deleted" in console.post("/topics/orders/delete", confirm="orders").text


def commits(client: Client) -> bool:
    Groups(client).commit("billing", {TopicPartition("orders", 1): 0})
    return True
