"""What is deleted gives its space back: no descriptor keeps a deleted file alive."""

from __future__ import annotations

import os
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from penstock.testing import Broker
from tests.waiting import wait_until

TOPICS = 5
TIMEOUT_S = 20


def held(folder: Path) -> list[str]:
    """Open files below a folder that have no name any more."""
    links = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{fd}"))
        except FileNotFoundError:
            continue
    return [link for link in links if link.startswith(str(folder)) and link.endswith("(deleted)")]


def test_deleted_topics_hold_nothing(tmp_path: Path) -> None:
    with Broker(folder=tmp_path / "data") as broker:
        names = [f"t{number}" for number in range(TOPICS)]
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        for name in names:
            broker.create_topic(name, 2)
            producer.produce(name, bytes(100_000))
        assert producer.flush(TIMEOUT_S) == 0
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        deleted = admin.delete_topics(names)
        assert [future.result() for future in deleted.values()] == [None] * TOPICS
        wait_until(lambda: not list((tmp_path / "data").glob("*-delete")), what="the folders are gone")
        wait_until(lambda: not held(tmp_path), what=f"no deleted file is held open, as these are: {held(tmp_path)}")
