"""A broker of each kind for the tests of commands, and a way to run them."""

import pytest

from tests.cli.brokers import cluster
from tests.cli.running import Shell, Up
from tests.kafka_peer import KafkaPeer

__all__ = ["cluster"]


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.delenv("PENSTOCK_BOOTSTRAP", raising=False)
    # Nothing that a table or a help page looks like may depend on the terminal of whoever runs the tests.
    for name in ("COLUMNS", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    return Shell(capfd, monkeypatch)


@pytest.fixture
def penstock(shell: Shell, cluster: Up | KafkaPeer, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Commands that find the cluster."""
    monkeypatch.setenv("PENSTOCK_BOOTSTRAP", cluster.bootstrap)
    return shell
