"""One cluster for all tests of commands, and a way to run them."""

from collections.abc import Iterator

import pytest

from tests.cli.running import Shell, Up, running


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """A node that the commands are tried on; every test takes topics and groups of its own."""
    with running(tmp_path_factory.mktemp("cluster") / "data") as up:
        yield up


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.delenv("PENSTOCK_BOOTSTRAP", raising=False)
    # Nothing that a table or a help page looks like may depend on the terminal of whoever runs the tests.
    for name in ("COLUMNS", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    return Shell(capfd, monkeypatch)


@pytest.fixture
def penstock(shell: Shell, cluster: Up, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Commands that find the cluster."""
    monkeypatch.setenv("PENSTOCK_BOOTSTRAP", cluster.bootstrap)
    return shell
