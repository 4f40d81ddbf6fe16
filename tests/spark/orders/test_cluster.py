"""The same pipelines on a real standalone cluster: `--master spark://...` is all that changes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from examples.orders import topics
from examples.orders.story.audit import count, read
from penstock.testing import Broker
from tests.spark.cluster import QUICK_PROCESSES, StandaloneCluster
from tests.spark.environment import ROOT
from tests.spark.orders.evenings import write_evening

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ORDERS = 1_000
BRANCHES = ("payment", "analytics", "status")
RUN_S_MAX = 600
# Spark's two hundred are for clusters of many machines: here each would be a task of its own in every batch.
DEFAULTS = "spark.sql.shuffle.partitions 4\n"


def run_on(master: str, bootstrap: str, folder: Path, *pipelines: str) -> subprocess.CompletedProcess[str]:
    where = ("--from", "examples/orders/pipelines.py", "--bootstrap", bootstrap, "--checkpoints", str(folder / "kept"))
    (folder / "spark-defaults.conf").write_text(DEFAULTS)
    command = [sys.executable, "-m", "penstock.cli.main", "pipeline", "run", *pipelines, "--once", *where]
    return subprocess.run(
        [*command, "--master", master],
        cwd=ROOT,
        env=os.environ | QUICK_PROCESSES | {"SPARK_CONF_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=RUN_S_MAX,
        check=False,
    )


def test_the_orders_run_on_a_cluster(orders_broker: Broker, tmp_path: Path) -> None:
    evening = write_evening(orders_broker.bootstrap, ORDERS)
    with StandaloneCluster() as cluster:
        done = run_on(cluster.master, orders_broker.bootstrap, tmp_path, *BRANCHES, "confirmation")
        launched = [cluster.output(f"worker-{number}").count("Asked to launch executor") for number in (1, 2)]
    assert done.returncode == 0, done.stderr
    assert all(launched), "both workers have done their part"
    for branch in BRANCHES:
        assert count(orders_broker.bootstrap, branch).is_complete(evening.produced), done.stderr
    confirmed = {message.key() for message in read(orders_broker.bootstrap, topics.CONFIRMED_ORDERS)}
    assert len(confirmed) == evening.statuses["paid"]
