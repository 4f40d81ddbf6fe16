"""The declared pipelines on a node: every order reaches every branch once, and poison becomes dead letters."""

import json
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.orders import pipelines, topics
from examples.orders.story.audit import count, read
from penstock.client.blocking import Client
from penstock.core.delivery.dead_letter import PREFIX
from penstock.spark.pipelines import Pipeline
from penstock.spark.pipelines.deadletters import create_topics
from penstock.spark.pipelines.discovery import find_all
from penstock.spark.pipelines.running import Settings, gate_of, start_query
from penstock.testing import Broker
from tests.spark.environment import ROOT
from tests.spark.orders.evenings import Evening, write_evening

ORDERS = 2_000
BRANCHES = ("payment", "restaurant", "delivery", "notification", "loyalty", "analytics", "status")


@pytest.fixture(scope="module")
def evening(spark: SparkSession, orders_broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Evening:
    """All pipelines, run once over a short evening."""
    evening = write_evening(orders_broker.bootstrap, ORDERS)
    checkpoints = tmp_path_factory.mktemp("checkpoints")
    for pipeline in declared().values():
        run_once(spark, pipeline, orders_broker.bootstrap, checkpoints)
    return evening


def declared() -> dict[str, Pipeline]:
    return find_all([str(ROOT / "examples" / "orders" / "pipelines.py")])


def run_once(spark: SparkSession, pipeline: Pipeline, bootstrap: str, checkpoints: Path) -> None:
    settings = Settings(bootstrap, once=True, checkpoints=str(checkpoints))
    with Client(bootstrap) as client:
        create_topics(pipeline, client)
    start_query(pipeline, settings, spark, gate_of(pipeline, settings)).awaitTermination()


def test_all_are_found_and_say_what_they_are_for() -> None:
    assert set(declared()) == {*BRANCHES, "confirmation"}
    assert all(pipeline.description for pipeline in declared().values())


def test_no_two_share_dead_letters() -> None:
    names = [source.dead_letters for one in declared().values() for source in one.sources]
    assert len(set(names)) == len(declared())
    assert pipelines.payment.sources[0].dead_letters == "payment.dlq"


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("branch", BRANCHES)
def test_a_branch_has_every_order_and_every_dead_letter(evening: Evening, orders_broker: Broker, branch: str) -> None:
    found = count(orders_broker.bootstrap, branch)
    assert evening.produced.poison > 0
    assert found.is_complete(evening.produced), found
    assert found.repeated == 0


@pytest.mark.spark
@pytest.mark.slow
def test_dead_letters_say_where_they_come_from(evening: Evening, orders_broker: Broker) -> None:
    for letter in read(orders_broker.bootstrap, "payment.dlq"):
        headers = dict(letter.headers() or ())
        assert headers[f"{PREFIX}topic"] == b"orders"
        assert headers[f"{PREFIX}pipeline"] == b"payment"
        assert (letter.key() or b"").startswith(b"poison-")


@pytest.mark.spark
@pytest.mark.slow
def test_every_order_has_its_last_status(evening: Evening, orders_broker: Broker) -> None:
    newest = {message.key(): message.value() for message in read(orders_broker.bootstrap, topics.ORDER_STATUS)}
    assert Counter(json.loads(value or b"")["status"] for value in newest.values()) == evening.statuses


@pytest.mark.spark
@pytest.mark.slow
def test_approved_orders_are_confirmed_once(evening: Evening, orders_broker: Broker) -> None:
    confirmed = [message.key() for message in read(orders_broker.bootstrap, topics.CONFIRMED_ORDERS)]
    assert len(confirmed) == len(set(confirmed)) == evening.statuses["paid"]
