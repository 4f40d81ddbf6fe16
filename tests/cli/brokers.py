"""The two brokers that our client and commands are tried on.

The client is one like any other: what it does on Penstock it does on Kafka, or one of the two is wrong.
"""

from collections.abc import Iterator

import pytest

from tests.cli.running import Up, running
from tests.kafka_peer import KafkaPeer

PENSTOCK = "penstock"
KAFKA = "kafka"


@pytest.fixture(scope="session", params=[PENSTOCK, pytest.param(KAFKA, marks=pytest.mark.java)])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up | KafkaPeer]:
    """A running broker; every test takes topics and groups of its own."""
    if request.param == PENSTOCK:
        with running(tmp_path_factory.mktemp("cluster") / "data") as up:
            yield up
    else:
        with KafkaPeer(properties={"group.initial.rebalance.delay.ms": "0"}) as peer:
            yield peer
