"""A node and a registry for the tests of this folder; each test takes subjects of its own.

The node goes with the folder's last test: its threads would count in tests of other folders that watch their process.
"""

from collections.abc import Iterator

import pytest

from penstock.testing.broker import Broker
from tests.registry.world import Rest, registry


@pytest.fixture(scope="package")
def registry_broker() -> Iterator[Broker]:
    with Broker({"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker


@pytest.fixture(scope="package")
def rest(registry_broker: Broker) -> Iterator[Rest]:
    with registry(registry_broker.bootstrap) as running:
        yield running.rest
