"""One node for all tests of the Python API; each test has topics and groups of its own."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from penstock import Admin
from penstock.testing.broker import Broker


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with Broker() as broker:
        yield broker.bootstrap


@pytest.fixture(scope="module")
def admin(bootstrap: str) -> Admin:
    return Admin(bootstrap)


@pytest.fixture(scope="module")
def new_topic(admin: Admin) -> Callable[..., str]:
    numbers = count(1)

    def make(partitions: int = 1, **config: object) -> str:
        name = f"topic-{next(numbers)}"
        admin.create_topic(name, partitions=partitions, config=config)
        return name

    return make
