"""The data folder of a lone node, stopped or killed, with a little of everything that a node keeps.

    git worktree add FORMER COMMIT
    PYTHONPATH=FORMER/src:. python -m tests.formats.lone_folder NAME

makes `archives/lone/NAME-stopped.tar.xz` and `NAME-killed.tar.xz` with the node of that commit. Beside the folder an
archive holds what clients saw before the end (`expected.json`).
"""

from __future__ import annotations

import json
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from tests.chaos.cluster import ChaosCluster
from tests.chaos.place import Loopback
from tests.formats.archive import EXPECTED, SUFFIX, keep
from tests.formats.records import read_all

FOLDER: Final = Path(__file__).parent / "archives" / "lone"
ENDINGS: Final = ("stopped", "killed")
SETTINGS: Final = {
    "default.replication.factor": "1",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "2",
    "log.cleaner.backoff.ms": "100",
}
WRITTEN, COMPACTED, DELETED, GROUP, MEMBER = "written", "compacted", "deleted", "readers", "archivist"
CHANGED: Final = ("max.message.bytes", "123456")
RECORDS, PARTITIONS, KEYS, BATCH, COMMITTED = 240, 2, 7, 20, 41
NOTE: Final = "noted"
SECONDS_MAX: Final = 30.0
SESSION_MS: Final = 45_000


class Lone(NamedTuple):
    """An archive's folder, and what was seen: when, records by `topic-partition` (offset, key, value), members."""

    folder: Path
    made_ms: int
    records: dict[str, list[tuple[int, str, str]]]
    members: list[dict[str, str]]


@contextmanager
def unpacked(archive: Path) -> Iterator[Lone]:
    with tempfile.TemporaryDirectory() as place, tarfile.open(archive) as content:
        content.extractall(place, filter="data")
        folder = Path(place)
        expected = json.loads((folder / EXPECTED).read_text())
        (folder / EXPECTED).unlink()
        records = {name: [(at, key, value) for at, key, value in kept] for name, kept in expected["records"].items()}
        yield Lone(folder, expected["made_ms"], records, expected["members"])


def make(ending: str, archive: Path) -> None:
    with tempfile.TemporaryDirectory() as place, ChaosCluster(Loopback(Path(place), 1), 1, SETTINGS) as cluster:
        node = cluster.nodes[1]
        reader = fill(cluster.bootstrap, cluster.admin)
        expected = seen(cluster.bootstrap, cluster.admin)
        if ending == "killed":
            node.kill()
        else:
            cluster.stop([1])
        (node.folder / EXPECTED).write_text(json.dumps(expected))
        with tarfile.open(archive, "w:xz") as content:
            content.add(node.folder, ".", filter=keep)
        # It is a member to the end, so that the node has it.
        reader.close()


def fill(bootstrap: str, admin: AdminClient) -> Consumer:
    """Gives the group's member, which has joined."""
    compacting = {"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "0.01"}
    topics = [
        NewTopic(WRITTEN, PARTITIONS, 1, config={"retention.ms": "-1"}),
        NewTopic(COMPACTED, 1, 1, config=compacting),
        NewTopic(DELETED, 1, 1),
    ]
    for created in admin.create_topics(topics).values():
        created.result(SECONDS_MAX)
    _write(bootstrap, WRITTEN, PARTITIONS)
    _write(bootstrap, COMPACTED, 1)
    _write(bootstrap, DELETED, 1)
    key, value = CHANGED
    setting = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, WRITTEN, incremental_configs=[setting])
    admin.incremental_alter_configs([resource])[resource].result(SECONDS_MAX)
    admin.delete_topics([DELETED])[DELETED].result(SECONDS_MAX)
    return _join(bootstrap)


def _write(bootstrap: str, topic: str, partitions: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "compression.type": "lz4"})
    for number in range(RECORDS):
        value = f"{number} was written to {topic}"
        producer.produce(topic, value, key=f"key {number % KEYS}", partition=number // BATCH % partitions)
        if number % BATCH == BATCH - 1:
            assert producer.flush(SECONDS_MAX) == 0


def _join(bootstrap: str) -> Consumer:
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": GROUP,
        "client.id": MEMBER,
        "session.timeout.ms": SESSION_MS,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "log_level": 0,
    }
    reader = Consumer(settings)
    reader.subscribe([WRITTEN])
    while reader.poll(SECONDS_MAX) is None:
        pass
    reader.commit(offsets=[TopicPartition(WRITTEN, 0, COMMITTED, NOTE)], asynchronous=False)
    return reader


def seen(bootstrap: str, admin: AdminClient) -> dict[str, Any]:
    """All there is to see, as JSON has it."""
    group = admin.describe_consumer_groups([GROUP])[GROUP].result(SECONDS_MAX)
    held = [(WRITTEN, index) for index in range(PARTITIONS)] + [(COMPACTED, 0)]
    return {
        "made_ms": time.time_ns() // 1_000_000,
        "records": {
            f"{topic}-{index}": [
                (found.offset(), bytes(found.key() or b"").decode(), bytes(found.value() or b"").decode())
                for found in read_all(bootstrap, topic, index)
            ]
            for topic, index in held
        },
        "members": [{"id": each.member_id, "client": each.client_id} for each in group.members],
    }


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for each in ENDINGS:
        make(each, FOLDER / f"{sys.argv[1]}-{each}{SUFFIX}")
