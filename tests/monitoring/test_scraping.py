"""Prometheus itself reads three nodes that work, and the dashboards' queries find something."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from penstock.cli.generating.dashboards import boards
from penstock.cli.main import main
from tests.cli.running import HOST, Up, run_process, running
from tests.kafka_peer import free_ports
from tests.monitoring.tools import prometheus
from tests.ports import free_base_port
from tests.waiting import wait_until

JOB = "penstock"
GROUP = "readers"
QUIET = ("Throttled", "Refused", "Errors", "Compression", "Rebalances", "They take (99 %)", "Cold reads")
"""Panels that may have nothing to show: there is no error, no quota, no group with members."""

STRIMZI = (
    "sum(kafka_controller_kafkacontroller_activecontrollercount"
    '{namespace="penstock",strimzi_io_cluster="penstock"}) == 1',
    'sum(kafka_server_replicamanager_partitioncount{namespace="penstock",strimzi_io_cluster="penstock"}) > 0',
    'sum(irate(kafka_server_brokertopicmetrics_bytesin_total{topic=~"orders",topic!="",'
    'kubernetes_pod_name=~"penstock-kafka-.*"}[5m]))',
    'sum(kafka_server_socket_server_metrics_connection_count{namespace="penstock"}) by (kubernetes_pod_name, listener)',
    'sum(kafka_server_raftmetrics_current_leader{strimzi_io_name="penstock-kafka"}) by (kubernetes_pod_name)',
    'kafka_log_log_size{namespace="penstock",topic=~"orders",partition=~"0"}',
    'count(kafka_topic_partitions{topic=~".*", namespace=~"penstock"})',
    'sum(kafka_consumergroup_lag{consumergroup=~"readers"}) by (consumergroup, topic)',
    "sum(rate(kafka_topic_partition_current_offset[5m])) by (topic)",
)
"""Some of those that the public dashboards ask, as they ask them."""


class Reader:
    """Prometheus, asked through its HTTP API."""

    def __init__(self, port: int) -> None:
        self._address = f"http://{HOST}:{port}/api/v1"

    def query(self, text: str) -> list[Any]:
        with urlopen(f"{self._address}/query?{urlencode({'query': text})}", timeout=10) as answer:
            found: list[Any] = json.load(answer)["data"]["result"]
            return found

    def is_ready(self) -> bool:
        try:
            return bool(self.query("1"))
        except OSError:
            return False

    def alerts(self) -> set[str]:
        with urlopen(f"{self._address}/rules", timeout=10) as answer:
            groups = json.load(answer)["data"]["groups"]
        return {rule["name"] for group in groups for rule in group["rules"]}


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    folder = tmp_path_factory.mktemp("scraped") / "data"
    with running(folder, "--nodes", "3", "--set", "penstock.disk.full.ratio=1", port=free_base_port(3)) as up:
        yield up


@contextmanager
def reading(folder: Path, up: Up) -> Iterator[Reader]:
    targets = [word for number in range(3) for word in ("--target", f"{HOST}:{up.port + 2000 + number}")]
    assert main(["generate", "rules", "--file", str(folder / "penstock-rules.yml")]) == 0
    assert main(["generate", "scrape", *targets, "--interval", "1s", "--file", str(folder / "prometheus.yml")]) == 0
    (port,) = free_ports(1)
    command = [
        prometheus(),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address={HOST}:{port}",
        "--log.level=warn",
    ]
    with (folder / "prometheus.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            reader = Reader(port)
            wait_until(reader.is_ready, what="Prometheus answers")
            yield reader
        finally:
            process.terminate()


def put_to_work(up: Up) -> None:
    """Some records, and a group that has read some of them."""
    bootstrap = ("-b", up.bootstrap)
    assert run_process("topic", "create", "orders", "--partitions", "3", *bootstrap).returncode == 0
    write_some(up)
    read = ("consume", "orders", "--group", GROUP, "--from", "earliest", "--count", "5")
    done = run_process(*read, *bootstrap)
    assert done.returncode == 0, done.stderr


def write_some(up: Up) -> None:
    lines = "".join(f"{number}\n" for number in range(200))
    done = run_process("produce", "orders", "-b", up.bootstrap, input=lines)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.client
def test_dashboards_find_what_they_ask_for(up: Up, tmp_path: Path) -> None:
    put_to_work(up)
    with reading(tmp_path, up) as reader:
        wait_until(lambda: len(reader.query(f'up{{job="{JOB}"}} == 1')) == 3, what="all nodes are read")
        assert "UnderReplicatedPartitions" in reader.alerts()
        write_some(up)
        for board in boards():
            for _, panels in board.rows:
                for panel in panels:
                    for query, _ in panel.queries:
                        check(reader, up, query, is_quiet=panel.title in QUIET)
        for query in STRIMZI:
            check(reader, up, query, is_quiet=False)


def check(reader: Reader, up: Up, query: str, *, is_quiet: bool) -> None:
    asked = re.sub(r"\$__rate_interval", "10s", query.replace("$job", JOB))
    if is_quiet:
        reader.query(asked)
        return
    wait_until(lambda: bool(reader.query(asked)), what=f"data for {asked}")
