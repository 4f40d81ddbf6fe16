"""A node and a console for the tests of this folder; each test takes topics of its own.

The node goes with the folder's last test: its threads would count in tests of other folders that watch their process.
"""

from collections.abc import Iterator

import pytest

from penstock.testing.broker import Broker
from tests.console.world import Site, site


@pytest.fixture(scope="package")
def console_broker() -> Iterator[Broker]:
    with Broker({"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker


@pytest.fixture(scope="package")
def console(console_broker: Broker) -> Iterator[Site]:
    with site(console_broker.bootstrap) as running:
        yield running
