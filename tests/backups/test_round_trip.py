"""A backup of a cluster at work, and the cluster that is made of it: offset by offset, byte by byte the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Message, Producer

from penstock.cli.backups import image_parts
from penstock.cli.backups.manifest import Manifest, load
from penstock.cli.backups.store import FolderStore
from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.groups import Commit, Groups
from penstock.client.metadata import TopicPartition
from penstock.core.base.settings.authorizer_rules import STANDARD_AUTHORIZER
from penstock.core.metadata.image import Image
from penstock.core.raft.ids import LogEnd
from tests.backups.contents import Raw, commits, raw, settings
from tests.cli.running import Shell, Up, running
from tests.formats.records import digest

pytestmark = [pytest.mark.slow, pytest.mark.client]

RULED = ("--set", f"authorizer.class.name={STANDARD_AUTHORIZER}", "--set", "super.users=User:ANONYMOUS")
ORDERS = [TopicPartition("orders", index) for index in range(3)]
LEDGER = TopicPartition("ledger", 0)
TABLE = TopicPartition("table", 0)
PLACES = [*ORDERS, LEDGER, TABLE, TopicPartition("idle", 0)]
RECORDS = 600


class Made(NamedTuple):
    """A cluster with something of everything."""

    up: Up
    producers: list[Producer]
    """Kept: one that goes away ends its transaction."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    folder = tmp_path_factory.mktemp("made")
    # A snapshot of the metadata after every few records: the log alone is never all of it.
    often = ("--set", "metadata.log.max.record.bytes.between.snapshots=1000")
    with running(folder / "data", *RULED, *often) as up:
        with Client(up.bootstrap) as client:
            fill(Admin(client), up.bootstrap)
            Groups(client).commit("billing", {ORDERS[0]: 17, ORDERS[1]: 60, LEDGER: 1_000})
            Groups(client).commit("gone", {TopicPartition("idle", 0): 0})
        yield Made(up, [ledger(up.bootstrap)])


def fill(admin: Admin, bootstrap: str) -> None:
    for name, count in (("orders", 3), ("ledger", 1), ("table", 1), ("idle", 1)):
        policy = "compact" if name == "table" else "delete"
        admin.create_topic(name, count, 1, {"retention.ms": "-1", "cleanup.policy": policy})
    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": "lz4", "enable.idempotence": True})
    for number in range(RECORDS):
        producer.produce("orders", b"order %d" % number, b"%d" % number, partition=number % 3, headers={"n": b"1"})
        producer.produce("table", b"row %d" % number, b"%d" % (number % 7))
        producer.poll(0)
    assert producer.flush(30) == 0
    admin.delete_records({ORDERS[1]: 50})


def ledger(bootstrap: str) -> Producer:
    """A transaction that was committed, one that was aborted, and one that is open."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "ledger", "log_level": 0})
    producer.init_transactions(30)
    for ending in (producer.commit_transaction, producer.abort_transaction, None):
        producer.begin_transaction()
        producer.produce("ledger", b"entry", partition=0)
        assert producer.flush(30) == 0
        if ending is not None:
            ending(30)
    return producer


@pytest.fixture
def rules(made: Made, shell: Shell, request: pytest.FixtureRequest) -> None:
    there, name = ("-b", made.up.bootstrap), request.node.name
    for words in (
        ("acl", "add", "-p", name, "--operation", "read", "--topic", "orders"),
        ("user", "add", name, "--generate"),
        ("quota", "set", "--user", name, "--produce", "10M"),
    ):
        done = shell(*words, *there)
        assert done.code == 0, done.err


def back_up(shell: Shell, made: Made, place: Path, name: str, *options: str) -> Manifest:
    done = shell("backup", "create", place, "-b", made.up.bootstrap, "--name", name, *options)
    assert done.code == 0, done.err
    assert shell("backup", "verify", place, name).code == 0
    return load(FolderStore(str(place)), name)


def asked(shell: Shell, bootstrap: str, *words: str) -> Any:
    done = shell(*words, "-b", bootstrap, "-o", "json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def image_of(place: Path, manifest: Manifest) -> Image:
    data = (place / manifest.metadata.path).read_bytes()
    return image_parts.decode(data, LogEnd(manifest.metadata_epoch, manifest.metadata_offset)).image


def contents(client: Client, manifest: Manifest) -> dict[TopicPartition, Raw]:
    ends = {TopicPartition(each.topic, each.partition): each.end for each in manifest.partitions}
    return {where: raw(client, where, ends[where]) for where in PLACES}


@pytest.mark.usefixtures("rules")
def test_a_larger_cluster_holds_the_same(made: Made, shell: Shell, tmp_path: Path) -> None:
    place, target = tmp_path / "backups", tmp_path / "restored"
    manifest = back_up(shell, made, place, "one", "--with-credentials")
    with Client(made.up.bootstrap) as client:
        before = contents(client, manifest)
        assert before[LEDGER].end == 4, "a record and a marker each, of the two that have ended"
        given = {name: settings(client, name) for name in ("orders", "ledger", "table", "idle")}
        held = commits(client)
        ids = {each.name: each.topic_id for each in client.topics()}
    told = [asked(shell, made.up.bootstrap, *words) for words in (("acl", "list"), ("user", "list"), ("quota", "list"))]
    digests = [digest(made.up.bootstrap, *where) for where in ORDERS]
    done = shell("backup", "restore", place, "one", "--data-dir", target, "--nodes", "3")
    assert done.code == 0, done.err
    with running(target, *RULED) as up, Client(up.bootstrap) as client:
        assert {where: raw(client, where) for where in PLACES} == before
        assert {name: settings(client, name) for name in given} == given
        assert {each.name: each.topic_id for each in client.topics() if each.name in given} == {
            name: ids[name] for name in given
        }
        assert len({each.leader for each in client.topic("orders").partitions}) == 3
        # What lies above the cut was read by somebody who does not wait for transactions.
        end = before[LEDGER].end
        assert held["billing"][LEDGER].offset == 1_000
        assert commits(client) == {**held, "billing": {**held["billing"], LEDGER: Commit(end, -1, "")}}
        asked_again = [asked(shell, up.bootstrap, *words) for words in (("acl", "list"), ("user", "list"))]
        assert [*asked_again, asked(shell, up.bootstrap, "quota", "list")] == told
        assert [digest(up.bootstrap, *where) for where in ORDERS] == digests
        assert digest(up.bootstrap, *LEDGER).count == 1, "what was aborted or open does not count"
        goes_on(up.bootstrap, ORDERS[0], before[ORDERS[0]].end)


def goes_on(bootstrap: str, where: TopicPartition, end: int) -> None:
    seen: list[int | None] = []
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "log_level": 0})

    def written(_: object, message: Message) -> None:
        seen.append(message.offset())

    producer.produce(where.topic, b"next", partition=where.partition, on_delivery=written)
    assert producer.flush(60) == 0
    assert seen == [end]


@pytest.mark.usefixtures("rules")
def test_a_second_backup_copies_what_is_new(made: Made, shell: Shell, tmp_path: Path) -> None:
    place = tmp_path / "backups"
    first = back_up(shell, made, place, "one", "--topic", "ord*")
    assert first.topics == ["orders"]
    assert [each.start for each in first.partitions] == [0, 50, 0]
    producer = Producer({"bootstrap.servers": made.up.bootstrap, "log_level": 0})
    producer.produce("orders", b"one more", partition=2)
    assert producer.flush(60) == 0
    second = back_up(shell, made, place, "two", "--topic", "orders")
    chunks = [[chunk.file.path for chunk in each.chunks] for each in second.partitions]
    assert [len(each) for each in chunks] == [1, 1, 2]
    assert [each[:1] for each in chunks] == [[chunk.file.path for chunk in each.chunks] for each in first.partitions]
    listed = asked_list(shell, place)
    assert [(each["name"], each["state"]) for each in listed] == [("one", "complete"), ("two", "complete")]
    # No secret is in a backup that was not asked to hold any, nor is a topic that was not.
    image = image_of(place, second)
    assert not image.access.credentials
    assert not image.access.tokens
    assert image.access.entries
    assert sorted(name for name, _ in image.topics.items()) == ["__consumer_offsets", "orders"]


def asked_list(shell: Shell, place: Path) -> Any:
    done = shell("backup", "list", place, "-o", "json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_nothing_is_written_over(made: Made, shell: Shell, tmp_path: Path) -> None:
    place, target = tmp_path / "backups", tmp_path / "restored"
    manifest = back_up(shell, made, place, "one")
    again = shell("backup", "create", place, "-b", made.up.bootstrap, "--name", "one")
    assert (again.code, "there is a backup one already" in again.err) == (1, True), again.err
    taken = shell("backup", "restore", place, "one", "--data-dir", made.up.folder)
    assert (taken.code, "is not empty" in taken.err) == (1, True), taken.err
    unknown = shell("backup", "create", place, "-b", made.up.bootstrap, "--topic", "nowhere")
    assert (unknown.code, "there is no topic nowhere" in unknown.err) == (1, True), unknown.err
    chunk = next(chunk for each in manifest.partitions for chunk in each.chunks)
    path = place / chunk.file.path
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    for words in (("verify", place, "one"), ("restore", place, "one", "--data-dir", target)):
        refused = shell("backup", *words)
        assert (refused.code, f"{chunk.file.path} is damaged" in refused.err) == (1, True), refused.err
    assert [path.name for path in tmp_path.iterdir()] == ["backups"], "not even a folder is left"
