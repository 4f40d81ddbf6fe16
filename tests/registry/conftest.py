"""A node and a registry for the tests of this folder; each test takes subjects of its own."""

from collections.abc import Iterator

import pytest

from penstock.testing.broker import Broker
from tests.registry.world import Rest, registry


@pytest.fixture(scope="session")
def registry_broker() -> Iterator[Broker]:
    with Broker({"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker


@pytest.fixture(scope="session")
def rest(registry_broker: Broker) -> Iterator[Rest]:
    with registry(registry_broker.bootstrap) as running:
        yield running.rest
