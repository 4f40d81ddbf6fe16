"""Data folders as a version of Penstock left them, kept so that every later one can be asked to open them.

    python -m tests.formats.archive 1 NAME        # a cluster of one node, as the code is now
    python -m tests.formats.archive 3 NAME

Run this when a format changes, under a new name, and keep the old archives: their data must open for ever.
"""

from __future__ import annotations

import json
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.cli.running import Up, running
from tests.formats.records import digest, last_of_each_key

FOLDER = Path(__file__).parent / "archives"
SUFFIX = ".tar.xz"
EXPECTED = "expected.json"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SECONDS_MAX = 30.0
RECORDS, KEYS, DELETED, COMMITTED = 60, 7, 5, 11
# What belongs to a run and to its machine, not to the data.
LEFT_OUT = frozenset({"pid", ".lock", "server.properties", ".penstock_lineage"})
SETTINGS = ("offsets.topic.num.partitions=2", "penstock.host=archived", "log.cleaner.backoff.ms=100")


class Kept(NamedTuple):
    """An archive: how many nodes it has, and what clients saw before they were stopped."""

    nodes: int
    shown: dict[str, Any]


def shown_by(bootstrap: str) -> dict[str, Any]:
    """Everything that a client can see, as JSON has it."""
    group = Consumer({"bootstrap.servers": bootstrap, "group.id": "readers"})
    (committed,) = group.committed([TopicPartition("zstd", 0)], SECONDS_MAX)
    group.close()
    listed = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=SECONDS_MAX).topics
    return {
        "topics": {
            name: len(topic.partitions) for name, topic in sorted(listed.items()) if name != "__consumer_offsets"
        },
        "records": {codec: list(digest(bootstrap, codec, 0)) for codec in CODECS},
        "keys": {
            str(key): repr(last) for key, last in sorted(last_of_each_key(bootstrap, "compacted").items(), key=repr)
        },
        "committed": [committed.offset, committed.metadata],
    }


def unpack(archive: Path, folder: Path) -> Kept:
    with tarfile.open(archive) as content:
        content.extractall(folder, filter="data")
    expected = json.loads((folder / EXPECTED).read_text())
    (folder / EXPECTED).unlink()
    return Kept(**expected)


def make(nodes: int, archive: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "data"
        options = [argument for setting in SETTINGS for argument in ("--set", setting)]
        with running(folder, "--nodes", str(nodes), *options) as up:
            _fill(up, nodes)
            kept = Kept(nodes, shown_by(up.bootstrap))
        (folder / EXPECTED).write_text(json.dumps(kept._asdict()))
        with tarfile.open(archive, "w:xz") as content:
            content.add(folder, ".", filter=keep)


def keep(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    entry.uname = entry.gname = ""
    entry.uid = entry.gid = 0
    return None if Path(entry.name).name in LEFT_OUT else entry


def _fill(up: Up, nodes: int) -> None:
    admin = AdminClient({"bootstrap.servers": up.bootstrap})
    topics = [NewTopic(codec, 2, nodes, config={"retention.ms": "-1"}) for codec in CODECS]
    topics.append(NewTopic("compacted", 1, nodes, config={"cleanup.policy": "compact", "segment.ms": "1"}))
    for made in admin.create_topics(topics).values():
        made.result(SECONDS_MAX)
    for codec in CODECS:
        _write(up.bootstrap, codec, codec)
    _write(up.bootstrap, "compacted", "none")
    admin.delete_records([TopicPartition("none", 0, DELETED)])
    group = Consumer({"bootstrap.servers": up.bootstrap, "group.id": "readers"})
    group.commit(offsets=[TopicPartition("zstd", 0, COMMITTED, "noted")], asynchronous=False)
    group.close()


def _write(bootstrap: str, topic: str, codec: str) -> None:
    settings = {"bootstrap.servers": bootstrap, "compression.type": codec, "enable.idempotence": True}
    producer = Producer(settings)
    for number in range(RECORDS):
        value = f"{number} was written to {topic} " * 5
        producer.produce(topic, value, key=f"key {number % KEYS}", partition=0, headers={"codec": codec.encode()})
        if number % 10 == 9:
            assert producer.flush(SECONDS_MAX) == 0


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    make(int(sys.argv[1]), FOLDER / f"{sys.argv[2]}{SUFFIX}")
