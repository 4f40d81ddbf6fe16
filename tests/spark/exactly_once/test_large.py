"""A million rows through deaths, on both targets; and deaths on a real cluster, where an executor is a process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.testing import Broker
from tests.kafka_peer import KafkaPeer
from tests.spark.cluster import StandaloneCluster
from tests.spark.exactly_once.copying import copying

pytestmark = [pytest.mark.spark, pytest.mark.soak]

ROWS_EACH = 125_000
DEATHS = (
    ("produce", "executor"),
    ("flushed", "broker"),
    ("before end", "driver"),
    ("init", "broker"),
    ("record", "driver"),
    ("flushed", "executor"),
    ("between ends", "driver"),
    ("record", "broker"),
)
ON_A_CLUSTER = (
    ("flushed", "machine"),
    ("record", "driver"),
    ("produce", "executor"),
    ("between ends", "driver"),
    ("init", "machine"),
)


@pytest.mark.parametrize("kind", [Broker, pytest.param(KafkaPeer, marks=pytest.mark.java)])
def test_a_million_rows(kind: Any, tmp_path: Path) -> None:
    broker = Broker(beside=True) if kind is Broker else KafkaPeer()
    with copying(broker, tmp_path, ROWS_EACH) as copy:
        copy.die(DEATHS)


def test_a_standalone_cluster(tmp_path: Path) -> None:
    with StandaloneCluster() as cluster, copying(Broker(beside=True), tmp_path, master=cluster.master) as copy:
        copy.die(ON_A_CLUSTER)
        assert all(cluster.output(f"worker-{number}").count("Asked to launch executor") for number in (1, 2))
