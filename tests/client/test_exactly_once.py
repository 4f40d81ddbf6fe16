"""The machines of the exactly-once sink on running brokers: Penstock with and without two-phase commit, and Kafka."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.client.acls import Acls, Rule
from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.exactly_once.commit_topic import COMMIT_TOPIC, CommitTopic
from penstock.client.exactly_once.performing import Performer
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import READ_COMMITTED, edges
from penstock.client.producing import Delivered
from penstock.client.reading import Reader
from penstock.client.transactional import TransactionalProducer
from penstock.client.transactions import Transactions
from penstock.core.access.words import Operation, PatternType, Permission, Resource
from penstock.core.base.settings.authorizer_rules import STANDARD_AUTHORIZER
from penstock.core.delivery.exactly_once import driver, tasks
from penstock.core.delivery.exactly_once.asks import End, Fill, Introduce, IsCurrent, ListOpen, WriteRecord
from penstock.core.delivery.exactly_once.driver import Begun
from penstock.core.delivery.exactly_once.failures import PartGone, Superseded, WrittenAgain
from penstock.core.delivery.exactly_once.ids import driver_id
from penstock.core.delivery.exactly_once.values import CommitRecord, Part, Place
from penstock.testing import Broker
from tests.fresh_seeds import IS_SOAK
from tests.kafka_peer import KafkaPeer
from tests.waiting import wait_until

SOON = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}
TWO_PHASE = {"unstable.api.versions.enable": "true", "transaction.two.phase.commit.enable": "true"}
KINDS: dict[str, Callable[[], Any]] = {
    "plain": lambda: Broker(SOON, beside=True),
    "two-phase": lambda: Broker(SOON | TWO_PHASE, beside=True),
    "kafka": lambda: KafkaPeer(properties=SOON),
}
RULED = {"authorizer.class.name": STANDARD_AUTHORIZER}
WRITE, DESCRIBE, READ = Operation.WRITE, Operation.DESCRIBE, Operation.READ
NAMED, BEGUN_WITH = PatternType.LITERAL, PatternType.PREFIXED
RIGHTS = [
    Rule("User:ANONYMOUS", Permission.ALLOW, operation, resource, name, pattern, "*")
    for resource, name, pattern, operations in (
        (Resource.TOPIC, "copies", NAMED, (WRITE, DESCRIBE)),
        (Resource.TOPIC, COMMIT_TOPIC, NAMED, (READ, WRITE, DESCRIBE)),
        (Resource.TRANSACTIONAL_ID, "copies-", BEGUN_WITH, (WRITE, DESCRIBE)),
    )
    for operation in operations
]
BATCHES = 10_000 if IS_SOAK else 30
TIMEOUT_MS = 60_000
SHORT_MS = 1_000


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("plain", marks=pytest.mark.slow),
        pytest.param("two-phase", marks=pytest.mark.slow),
        pytest.param("kafka", marks=[pytest.mark.slow, pytest.mark.java]),
    ],
)
def kind(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Which cluster, and where."""
    with KINDS[request.param]() as broker:
        yield request.param, broker.bootstrap


class Query:
    """A query of two tasks, run by hand."""

    def __init__(self, client: Client, name: str, timeout_ms: int = TIMEOUT_MS) -> None:
        self.client, self.name, self.topic = client, name, name
        self.performer = Performer(client, timeout_ms, 20, self._fill)
        self.batch = -1

    def begin(self) -> Begun:
        return self.performer.run(driver.begin(self.name))

    def write(self, task: str, batch: int, attempt: int = 0) -> Part:
        self.batch = batch
        return self.performer.run(tasks.write(self.name, task, attempt))

    def record(self, batch: int, *parts: Part) -> CommitRecord:
        return CommitRecord(self.name, "owner", "", batch, 2, parts)

    def commit(self, begun: Begun, batch: int, *parts: Part) -> None:
        self.performer.run(driver.commit(begun, self.record(batch, *parts)))

    def write_record(self, begun: Begun, batch: int, *parts: Part) -> CommitRecord:
        """All of a commit but the ends of what it names."""
        prepared = self.performer.run(driver.prepare(self.record(batch, *parts)))
        name = driver_id(self.name)
        assert self.performer.perform(WriteRecord(name, begun.producer, prepared))
        assert self.performer.perform(End(name, begun.producer, committed=True))
        return prepared

    def rows(self) -> list[str]:
        places = [TopicPartition(self.topic, number) for number in range(2)]
        ends = {where: end for where, (_, end) in edges(self.client, places).items()}
        reader = Reader(self.client, dict.fromkeys(places, 0), until=ends, isolation=READ_COMMITTED, wait_ms=50)
        found: list[str] = []
        deadline = time.monotonic() + 1
        while reader.open and time.monotonic() < deadline:
            found += [bytes(one.value or b"").decode() for chunk in reader.poll() for one in chunk.records]
        return sorted(found)

    def _fill(self, asked: Fill) -> Part:
        places: list[Place] = []

        def delivered(batch: Delivered) -> None:
            places.append(Place(batch.where.topic, batch.where.partition, batch.offset))

        producer = TransactionalProducer(self.client, asked.transactional_id, on_delivery=delivered)
        producer.adopt(asked.producer.id, asked.producer.epoch)
        producer.send(self.topic, None, f"{self.batch}.{asked.task}".encode(), partition=int(asked.task) % 2)
        producer.flush()
        return Part(asked.task, asked.transactional_id, asked.producer, 1, 0, places[0])


@pytest.fixture
def query(kind: tuple[str, str], request: pytest.FixtureRequest) -> Iterator[Query]:
    with Client(kind[1], timeout=20) as client:
        name = "".join(c if c.isalnum() else "." for c in request.node.name)
        Admin(client).create_topic(name, 2)
        yield Query(client, name)


def test_a_batch_counts_when_it_is_recorded(query: Query) -> None:
    begun = query.begin()
    assert begun.newest is None
    parts = query.write("0", 0), query.write("1", 0)
    orphan = query.write("1", 0, attempt=1)
    assert query.rows() == []
    query.commit(begun, 0, *parts)
    assert query.rows() == ["0.0", "0.1"]
    assert query.performer.perform(ListOpen(query.name)) == ()
    assert not query.performer.perform(End(orphan.transactional_id, orphan.writer, committed=True))
    again = query.begin()
    assert again.newest is not None
    assert (again.newest.batch, again.lost) == (0, frozenset())
    query.commit(again, 1, query.write("0", 1), query.write("1", 1))
    assert query.rows() == ["0.0", "0.1", "1.0", "1.1"]
    ids = [each.transactional_id for each in Transactions(query.client).list()]
    assert sum(each.startswith(f"{query.name}-") for each in ids) == 4


def test_whoever_comes_next_ends_what_is_recorded(query: Query) -> None:
    begun = query.begin()
    first, second = query.write("0", 0), query.write("1", 0)
    prepared = query.write_record(begun, 0, first, second)
    assert query.performer.perform(End(first.transactional_id, prepared.parts[0].actor, committed=True))
    # Somebody late makes the coordinator forget what was committed; the partition has not.
    query.performer.perform(Introduce(first.transactional_id))
    found = query.begin()
    assert found.newest == prepared
    assert found.lost == frozenset()
    assert query.rows() == ["0.0", "0.1"]


def test_what_is_not_recorded_is_aborted(query: Query) -> None:
    begun = query.begin()
    parts = query.write("0", 0), query.write("1", 0)
    query.performer.run(driver.prepare(query.record(0, *parts)))
    query.performer.run(driver.abort(query.name, begun.producer))
    assert query.performer.perform(ListOpen(query.name)) == ()
    assert query.rows() == []
    query.commit(query.begin(), 0, query.write("0", 0), query.write("1", 0))
    assert query.rows() == ["0.0", "0.1"]


def test_an_older_driver_cannot_commit(query: Query) -> None:
    older = query.begin()
    query.write("0", 0)
    newer = query.begin()
    parts = query.write("0", 0), query.write("1", 0)
    with pytest.raises(Superseded, match="another query with the name"):
        query.commit(older, 0, *parts)
    name = driver_id(query.name)
    assert not query.performer.perform(IsCurrent(name, older.producer))
    assert not query.performer.perform(WriteRecord(name, older.producer, query.record(0, *parts)))
    query.performer.run(driver.abort(query.name, older.producer))
    query.commit(newer, 0, *parts)
    assert query.rows() == ["0.0", "0.1"]


def test_what_has_timed_out_is_written_again(kind: tuple[str, str], query: Query) -> None:
    """On record, that is what two-phase commit prevents."""
    hasty = Query(query.client, query.name, SHORT_MS)
    begun = query.begin()
    parts = hasty.write("0", 0), query.write("1", 0)
    query.write_record(begun, 0, *parts)

    def open_ids() -> list[str]:
        return [name for name, _ in query.performer.perform(ListOpen(query.name))]

    if kind[0] == "two-phase":
        with pytest.raises(AssertionError):
            wait_until(lambda: len(open_ids()) == 1, timeout_s=2 * SHORT_MS / 1000)
        assert query.begin().lost == frozenset()
    else:
        wait_until(lambda: len(open_ids()) == 1, timeout_s=20)
        found = query.begin()
        assert found.lost == {"0"}
        assert query.rows() == ["0.1"]
        query.commit(found, 0, query.write("0", 0))
        newest = CommitTopic(query.client).newest(query.name)
        assert newest is not None
        assert [each.task for each in newest.settled] == ["1"]
    assert query.rows() == ["0.0", "0.1"]


def test_a_leader_that_tells_of_the_past_is_not_believed(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = query.begin()
    query.commit(begun, 0, query.write("0", 0))
    commits = CommitTopic(query.client)
    newest = commits.surely_newest(query.name)
    assert newest is not None
    assert newest.batch == 0
    monkeypatch.setattr(commits, "_mark", lambda _, where: edges(query.client, [where])[where][1] + 2)
    monkeypatch.setattr(query.client, "timeout", 0.5)
    with pytest.raises(ClientError, match="ends before"):
        commits.surely_newest(query.name)


def test_a_batch_that_took_too_long_is_not_recorded(query: Query) -> None:
    hasty = Query(query.client, query.name, SHORT_MS)
    begun = query.begin()
    parts = hasty.write("0", 0), query.write("1", 0)
    wait_until(lambda: len(query.performer.perform(ListOpen(query.name))) == 1, timeout_s=20)
    with pytest.raises(PartGone, match="the transaction of its task 0 has ended"):
        query.commit(begun, 0, *parts)
    assert CommitTopic(query.client).newest(query.name) is None
    assert query.rows() == []


def test_a_loss_behind_the_record_is_told(query: Query) -> None:
    begun = query.begin()
    parts = query.write("0", 0), query.write("1", 0)
    steps = driver.commit(begun, query.record(0, *parts))
    ask = next(steps)
    with pytest.raises(WrittenAgain, match="just these are written again"):  # noqa: PT012  # The machine is stepped.
        while True:
            answer = query.performer.perform(ask)
            if ask == End(driver_id(query.name), begun.producer, committed=True):
                query.performer.perform(Introduce(parts[0].transactional_id))
            ask = steps.send(answer)
    assert query.begin().lost == {"0"}


@pytest.mark.slow
def test_the_rights_that_are_listed_are_enough(tmp_path: Path) -> None:
    """Those that docs/spark.md lists, for a query that finds the commit topic."""
    name = "copies"
    with Broker(RULED | {"super.users": "User:ANONYMOUS"}, folder=tmp_path) as broker, Client(broker.bootstrap) as root:
        for topic in (name, COMMIT_TOPIC):
            Admin(root).create_topic(topic, 2)
        Acls(root).add(RIGHTS)
    with Broker(RULED | {"super.users": "User:root"}, folder=tmp_path) as broker, Client(broker.bootstrap) as client:
        query = Query(client, name)
        begun = query.begin()
        orphan = query.write("1", 0, attempt=1)
        query.commit(begun, 0, query.write("0", 0), query.write("1", 0))
        assert not query.performer.perform(End(orphan.transactional_id, orphan.writer, committed=True))
        again = query.begin()
        assert again.newest is not None
        assert again.newest.batch == 0
        with pytest.raises(ClientError, match="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"):
            Query(client, "others").begin()
        with pytest.raises(ClientError, match="TOPIC_AUTHORIZATION_FAILED"):
            client.topic("elsewhere")


def test_ids_are_as_many_as_tasks_and_attempts(query: Query) -> None:
    for batch in range(BATCHES):
        begun = query.begin()
        query.commit(begun, batch, query.write("0", batch), query.write("1", batch, attempt=batch % 2))
    mine = [each for each in Transactions(query.client).list() if each.transactional_id.startswith(f"{query.name}-")]
    assert len(mine) == 4
    assert {each.state for each in mine} == {"CompleteCommit"}
