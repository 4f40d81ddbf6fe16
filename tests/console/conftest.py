"""A node and a console for the tests of this folder; each test takes topics of its own."""

from collections.abc import Iterator

import pytest

from penstock.testing.broker import Broker
from tests.console.world import Site, site


@pytest.fixture(scope="session")
def console_broker() -> Iterator[Broker]:
    with Broker({"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker


@pytest.fixture(scope="session")
def console(console_broker: Broker) -> Iterator[Site]:
    with site(console_broker.bootstrap) as running:
        yield running
