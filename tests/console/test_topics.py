"""Topics as a person handles them."""

from __future__ import annotations

from penstock.client.admin import TOPIC, Admin
from penstock.client.blocking import Client
from penstock.testing.broker import Broker
from tests.console.world import PARTS, Site
from tests.waiting import wait_until


def test_one_is_made_seen_grown_and_deleted(console: Site) -> None:
    made = console.post("/topics-create", name="life", partitions="2", configs="retention.ms=1000\n")
    assert "topic life was made" in made.text
    assert "topic life was made" not in console.get("/topics/life").text, "it is told once"
    assert "life 2 1 0" in console.get("/topics").text
    assert "life has 3 partitions now" in console.post("/topics/life/grow", partitions="3").text
    refused = console.post("/topics/life/delete", confirm="lif")
    assert refused.status == 400
    assert "life was not typed" in refused.text
    assert "topic life was deleted" in console.post("/topics/life/delete", confirm="life").text
    wait_until(lambda: console.get("/topics/life").status == 404)


def test_what_the_cluster_refuses_is_said(console: Site, penstock_topic: str, console_broker: Broker) -> None:
    console_broker.create_topic("twice")
    twice = console.post("/topics-create", name="twice")
    assert twice.status == 400
    assert "TOPIC_ALREADY_EXISTS" in twice.text
    many = console.post("/topics-create", name="many", replication_factor="3")
    assert "INVALID_REPLICATION_FACTOR" in many.text
    assert "is no setting" in console.post("/topics-create", name="odd", configs="retention").text
    assert console.post("/topics-create", name="  ").status == 400


def test_records_before_an_offset_are_deleted(console: Site, console_broker: Broker) -> None:
    console_broker.create_topic("cut")
    console_broker.produce("cut", *(str(number) for number in range(10)))
    done = console.post("/topics/cut/delete-records", confirm="cut", partition="0", before="4")
    assert "cut-0 begins at offset 4 now" in done.text
    assert console.post("/topics/cut/delete-records", confirm="", partition="0", before="9").status == 400
    assert "0 1 1 1 4 10" in console.get("/topics/cut").text


def test_a_long_list_comes_page_by_page(console: Site, console_broker: Broker) -> None:
    with Client(console_broker.bootstrap) as client:
        for number in range(52):
            Admin(client).create_topic(f"many-{number:03}", 1, 1)
    wait_until(lambda: "52 topics, page 1 of 2" in console.get("/topics?q=many-0").text)
    second = console.get("/topics?q=many-0&page=2", headers=PARTS)
    assert "many-050" in second.text
    assert "many-049" not in second.text
    assert "html" not in second.tags, "what is asked for by htmx is only the part that changes"
    assert "page 2 of 2" in console.get("/topics?q=many-0&page=99").text
    assert console.get("/topics?page=x").status == 400


def test_a_setting_says_what_it_is_and_is_changed(console: Site, console_broker: Broker) -> None:
    console_broker.create_topic("set")
    page = console.get("/topics/set/settings?q=max.message.bytes")
    assert "Default: 1048588" in page.text
    changed = console.post("/topics/set/settings", name="max.message.bytes", seen="1048588", to="5000")
    assert "max.message.bytes is 5000 now" in changed.text
    assert "max.message.bytes 5000 this topic" in console.get("/topics/set/settings").text
    refused = console.post("/topics/set/settings", name="max.message.bytes", seen="5000", to="soon")
    assert refused.status == 400
    assert "INVALID_CONFIG" in refused.text
    unset = console.post("/topics/set/settings", name="max.message.bytes", seen="5000", to="5000", unset="1")
    assert "falls back to its default" in unset.text


def test_of_two_who_edit_one_setting_the_second_is_told(console: Site, console_broker: Broker) -> None:
    console_broker.create_topic("two")
    with Client(console_broker.bootstrap) as client:
        Admin(client).alter_configs(TOPIC, "two", {"retention.ms": "7"})
    late = console.post("/topics/two/settings", name="retention.ms", seen="604800000", to="9")
    assert late.status == 409
    assert "retention.ms is 7 by now" in late.text
    with Client(console_broker.bootstrap) as client:
        (now,) = Admin(client).describe_configs(TOPIC, "two", ["retention.ms"])
    assert now.value == "7"
