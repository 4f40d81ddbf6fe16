"""Connect reads a file with an exactly-once source: each line comes once and in order, whoever dies meanwhile."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
from confluent_kafka import TopicPartition

from tests.chaos.cluster import ChaosCluster, on_loopback
from tests.chaos.frameworks.running import Framework, running
from tests.chaos.transfers.bank import committed_reader
from tests.chaos.transfers.run import SETTINGS
from tests.kafka_peer import free_ports
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.client, pytest.mark.java, pytest.mark.soak]

WORKER = """\
group.id=connect
exactly.once.source.support=enabled
config.storage.topic=connect-configs
offset.storage.topic=connect-offsets
status.storage.topic=connect-status
config.storage.replication.factor=3
offset.storage.replication.factor=3
status.storage.replication.factor=3
offset.storage.partitions=3
status.storage.partitions=1
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
plugin.discovery=service_load
session.timeout.ms=6000
heartbeat.interval.ms=1000
scheduled.rebalance.max.delay.ms=0
"""
PIECE, PAUSE_S = 5, 0.02
MORE = 200
"""Lines that are read before somebody dies."""
SECONDS_MAX = 180.0


class Lines:
    """What has come of the file, as a reader of committed records sees it."""

    def __init__(self, bootstrap: str) -> None:
        self.found: list[str] = []
        self._reader = committed_reader(bootstrap)
        self._reader.assign([TopicPartition("lines", 0, 0)])

    def poll(self) -> None:
        messages = [message for message in self._reader.consume(500, 0.1) if message.error() is None]
        self.found += [(message.value() or b"").decode() for message in messages]

    def wait_for(self, count: int) -> None:
        def all_there() -> bool:
            self.poll()
            return len(self.found) >= count

        wait_until(all_there, timeout_s=SECONDS_MAX, what=f"{count} lines in the topic")

    def close(self) -> None:
        self._reader.close()


class Growing:
    """A file that gets some lines now and then, so that it takes many transactions to read it."""

    def __init__(self, file: Path) -> None:
        self.count = 0
        self._file = file
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._grow, name="file", daemon=True)
        file.touch()
        self._thread.start()

    def finish(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _grow(self) -> None:
        while not self._is_over.wait(PAUSE_S):
            with self._file.open("a") as out:
                out.writelines(f"line {number}\n" for number in range(self.count, self.count + PIECE))
            self.count += PIECE


def read_with_connect(worker: Framework, port: int, file: Path) -> None:
    connector = {
        "connector.class": "FileStreamSource",
        "tasks.max": "1",
        "file": str(file),
        "topic": "lines",
        "exactly.once.support": "required",
    }

    def is_taken() -> bool:
        url, data = f"http://127.0.0.1:{port}/connectors/lines/config", json.dumps(connector).encode()
        try:
            with urlopen(Request(url, data, {"Content-Type": "application/json"}, method="PUT"), timeout=60) as answer:
                return bool(answer.status in (200, 201))
        except (URLError, ConnectionError, TimeoutError):
            return False

    try:
        wait_until(is_taken, timeout_s=SECONDS_MAX, what="Connect takes the connector")
    except AssertionError as failure:
        failure.add_note(worker.talk()[-5000:])
        raise


def victims(cluster: ChaosCluster) -> Iterator[int]:
    """The second is asked for when the first is back."""
    for topic in ("__transaction_state", "lines"):
        yield cluster.leader_of(topic)


def test_lines_of_a_file(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    file, settings = tmp_path / "lines.txt", tmp_path / "worker.properties"
    with on_loopback(3, SETTINGS) as cluster:
        cluster.create_topic("lines", 1)
        where = f"bootstrap.servers={cluster.bootstrap}\nlisteners=http://127.0.0.1:{port}\n"
        settings.write_text(WORKER + where)
        lines, growing = Lines(cluster.bootstrap), Growing(file)
        with running(tmp_path / "talk", "org.apache.kafka.connect.cli.ConnectDistributed", settings) as worker:
            read_with_connect(worker, port, file)
            lines.wait_for(MORE)
            for victim in victims(cluster):
                worker.kill()
                cluster.nodes[victim].kill()
                worker.start()
                cluster.start([victim])
                lines.wait_for(len(lines.found) + MORE)
            growing.finish()
            lines.wait_for(growing.count)
        cluster.wait_healed("lines")
        lines.poll()
        lines.close()
    assert lines.found == [f"line {number}" for number in range(growing.count)]
