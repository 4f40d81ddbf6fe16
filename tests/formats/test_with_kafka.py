"""Kafka's folder becomes ours with `penstock storage import`, and ours becomes Kafka's as it stands: all there is in
four codecs, a compacted topic, transactions that have ended and such as are open, groups' offsets, and what is set up
for a share group."""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition as Place
from penstock.client.share_groups import ShareGroups
from penstock.client.transactional import TransactionalProducer
from penstock.client.transactions import Described, Transactions
from penstock.testing import Broker
from tests.cli.running import run_process
from tests.formats.records import Digest, digest, last_of_each_key, read_all
from tests.kafka_peer import KafkaPeer, Tool, java_tool
from tests.talk import complaints
from tests.waiting import wait_until

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.client]

CODECS = ("gzip", "snappy", "lz4", "zstd")
PARTITIONS = 2
KEYS = 100
# Some segments: what is compacted is closed.
COMPACTED_RECORDS, COMPACTED_PADDING = 5000, 120
SECONDS_MAX = 60.0
# Kafka's smallest segments, so that there are closed ones; and a cleaner that does not wait.
SEGMENTED = {"segment.bytes": str(1 << 20)}
COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", **SEGMENTED}
PEER = {"log.cleaner.backoff.ms": "100", "transaction.state.log.num.partitions": "1"}


def produce(bootstrap: str, topic: str, count: int, codec: str = "none", keys: int = 1 << 30, padding: int = 8) -> None:
    chance = random.Random(f"{topic} {count}")
    settings = {"bootstrap.servers": bootstrap, "compression.type": codec, "enable.idempotence": True, "log_level": 0}
    producer = Producer({**settings, "queue.buffering.max.messages": 1_000_000})
    for number in range(count):
        key, value = b"key-%d" % (number % keys), b"%d " % number + chance.randbytes(60) + b"text " * padding
        producer.produce(topic, value, key=key, headers={"number": b"%d" % number} if number % 7 == 0 else None)
        if number % 1000 == 0:
            producer.poll(0)
    assert producer.flush(SECONDS_MAX) == 0


def fill(bootstrap: str, count: int) -> None:
    for codec in CODECS:
        produce(bootstrap, codec, count // len(CODECS), codec)
    produce(bootstrap, "compacted", COMPACTED_RECORDS, keys=KEYS, padding=COMPACTED_PADDING)


def transact(bootstrap: str) -> None:
    """Two transactions, each with records and a group's offset: one counts, the other does not."""
    settings = {"bootstrap.servers": bootstrap, "transactional.id": "writer", "log_level": 0}
    producer, group = Producer(settings), Consumer({"bootstrap.servers": bootstrap, "group.id": "transacting"})
    producer.init_transactions(SECONDS_MAX)
    for offset, ends_well in ((7, True), (11, False)):
        producer.begin_transaction()
        producer.produce("transacted", b"good" if ends_well else b"bad")
        producer.send_offsets_to_transaction([TopicPartition("gzip", 0, offset)], group.consumer_group_metadata())
        if ends_well:
            producer.commit_transaction(SECONDS_MAX)
        else:
            producer.flush(SECONDS_MAX)
            producer.abort_transaction(SECONDS_MAX)
    group.close()


class Carried:
    """Two producers, one for each protocol, whose transactions begin at one broker and are committed at the next."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._client = Client(bootstrap, timeout=SECONDS_MAX)
        self._older = Producer({"bootstrap.servers": bootstrap, "transactional.id": "older", "log_level": 0})
        self._older.init_transactions(SECONDS_MAX)
        self._newest = TransactionalProducer(self._client, "newest")
        self._known: list[Described] = []
        self._sent: list[bytes] = []

    def begin(self) -> None:
        self._sent += [b"older %d" % len(self._sent), b"newest %d" % len(self._sent)]
        self._older.begin_transaction()
        self._older.produce("carried", self._sent[-2], partition=0)
        assert self._older.flush(SECONDS_MAX) == 0
        self._newest.begin()
        self._newest.send("carried", None, self._sent[-1], partition=0)
        self._newest.flush()
        self._known = self._described()
        assert [each.state for each in self._known] == ["Ongoing", "Ongoing"]

    def commit(self) -> None:
        """At another broker than they began at: it knows what that one knew."""
        assert self._described() == self._known
        self._older.commit_transaction(SECONDS_MAX)
        self._newest.commit()
        wait_until(lambda: self._read() == self._sent, timeout_s=SECONDS_MAX, what="what was carried over is read")

    def close(self) -> None:
        self._client.close()

    def _described(self) -> list[Described]:
        transactions = Transactions(self._client)
        return [transactions.describe(name) for name in ("older", "newest")]

    def _read(self) -> list[object]:
        return [message.value() for message in read_all(self._bootstrap, "carried", 0)]


def share(bootstrap: str, offset: int) -> None:
    """Let a share group begin somewhere."""
    with Client(bootstrap, timeout=SECONDS_MAX) as client:
        ShareGroups(client).alter("sharing", {Place("gzip", 0): offset})


def shared(bootstrap: str) -> dict[Place, int]:
    with Client(bootstrap, timeout=SECONDS_MAX) as client:
        return ShareGroups(client).starts("sharing")


def commit(bootstrap: str, group: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition("zstd", 1, offset, "noted")], asynchronous=False)
    consumer.close()


def committed(bootstrap: str, group: str, topic: str, partition: int) -> tuple[int, str | None]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    (found,) = consumer.committed([TopicPartition(topic, partition)], SECONDS_MAX)
    consumer.close()
    return found.offset, found.metadata


class Shown(NamedTuple):
    """What a broker shows of the topics."""

    digests: dict[tuple[str, int], Digest]
    compacted: dict[object, tuple[object, ...]]
    transacted: list[object]
    committed: dict[str, tuple[int, str | None]]
    topics: dict[str, int]


def shown_by(bootstrap: str) -> Shown:
    listed = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=SECONDS_MAX).topics
    return Shown(
        {(codec, index): digest(bootstrap, codec, index) for codec in CODECS for index in range(PARTITIONS)},
        last_of_each_key(bootstrap, "compacted"),
        [message.value() for message in read_all(bootstrap, "transacted", 0)],
        {
            "plain": committed(bootstrap, "plain", "zstd", 1),
            "transacting": committed(bootstrap, "transacting", "gzip", 0),
        },
        {name: len(topic.partitions) for name, topic in listed.items() if not name.startswith("__")},
    )


def contents(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file below a folder: when it was written, and what is in it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files}


def settings_for(folder: Path, file: Path) -> Path:
    file.write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://127.0.0.1:19092,CONTROLLER://127.0.0.1:19093\n"
        f"controller.quorum.voters=1@127.0.0.1:19093\nlog.dirs={folder}\n"
    )
    return file


def write_with_kafka(peer: KafkaPeer, count: int) -> Shown:
    admin = AdminClient({"bootstrap.servers": peer.bootstrap})
    topics = [NewTopic(codec, PARTITIONS, 1, config=SEGMENTED) for codec in CODECS]
    topics += [
        NewTopic("compacted", 1, 1, config=COMPACTED),
        *(NewTopic(name, 1, 1) for name in ("transacted", "carried")),
    ]
    for made in admin.create_topics(topics).values():
        made.result(SECONDS_MAX)
    fill(peer.bootstrap, count)
    transact(peer.bootstrap)
    commit(peer.bootstrap, "plain", 123)
    share(peer.bootstrap, 5)
    # All the closed segments are clean, so that the test has compacted ones.
    cleaned = peer.log_dir / "cleaner-offset-checkpoint"
    wait_until(lambda: "compacted 0 " in cleaned.read_text(), timeout_s=SECONDS_MAX, what="the cleaner has been there")
    return shown_by(peer.bootstrap)


def check_files(folder: Path) -> None:
    """Kafka's reader of files likes every segment that we leave."""
    segments = [str(path) for topic in (*CODECS, "compacted") for path in sorted(folder.glob(f"{topic}-*/*.log"))]
    dumped = java_tool(Tool.DUMP_LOG, "--files", ",".join(segments), "--deep-iteration", timeout=300)
    assert dumped.returncode == 0, dumped.stderr
    assert "isvalid: false" not in dumped.stdout
    assert "Exception" not in dumped.stderr, dumped.stderr


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[KafkaPeer]:
    peer = KafkaPeer(tmp_path / "kafka", properties=PEER)
    try:
        yield peer
    finally:
        peer.close()


@pytest.mark.parametrize("count", [50_000, pytest.param(1_000_000, marks=pytest.mark.soak)])
def test_there_and_back(peer: KafkaPeer, tmp_path: Path, count: int) -> None:
    peer.format()
    peer.start()
    written = write_with_kafka(peer, count)
    carried = Carried(peer.bootstrap)
    carried.begin()
    assert sum(each.count for each in written.digests.values()) == count
    assert (written.transacted, written.committed["transacting"]) == ([b"good"], (7, None))

    folder = tmp_path / "ours"
    command = ("storage", "import", "--kafka-log-dir", peer.log_dir, "--config", settings_for(folder, tmp_path / "p"))
    running = run_process(*command)
    assert (running.returncode, "in use" in running.stderr) == (1, True), running.stderr
    peer.stop()
    before = contents(peer.log_dir)
    imported = run_process(*command)
    assert imported.returncode == 0, imported.stderr
    assert "left behind" not in imported.stderr
    assert contents(peer.log_dir) == before, "the source is only read"

    # On the same port, so that who was writing goes on.
    with Broker({"log.cleaner.backoff.ms": 100}, port=peer.port, folder=folder, beside=True) as broker:
        carried.commit()
        carried.begin()
        assert shown_by(broker.bootstrap) == written
        assert shared(broker.bootstrap) == {Place("gzip", 0): 5}
        share(broker.bootstrap, 9)
        fill(broker.bootstrap, count // 10)
        commit(broker.bootstrap, "plain", 456)
        rewritten = shown_by(broker.bootstrap)
        broker.stop()
        assert complaints(broker) == []
    check_files(folder)

    # The way back: the folder is one of Kafka's already. Its settings name it, and Kafka starts.
    os.rename(peer.log_dir, tmp_path / "before")
    os.rename(folder, peer.log_dir)
    peer.start()
    carried.commit()
    read_back = shown_by(peer.bootstrap)
    assert shared(peer.bootstrap) == {Place("gzip", 0): 9}
    peer.stop()
    carried.close()
    assert read_back == rewritten
    assert read_back.committed["plain"] == (456, "noted")
    assert sum(each.count for each in read_back.digests.values()) == count + count // 10
