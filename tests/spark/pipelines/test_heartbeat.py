"""The heart of a run, without the run."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.pipeline_runs import Registry, Run, State
from penstock.client.producing import Producer
from penstock.spark.pipelines import heartbeat
from penstock.spark.pipelines.cluster import Cluster
from penstock.spark.pipelines.heartbeat import Heartbeat
from penstock.testing import Broker
from tests.waiting import wait_until


@contextmanager
def beating(broker: Broker, name: str) -> Iterator[tuple[Heartbeat, Registry]]:
    with Client(broker.bootstrap) as client:
        registry = Registry(client)
        registry.create()
        heart = Heartbeat(Cluster(broker.bootstrap), Run(name, "run-1", "host", 1, "local", 0))
        heart.start()
        try:
            yield heart, registry
        finally:
            heart.stop(State.STOPPED)


def told(broker: Broker, name: str) -> Run:
    with Client(broker.bootstrap) as client:
        return Registry(client).read().runs[name]


def test_it_tells_listens_and_says_goodbye(broker: Broker, penstock_topic: str) -> None:
    with beating(broker, penstock_topic) as (heart, registry):
        wait_until(lambda: penstock_topic in registry.read().runs, what="the first beat")
        assert not heart.stop_asked.is_set()
        registry.ask_to_stop(heart.run)
        wait_until(heart.stop_asked.is_set, what="the request")
        heart.update(state=State.STOPPING, batch=9)
    last = told(broker, penstock_topic)
    assert (last.state, last.batch) == (State.STOPPED, 9)


def test_it_measures_the_lag(broker: Broker, penstock_topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "HEARTBEAT_S", 0.1)
    broker.create_topic(penstock_topic)
    with Client(broker.bootstrap) as client, Producer(client) as producer:
        for _ in range(5):
            producer.send(penstock_topic, None, b"x")
    with beating(broker, penstock_topic) as (heart, registry):
        heart.update(positions={TopicPartition(penstock_topic, 0): 2})
        wait_until(
            lambda: (run := registry.read().runs.get(penstock_topic)) is not None and run.lag == 3, what="the lag"
        )
        heart.update(positions={TopicPartition("not-there", 0): 2})
    assert told(broker, penstock_topic).lag is None


def test_a_request_to_stop_an_earlier_run_is_not_for_this_one(broker: Broker, penstock_topic: str) -> None:
    with Client(broker.bootstrap) as client:
        registry = Registry(client)
        registry.create()
        registry.ask_to_stop(Run(penstock_topic, "run-0", "host", 1, "local", 0))
    with beating(broker, penstock_topic) as (heart, registry):
        wait_until(lambda: penstock_topic in registry.read().runs, what="the first beat")
        assert not heart.stop_asked.is_set()


@pytest.mark.slow
def test_it_survives_a_node_that_is_away(penstock_topic: str) -> None:
    with Broker(beside=True) as node, beating(node, penstock_topic) as (heart, _):
        node.kill()
        node.start()
        heart.update(batch=1)
        with Client(node.bootstrap) as client:
            registry = Registry(client)
            wait_until(
                lambda: (run := registry.read().runs.get(penstock_topic)) is not None and run.batch == 1,
                timeout_s=20,
                what="a beat after the restart",
            )
