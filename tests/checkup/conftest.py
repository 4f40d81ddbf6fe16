"""Commands are run as the tests of commands do it; and a node that tells its metrics where its settings say."""

from collections.abc import Iterator

import pytest

from tests.cli.brokers import cluster
from tests.cli.conftest import penstock, shell
from tests.cli.running import Up, running

__all__ = ["cluster", "penstock", "shell"]


@pytest.fixture(scope="package")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running(tmp_path_factory.mktemp("up") / "data") as up:
        yield up
