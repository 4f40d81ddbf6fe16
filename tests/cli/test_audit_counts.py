"""`penstock audit run` and `report`: what is planted in a log or a sink is found and named, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.client.audit.sinks import Read, Told, told_of
from penstock.client.blocking import Client
from penstock.client.exactly_once.commit_topic import COMMIT_TOPIC, CommitTopic
from penstock.client.metadata import TopicPartition
from penstock.client.producing import Producer
from penstock.core.delivery.dead_letter import PREFIX
from penstock.core.delivery.exactly_once.values import CommitRecord, encoded
from penstock.core.records.batch import iterate_headers, stamp
from penstock.testing import Broker
from tests.cli.running import Result, Shell

pytestmark = pytest.mark.slow

BATCHES = 5
RECORDS = 10
Batches = list[bytearray]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker({"offsets.topic.num.partitions": 1}) as running:
        running.create_topic("orders")
        yield running


@pytest.fixture
def audit(shell: Shell, broker: Broker, tmp_path: Path) -> Callable[..., Result]:
    return lambda *options: shell("audit", "run", "-b", broker.bootstrap, "--book", tmp_path / "book.db", *options)


def write(broker: Broker, topic: str = "orders", *, idempotent: bool = True, batches: int = BATCHES) -> None:
    with Client(broker.bootstrap) as client, Producer(client, idempotent=idempotent) as producer:
        for batch in range(batches):
            for number in range(RECORDS):
                producer.send(topic, None, b"%d %d" % (batch, number), partition=0)
            producer.flush()


def plant(broker: Broker, change: Callable[[Batches], None]) -> None:
    """Change what the log has on disk while nobody looks; batches get the offsets of where they stand."""
    broker.stop()
    (path,) = broker.folder.glob("**/orders-0/*.log")
    data = path.read_bytes()
    batches = [bytearray(data[at : at + header.size]) for at, header in iterate_headers(data)]
    change(batches)
    for place, batch in enumerate(batches):
        stamp(batch, place * RECORDS, 0)
    path.write_bytes(b"".join(batches))
    broker.start()


def swap(batches: Batches) -> None:
    batches[2], batches[3] = batches[3], batches[2]


def double(batches: Batches) -> None:
    batches[3] = bytearray(batches[1])


def lose(batches: Batches) -> None:
    del batches[2]


def lose_the_end(batches: Batches) -> None:
    del batches[-1]


def test_a_whole_log_adds_up_and_is_reported(
    audit: Callable[..., Result], shell: Shell, broker: Broker, tmp_path: Path
) -> None:
    write(broker)
    assert audit().code == 0
    write(broker, batches=1)
    told = audit("--only-new", "-o", "json")
    assert (told.code, json.loads(told.out)["partitions"][0]["new_records"]) == (0, RECORDS)
    page = tmp_path / "audit.html"
    told = shell("audit", "report", "--book", tmp_path / "book.db", "--html", page)
    assert (told.code, told.err) == (0, "it adds up\n")
    assert "orders-0" in told.out
    assert "It adds up" in page.read_text()
    assert "<svg" in page.read_text()


@pytest.mark.parametrize(
    ("fault", "kind", "first", "end"),
    [(lose, "missing", 10, 20), (double, "doubled", 30, 40), (swap, "swapped", 30, 40)],
)
def test_what_is_planted_is_seen_without_a_book(
    audit: Callable[..., Result],
    broker: Broker,
    fault: Callable[[Batches], None],
    kind: str,
    first: int,
    end: int,
) -> None:
    """The double stands in the place of another batch, which is missing; both are named."""
    write(broker)
    plant(broker, fault)
    told = audit("-o", "json")
    found = json.loads(told.out)
    assert (told.code, found["adds_up"]) == (1, False)
    gap = found["gaps"][0]
    assert (gap["kind"], gap["where"], gap["first"], gap["end"]) == (kind, "orders-0", first, end)
    assert [each["kind"] for each in found["gaps"]].count("doubled") == (fault is double)


@pytest.mark.parametrize(("fault", "kind"), [(lose_the_end, "missing"), (double, "changed"), (swap, "changed")])
def test_what_only_the_book_knows_is_found(
    audit: Callable[..., Result], broker: Broker, tmp_path: Path, fault: Callable[[Batches], None], kind: str
) -> None:
    write(broker, idempotent=False)
    assert audit().code == 0
    plant(broker, fault)
    told = audit("--metrics", tmp_path / "audit.prom")
    assert told.code == 1
    assert f'penstock_audit_gaps{{kind="{kind}"}} 1\n' in (tmp_path / "audit.prom").read_text()
    assert told.err.startswith(f"{kind}: orders-0 [")
    assert told.err.endswith("it does NOT add up\n")


def test_erased_records_and_topics_made_anew_are_no_loss(
    audit: Callable[..., Result], shell: Shell, broker: Broker
) -> None:
    write(broker)
    assert audit().code == 0
    there = ("-b", broker.bootstrap)
    assert shell("topic", "delete-records", "orders", "--before", "25", "--execute", *there).code == 0
    assert audit().code == 0
    assert shell("topic", "delete", "orders", "--execute", *there).code == 0
    broker.create_topic("orders")
    write(broker, batches=1)
    assert audit().code == 0


FACTS = {
    "batches": 1,
    "read": {"0:orders:0": {"first": 0, "end": 45, "records": 45, "dead_letters": 1}},
    "written": {"payments": 40},
}


def commit(broker: Broker, facts: dict[str, object]) -> None:
    """What a pipeline says when it has committed a batch."""
    record = CommitRecord("pay", "owner", "", 0, 0, (), facts=json.dumps(facts))
    with Client(broker.bootstrap) as client:
        where = CommitTopic(client).place_of("pay")
        with Producer(client) as producer:
            producer.send(COMMIT_TOPIC, b"pay", encoded(record), partition=where.partition)


def test_sinks_are_held_against_what_pipelines_say(audit: Callable[..., Result], broker: Broker) -> None:
    broker.create_topic("payments")
    write(broker)
    write(broker, "payments", batches=4)
    facts = {"topic": b"orders", "partition": b"0", "offset": b"3", "pipeline": b"pay"}
    headers = [(f"{PREFIX}{name}", value.decode()) for name, value in facts.items()]
    broker.produce("orders.dlq", "?", headers=headers)
    commit(broker, FACTS)
    assert audit().code == 0
    commit(broker, FACTS | {"written": {"payments": 41}})
    told = audit("-o", "json")
    assert told.code == 1
    (wrong,) = [each for each in json.loads(told.out)["sums"] if not each["adds_up"]]
    assert (wrong["what"], wrong["where"], wrong["told"], wrong["found"]) == ("out", "payments", 41, 40)
    commit(broker, FACTS)
    write(broker, "payments", batches=1)
    assert "rows are doubled" in audit().out


def test_a_pipelines_facts_are_read() -> None:
    read = Read(TopicPartition("orders", 0), 0, 45, 45, 1)
    assert told_of("pay", json.dumps(FACTS)) == Told("pay", (read,), {"payments": 40})
    assert told_of("query", "") is None


def test_what_is_no_book_is_said_in_one_line(shell: Shell, tmp_path: Path) -> None:
    told = shell("audit", "report", "--book", tmp_path / "none.db")
    assert (told.code, "there is no book" in told.err) == (1, True)
    (tmp_path / "bad.db").write_text("these are not the pages of a book" * 100)
    told = shell("audit", "report", "--book", tmp_path / "bad.db")
    assert (told.code, "is no book of an audit" in told.err) == (1, True)
