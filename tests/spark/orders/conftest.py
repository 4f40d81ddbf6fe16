"""A node for each file: the example's topics have fixed names."""

from collections.abc import Iterator

import pytest

from examples.orders import topics
from penstock.testing import Broker


@pytest.fixture(scope="module")
def orders_broker() -> Iterator[Broker]:
    """With the topics of the example, and nothing in them."""
    with Broker(beside=True) as broker:
        topics.create(broker.bootstrap)
        yield broker
