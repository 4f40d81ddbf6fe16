"""One node for all tests of a worker, and names that no other test uses."""

import gc
import itertools
import re
from collections.abc import Iterator

import pytest

from penstock.testing import Broker
from tests.talk import complaints

_COUNT = itertools.count(1)


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """Beside the test process, so that a client which never lets go of the interpreter cannot starve it."""
    # Some records are dated long ago, and must not go while a slow run still asks for them.
    settings = {"group.min.session.timeout.ms": 500, "log.retention.check.interval.ms": 3_600_000}
    with Broker(settings, beside=True) as running:
        yield running
        # A client of librdkafka that a caught exception still leads to would miss the node, aloud and for ever.
        gc.collect()
        assert complaints(running) == []


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """For a topic or a group."""
    readable = re.sub(r"[^a-zA-Z0-9_-]+", "-", request.node.name).strip("-")[:60]
    return f"{readable}-{next(_COUNT)}"
