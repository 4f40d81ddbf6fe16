"""Drivers and Python workers that are killed at any moment: no offset is skipped, and none is in two batches."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock.client.blocking import Client
from penstock.client.groups import Groups
from penstock.client.metadata import TopicPartition
from penstock.testing import Broker
from tests.spark.environment import ROOT, WORKER_PATH
from tests.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.soak]

PARTITIONS = 3
RECORDS = 1500
BATCH_RECORDS = 30
KILLS = 6
RUN_S_MAX = 180


def test_every_offset_is_in_one_batch(penstock_topic: str, tmp_path: Path) -> None:
    chance = random.Random(4)
    for name in ("batches", "scratch"):
        (tmp_path / name).mkdir()
    with Broker(beside=True) as broker:
        produce(broker, penstock_topic)
        for number in range(KILLS):
            driver = start(broker, penstock_topic, tmp_path)
            seen = len(list((tmp_path / "batches").iterdir()))
            on_its_way(driver, seen + chance.randrange(4), chance.random(), tmp_path)
            kill(driver, only_workers=number % 2 == 1)
        assert 0 < len(list((tmp_path / "batches").glob("*.json"))) < RECORDS // BATCH_RECORDS, "killed on the way"
        assert "all is read" in finish(start(broker, penstock_topic, tmp_path))
        read = [
            tuple(place) for batch in (tmp_path / "batches").glob("*.json") for place in json.loads(batch.read_text())
        ]
        each = RECORDS // PARTITIONS
        assert sorted(read) == [(partition, offset) for partition in range(PARTITIONS) for offset in range(each)]
        with Client(broker.bootstrap) as client:
            committed = Groups(client).offsets(penstock_topic)
        assert committed == {TopicPartition(penstock_topic, partition): each for partition in range(PARTITIONS)}


def produce(broker: Broker, topic: str) -> None:
    broker.create_topic(topic, partitions=PARTITIONS)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(RECORDS):
        producer.produce(topic, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(30) == 0


def start(broker: Broker, topic: str, folder: Path) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "tests.spark.source.driver",
        broker.bootstrap,
        topic,
        str(BATCH_RECORDS),
        str(folder),
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(WORKER_PATH), "PYSPARK_PYTHON": sys.executable}
    # A session of its own, so that the JVM and the workers of this driver, and no others, can be killed with it.
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def on_its_way(driver: subprocess.Popen[str], count: int, more_s: float, folder: Path) -> None:
    """Wait until there are more batches than `count`, and then some time more, unless the driver ends before."""
    batches = folder / "batches"
    wait_until(
        lambda: driver.poll() is not None or len(list(batches.iterdir())) > count,
        timeout_s=RUN_S_MAX,
        what="the next batch",
    )
    moment = time.monotonic() + more_s
    wait_until(lambda: driver.poll() is not None or time.monotonic() >= moment, what="the moment of the kill")


def kill(driver: subprocess.Popen[str], *, only_workers: bool) -> None:
    """Without its workers a query fails by itself; then whatever is left of its driver ends too."""
    if only_workers:
        for pid in workers_of(driver.pid):
            os.kill(pid, signal.SIGKILL)
        try:
            driver.wait(RUN_S_MAX)
        except subprocess.TimeoutExpired:
            pytest.fail("the driver outlived its workers")
    elif driver.poll() is None:
        os.killpg(driver.pid, signal.SIGKILL)
    finish(driver)


def workers_of(driver: int) -> list[int]:
    """Spark's Python processes: all of the driver's session but the driver itself and its JVM."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == driver:
            continue
        try:
            session = int((entry / "stat").read_text().rpartition(")")[2].split()[3])
            command = (entry / "cmdline").read_bytes().split(b"\0")[0]
        except OSError:
            continue
        if session == driver and b"python" in command:
            found.append(int(entry.name))
    return found


def finish(driver: subprocess.Popen[str]) -> str:
    said, _ = driver.communicate(timeout=RUN_S_MAX)
    return said
