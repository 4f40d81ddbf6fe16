"""A node dies under its clients and comes back: they go on where they were, and nothing is doubled or lost."""

import os
import signal
from pathlib import Path

import pytest

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.producing import Producer
from penstock.client.reading import Reader
from tests.cli.running import running

pytestmark = pytest.mark.slow

KILLS = 3
RECORDS_EACH = 200


def test_reader_and_producer_survive_a_killed_node(tmp_path: Path) -> None:
    where = TopicPartition("t", 0)
    with running(tmp_path / "data", "--restart") as up, Client(up.bootstrap, timeout=20) as client:
        Admin(client).create_topic("t", 1)
        producer, reader = Producer(client, batch_bytes=500), Reader(client, {where: 0})
        found: list[int] = []
        for kill in range(KILLS):
            for number in range(RECORDS_EACH):
                producer.send("t", None, b"%d" % (kill * RECORDS_EACH + number))
            producer.flush()
            while len(found) < (kill + 1) * RECORDS_EACH:
                found += [int(record.value or b"") for chunk in reader.poll() for record in chunk.records]
            os.kill(up.node_pid, signal.SIGKILL)
        producer.send("t", None, b"-1")
        producer.flush()
        found += [int(record.value or b"") for chunk in reader.poll() for record in chunk.records]
        assert found == [*range(KILLS * RECORDS_EACH), -1]
        assert up.stop() == 0
