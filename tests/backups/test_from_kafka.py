"""A backup of a Kafka that runs, and a node of ours that goes on with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.groups import Groups
from penstock.client.metadata import TopicPartition
from tests.backups.contents import commits, raw, settings
from tests.cli.running import Shell, running
from tests.kafka_peer import KafkaPeer

pytestmark = [pytest.mark.slow, pytest.mark.java, pytest.mark.client]

PLACES = [TopicPartition("orders", index) for index in range(2)]


def test_what_kafka_has_is_here(shell: Shell, tmp_path: Path) -> None:
    place, target = tmp_path / "backups", tmp_path / "restored"
    with KafkaPeer() as kafka, Client(kafka.bootstrap) as client:
        Admin(client).create_topic("orders", 2, 1, {"retention.ms": "-1"})
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "compression.type": "zstd", "log_level": 0})
        for number in range(500):
            producer.produce("orders", b"order %d" % number, b"%d" % number, headers={"n": b"%d" % number})
        assert producer.flush(60) == 0
        del producer
        Groups(client).commit("billing", {PLACES[0]: 5})
        done = shell("backup", "create", place, "-b", kafka.bootstrap, "--name", "kafka", "--timeout", "60")
        assert done.code == 0, done.err
        before, held, given = [raw(client, where) for where in PLACES], commits(client), settings(client, "orders")
    done = shell("backup", "restore", place, "kafka", "--data-dir", target)
    assert done.code == 0, done.err
    with running(target) as up, Client(up.bootstrap) as client:
        assert [raw(client, where) for where in PLACES] == before
        assert commits(client) == held
        assert settings(client, "orders") == given
