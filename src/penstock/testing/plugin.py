"""The pytest plugin: a node for the session, a fresh topic name for each test, simulated clusters."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from penstock.testing.broker import Broker
    from penstock.testing.simulated import SimCluster

TEST_NAME_CHARS_MAX = 60
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]+")
_COUNT = itertools.count(1)


@pytest.fixture(scope="session")
def penstock_settings() -> Mapping[str, object]:
    """Settings of the session's node; override this fixture in a conftest to change them."""
    return {}


@pytest.fixture(scope="session")
def penstock_broker(penstock_settings: Mapping[str, object]) -> Iterator[Broker]:
    """One node for the whole session; with pytest-xdist, one for each worker."""
    from penstock.testing.broker import Broker

    with Broker(penstock_settings) as broker:
        yield broker


@pytest.fixture
def penstock_topic(request: pytest.FixtureRequest) -> str:
    """The name of a topic that no other test uses; it exists once somebody creates it or writes to it."""
    readable = _ILLEGAL.sub("-", request.node.name).strip("-")[:TEST_NAME_CHARS_MAX]
    return f"{readable}-{next(_COUNT)}"


@pytest.fixture
def penstock_sim() -> Iterator[Callable[..., SimCluster]]:
    """Makes simulated clusters, as in `penstock_sim(nodes=3, seed=7, storm="at 2 s crash 1 for 3 s")`. When the test
    ends their clients must finish, and what was promised is checked."""
    from penstock.testing.simulated import SimCluster

    with ExitStack() as clusters:
        yield lambda *arguments, **options: clusters.enter_context(SimCluster(*arguments, **options))
