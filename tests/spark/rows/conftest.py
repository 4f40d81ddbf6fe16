"""A node for the tests that read and write, and a topic for each of them."""

from collections.abc import Callable, Iterator

import pytest

from penstock.client.blocking import Client
from penstock.spark.rows.links import close_idle
from penstock.spark.rows.settings import ClientSettings
from penstock.testing import Broker

MakeTopic = Callable[..., str]


@pytest.fixture(autouse=True)
def no_connection_is_left() -> Iterator[None]:
    yield
    close_idle()


@pytest.fixture
def settings(broker: Broker) -> ClientSettings:
    return ClientSettings(broker.bootstrap, api_timeout_ms=10_000)


@pytest.fixture
def client(broker: Broker) -> Iterator[Client]:
    with Client(broker.bootstrap) as connected:
        yield connected


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    """Of three partitions. It keeps records that say they are years old."""
    name: str = request.node.name.replace("[", "-").replace("]", "")
    broker.create_topic(name, 3, retention_ms=-1)
    return name
