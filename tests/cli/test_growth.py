"""A cluster under load grows by a node, which gets its share, and shrinks by another: clients that came through a
balancer notice nothing, and all that was acknowledged is there."""

from __future__ import annotations

import json
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message

from penstock.client.blocking import Client
from tests.chaos.balancer import Balancer
from tests.chaos.checker import read_everything
from tests.chaos.load import Load
from tests.cli.running import HOST, TIMEOUT_S, Shell, Up, command, running
from tests.ports import free_base_port
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

PARTITIONS = 8
REPLICAS = 3
ENOUGH = 500
SHARE = PARTITIONS * REPLICAS // 4
QUICKLY = ("--set", "auto.balance.interval.ms=300", "--set", "offsets.topic.num.partitions=4")


@contextmanager
def joined(up: Up) -> Iterator[None]:
    """One more node comes to the cluster."""
    with (up.folder.parent / "joined.talk").open("w+") as talk:
        process = subprocess.Popen(
            command("up", "--join", "--data-dir", up.folder), stdout=subprocess.PIPE, stderr=talk, text=True
        )
        assert process.stdout is not None
        try:
            assert process.stdout.readline().startswith("ready"), Path(talk.name).read_text()
            yield
        finally:
            process.terminate()
            process.wait(TIMEOUT_S)
            process.stdout.close()


class Acknowledged(Load):
    """Remembers only what was acknowledged, and not where: a partition whose replicas change begins an epoch, and when
    the client gets its answer by way of a later batch, that answer does not say where the earlier one is."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(bootstrap, topic)
        self.values: set[bytes] = set()

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.values.add(bytes(message.value() or b""))
        else:
            self.errors.append(str(error))


class Reader:
    """A member of a group that reads all the time."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.values: set[bytes] = set()
        self.errors: list[str] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(bootstrap, topic), daemon=True)
        self._thread.start()

    def _read(self, bootstrap: str, topic: str) -> None:
        settings = {
            "group.id": "readers",
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 200,
            "log_level": 0,
        }
        consumer = Consumer({"bootstrap.servers": bootstrap, "error_cb": self._troubled, **settings})
        consumer.subscribe([topic])
        while not self._is_over.is_set():
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                self.values.add(bytes(message.value() or b""))
            elif message is not None:
                self.errors.append(str(message.error()))
        try:
            consumer.close()
        except KafkaException as failure:
            self.errors.append(str(failure))

    def _troubled(self, error: KafkaError) -> None:
        """A connection that ends is no error as long as others are left."""
        if error.code() == KafkaError._ALL_BROKERS_DOWN or error.fatal():
            self.errors.append(str(error))

    def finish(self) -> None:
        self._is_over.set()
        self._thread.join(TIMEOUT_S)


def held(client: Client, topic: str) -> Counter[int]:
    return Counter(replica for each in client.topic(topic, fresh=True).partitions for replica in each.replicas)


def led(client: Client, topic: str) -> Counter[int]:
    return Counter(each.leader for each in client.topic(topic, fresh=True).partitions)


def test_a_node_comes_and_another_goes_while_clients_work(shell: Shell, tmp_path: Path) -> None:
    with running(tmp_path / "data", "--nodes", "3", *QUICKLY, port=free_base_port(4)) as up:
        at = ("--bootstrap", f"{up.bootstrap},{HOST}:{up.port + 2}")
        assert shell("topic", "create", "t", "--partitions", str(PARTITIONS), *at).code == 0
        nodes = [(HOST, up.port + each) for each in range(3)]
        with (
            Balancer(nodes) as balancer,
            Acknowledged(balancer.address, "t") as load,
            Client(at[1], patient=True) as client,
        ):
            reader = Reader(balancer.address, "t")
            wait_until(lambda: len(reader.values) > 0, timeout_s=TIMEOUT_S, what="something read")
            with joined(up):
                wait_until(lambda: held(client, "t")[4] >= SHARE - 1, timeout_s=TIMEOUT_S, what="the share of node 4")
                wait_until(lambda: led(client, "t")[4] > 0, timeout_s=TIMEOUT_S, what="node 4 leads something")

                gone = shell("cluster", "decommission", "2", "--data-dir", up.folder, *at)
                assert gone.code == 0, gone.err
                assert "node 2 is no longer part of the cluster" in gone.err
                assert not (up.folder / "node-2" / "pid").exists()

                wait_until(lambda: len(load.values) > ENOUGH, timeout_s=TIMEOUT_S, what="enough was acknowledged")
                load.finish()
                acknowledged = load.values
                wait_until(lambda: acknowledged <= reader.values, timeout_s=TIMEOUT_S, what="everything read")
                reader.finish()
                assert reader.errors == []
                found = Counter(record.value for record in read_everything(at[1], "t", PARTITIONS))
                assert len(acknowledged) > ENOUGH
                assert acknowledged <= found.keys()
                assert set(found.values()) == {1}, "something is there twice"

                told = json.loads(shell("cluster", "health", "-o", "json", *at).out)
                assert told["brokers"] == [1, 3, 4]
                assert set(held(client, "t")) == {1, 3, 4}
                assert [told[each] for each in ("offline", "under_replicated", "fenced", "moving")] == [[], [], [], []]
                assert "throttled" not in shell("config", "describe", "--topic", "t", *at).out
