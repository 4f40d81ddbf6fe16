"""Nodes on which transactions time out soon, one for each protocol, and the libraries that write on them."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from penstock.client.blocking import Client
from penstock.testing import Broker
from tests.client.test_transactional import set_level
from tests.conformance.transactions.aio import Aiokafka
from tests.conformance.transactions.client import Library
from tests.conformance.transactions.librdkafka import Librdkafka
from tests.conformance.transactions.outside import running_franz_go, running_java
from tests.conformance.transactions.pure_python import PurePython
from tests.talk import complaints

SETTINGS = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 100,
    "transaction.state.log.num.partitions": 3,
    "group.initial.rebalance.delay.ms": 0,
}


@pytest.fixture(scope="session")
def brokers() -> Iterator[dict[int, Broker]]:
    """By the level of `transaction.version`."""
    with Broker(SETTINGS, beside=True) as older, Broker(SETTINGS, beside=True) as newest:
        with Client(older.bootstrap) as client:
            set_level(client, 1)
        yield {1: older, 2: newest}
        assert complaints(older) + complaints(newest) == []


class Libraries:
    """Each is started when a test asks for it first."""

    def __init__(self, until: ExitStack) -> None:
        self._until = until
        self._started: dict[str, Library] = {}

    def __getitem__(self, name: str) -> Library:
        if name not in self._started:
            self._started[name] = self._start(name)
        return self._started[name]

    def _start(self, name: str) -> Library:
        if name == "java":
            return self._until.enter_context(running_java())
        if name == "franz-go":
            return self._until.enter_context(running_franz_go())
        if name == "aiokafka":
            made = Aiokafka()
            self._until.callback(made.close)
            return made
        return Librdkafka() if name == "librdkafka" else PurePython()


@pytest.fixture(scope="session")
def libraries() -> Iterator[Libraries]:
    with ExitStack() as until:
        yield Libraries(until)


class Place(NamedTuple):
    """One library against one node."""

    library: Library
    broker: Broker


EVERYBODY = [
    pytest.param("java-v2", marks=pytest.mark.java),
    pytest.param("java-v1", marks=pytest.mark.java),
    "librdkafka-v2",
    "kafka-python-v2",
    "aiokafka-v2",
    # Go is not among the things that `make test` needs.
    pytest.param("franz-go-v2", marks=pytest.mark.soak),
    pytest.param("franz-go-v1", marks=pytest.mark.soak),
]
"""A library, and the `transaction.version` of the node that it talks to. Some know only the first protocol."""


@pytest.fixture
def place(request: pytest.FixtureRequest, libraries: Libraries, brokers: dict[int, Broker]) -> Place:
    """`EVERYBODY` says what this is parametrized with."""
    name, _, level = request.param.rpartition("-v")
    return Place(libraries[name], brokers[int(level)])
