"""What every Spark test stands on: one session per test process, and a node beside it.

The session has Spark's own Kafka connector on board, because its jars cannot be added later. Whatever Spark likes to
leave in the working folder (warehouse, metastore, scratch files) goes to a temporary one.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from penstock.spark.archive import house
from penstock.spark.interpreter import worker_python
from penstock.testing import Broker
from tests.spark.environment import QUICK_SUBMIT, WORKER_PATH, calm_settings
from tests.spark.stock import connector_jars

MASTER = "local[2]"


def pytest_itemcollected(item: pytest.Item) -> None:
    """The sockets between Spark's driver and its JVM are closed when they are collected, which Python reports."""
    if item.get_closest_marker("spark") is not None:
        item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))


@pytest.fixture(scope="session", autouse=True)
def _quick_java() -> Iterator[None]:
    """For sessions of this process and of those that it starts."""
    with pytest.MonkeyPatch.context() as environment:
        for name, value in QUICK_SUBMIT.items():
            environment.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session of this test process. Tests leave no query running in it."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYSPARK_PYTHON", worker_python(house(), Path(pyspark.__file__).parent))
        environment.setenv("PYTHONPATH", os.pathsep.join(WORKER_PATH))
        session = start_session(tmp_path_factory.mktemp("spark"))
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """A node for this test process, in a process of its own: Spark's workers talk to it while the test waits."""
    with Broker(beside=True) as running:
        yield running


def start_session(folder: Path) -> SparkSession:
    builder = SparkSession.builder.master(MASTER).appName("penstock-tests")
    settings = {**calm_settings(folder), "spark.jars": connector_jars()}
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
