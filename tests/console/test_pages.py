"""The pages for who runs a cluster: brokers, quorum, transactions, access, schemas, audit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.pipeline_runs import Registry, Run, State
from penstock.client.transactional import TransactionalProducer
from penstock.client.users import users
from penstock.services.console.brokers import loads_of
from penstock.services.console.cluster import Picture
from penstock.services.console.registry import Place
from penstock.services.console.schemas import compared
from penstock.testing.broker import Broker
from tests.console.world import PARTS, Site, site
from tests.registry.world import Rest, record, registry
from tests.waiting import wait_until


def test_brokers_say_what_they_hold(console: Site, console_broker: Broker) -> None:
    console_broker.create_topic("mapped", 2)
    wait_until(lambda: "mapped-1" in console.get("/brokers?q=mapped").text, what="the map")
    seen = console.get("/brokers?q=mapped").text
    assert f"1 {console_broker.bootstrap} none serves controller" in seen
    assert "mapped-0 L mapped-1 L" in seen


def test_a_setting_of_a_broker_is_changed(console: Site) -> None:
    assert "log.retention.bytes" in console.get("/brokers/1?q=log.retention").text
    done = console.post("/brokers/1", name="log.cleaner.backoff.ms", seen="15000", to="14000")
    assert "log.cleaner.backoff.ms is 14000 now" in done.text
    assert "log.cleaner.backoff.ms 14000 this broker" in done.text
    late = console.post("/brokers/1", name="log.cleaner.backoff.ms", seen="15000", to="1")
    assert late.status == 409
    console.post("/brokers/1", name="log.cleaner.backoff.ms", seen="14000", to="", unset="1")
    assert console.post("/brokers/1", name="nothing", seen="", to="1").status == 400
    assert console.get("/brokers/x").status == 400


def test_partitions_move_only_where_brokers_are(console: Site, console_broker: Broker) -> None:
    console_broker.create_topic("moving")
    refused = console.post("/brokers/move", topic="moving", partition="0", to="7")
    assert refused.status == 400
    assert "INVALID_REPLICA_ASSIGNMENT" in refused.text
    assert console.post("/brokers/move", topic="moving", partition="0", to="1, 1").status == 400
    assert "moving-0 moves to 1" in console.post("/brokers/move", topic="moving", partition="0", to="1").text
    assert "0 of 0 partitions" in console.post("/brokers/prefer").text


def test_the_quorum(console: Site) -> None:
    seen = console.get("/quorum").text
    assert "Leader 1" in seen
    assert "leads" in seen
    assert "metadata.version" in seen


def test_a_transaction_that_hangs_is_aborted(console: Site, console_broker: Broker) -> None:
    console_broker.create_topic("hanging")
    with Client(console_broker.bootstrap) as client:
        producer = TransactionalProducer(client, "hangs/odd&")
        producer.begin()
        transaction = producer.transaction()
        transaction.__enter__()
        producer.send("hanging", None, b"x")
        producer.flush()
        listed = console.get("/transactions?q=odd&open=1")
        assert "hangs/odd& Ongoing" in listed.text
        link = next(each for each in listed.links if each.startswith("/transactions/view"))
        assert "Partitions hanging-0" in console.get(link).text
        assert console.post("/transactions/end", id="hangs/odd&", confirm="").status == 400
        done = console.post("/transactions/end", id="hangs/odd&", confirm="hangs/odd&")
        assert "is aborted, and its producer fenced" in done.text
        with pytest.raises(ClientError):
            # Its producer is fenced.
            transaction.__exit__(None, None, None)
    assert console.get("/transactions/view?id=missing").status == 404


def test_users_and_quotas(console: Site, console_broker: Broker) -> None:
    assert "user ann gets in" in console.post("/access/user", user="ann", password="secret").text
    with Client(console_broker.bootstrap) as client:
        assert set(users(client)["ann"]) == {"SCRAM-SHA-256", "SCRAM-SHA-512"}
    assert console.post("/access/user", user="ann", password="").status == 400
    done = console.post("/access/quota", kind="user", name="ann", limit="produce", value="1048576")
    assert "user ann: produce is 1048576.0 now" in done.text
    assert "user ann producer_byte_rate" in console.get("/access").text
    assert console.post("/access/quota", kind="user", name="ann", limit="produce", value="x").status == 400
    assert "not limited" in console.post("/access/quota", kind="user", name="ann", limit="produce", value="").text
    assert console.post("/access/user/remove", user="ann", confirm="an").status == 400
    assert "user ann is gone" in console.post("/access/user/remove", user="ann", confirm="ann").text
    assert console.post("/access/user/remove", user="ann", confirm="ann").status == 404
    assert "SECURITY_DISABLED" in console.get("/access").text, "the other parts are there all the same"


def test_what_was_done_is_shown_without_passwords(console: Site) -> None:
    console.post("/access/user", user="bob", password="s3cret-word")
    seen = console.get("/audit")
    assert "/access/user user=bob done" in seen.text
    assert "s3cret-word" not in seen.html
    assert "The cluster keeps none" in seen.text


def test_a_pipeline_says_how_it_is_and_is_asked_to_stop(console: Site, console_broker: Broker) -> None:
    run = Run("revenue", "r1", "host", 7, "local[*]", 1_000, state=State.RUNNING, rows=42, rows_per_second=3.0, lag=5)
    with Client(console_broker.bootstrap) as client:
        registry_ = Registry(client)
        registry_.create()
        registry_.tell(run)
        assert "revenue running 3 42" in console.get("/pipelines").text
        assert "revenue" not in console.get("/pipelines?q=other", headers=PARTS).text
        assert console.post("/pipelines/stop", pipeline="revenue", confirm="rev").status == 400
        assert "revenue is asked to stop" in console.post("/pipelines/stop", pipeline="revenue", confirm="revenue").text
        assert registry_.read().is_asked_to_stop(run)
        assert console.post("/pipelines/stop", pipeline="none", confirm="none").status == 404
        registry_.tell(replace(run, state=State.FAILED, error="<b>no</b>"))
        assert "failed <b>no</b>" in console.get("/pipelines").text
        assert console.post("/pipelines/stop", pipeline="revenue", confirm="revenue").status == 404


def test_loads_are_counted_once_for_each_copy() -> None:
    from penstock.client.metadata import PartitionView, TopicView

    parts = (PartitionView(0, 1, 0, (1, 2), (1, 2), ()), PartitionView(1, 2, 0, (2, 1), (2,), ()))
    picture = Picture("c", 1, (), {"t": TopicView("t", b"", False, parts)}, 2)
    assert loads_of(picture) == {1: (1, 2), 2: (1, 2)}


def test_versions_side_by_side() -> None:
    lines = compared("a\nb\nc", "a\nc\nd")
    assert [(line.mark, line.text) for line in lines] == [("", "a"), ("-", "b"), ("", "c"), ("+", "d")]


def test_without_a_registry_the_page_says_what_to_start(console: Site) -> None:
    seen = console.get("/schemas")
    assert seen.status == 404
    assert "penstock registry" in seen.text


@pytest.fixture(scope="module")
def with_registry(console_broker: Broker) -> Iterator[tuple[Site, Rest]]:
    with (
        registry(console_broker.bootstrap) as running,
        site(console_broker.bootstrap, facts={"registry": Place(running.rest.url)}) as console,
    ):
        yield console, running.rest


@pytest.mark.slow
def test_schemas_are_compared_checked_and_saved(with_registry: tuple[Site, Rest]) -> None:
    import json

    console, rest = with_registry
    rest.register("bills-value", record("Bill", "a"))
    form = {"name": "bills-value", "type": "AVRO"}
    broken = json.dumps(record("Bill", "b"))
    refused = console.post("/schemas/check", text=broken, **form)
    assert "It is not compatible" in refused.text
    assert "It is not compatible" in console.post("/schemas/check", text=broken, save="1", **form).text
    added = json.dumps(
        {**record("Bill", "a"), "fields": [*record("Bill", "a")["fields"], {"name": "n", "type": "int", "default": 0}]}
    )
    assert "It may be saved" in console.post("/schemas/check", text=added, **form).text
    assert "saved with the id" in console.post("/schemas/check", text=added, save="1", **form).text
    seen = console.get("/schemas/view?name=bills-value")
    assert "From version 1 to 2" in seen.text
    assert '+ "name": "n"' in seen.text
    assert "bills-value" in console.get("/schemas?q=BILLS").text
    assert console.get("/schemas/view?name=missing").status == 400
    assert console.post("/schemas/delete", name="bills-value", confirm="").status == 400
    assert "are deleted" in console.post("/schemas/delete", name="bills-value", confirm="bills-value", version="2").text


@pytest.mark.slow
def test_values_are_read_and_written_by_their_schema(with_registry: tuple[Site, Rest], console_broker: Broker) -> None:
    console, rest = with_registry
    console_broker.create_topic("typed")
    rest.register("typed-value", record("Typed", "amount"))
    written = console.post(
        "/topics/typed/produce", key_format="null", value_format="schema", value='{"amount": 7}', partition="0"
    )
    assert '"amount": 7' in written.text
    assert "schema" in written.text
    assert '{"amount": 7}' in console.get("/topics/typed/messages?filter=value.amount+==+7").text
    console_broker.produce("typed", b"\x00\x00\x00\xff\xff\x01")
    broken = console.get("/topics/typed/record?partition=0&offset=1")
    assert broken.status == 200
    assert "00 00 00 ff ff 01" in broken.text
