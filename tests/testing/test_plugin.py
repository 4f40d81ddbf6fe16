"""The plugin as a project that uses it sees it: pytest runs over a file of its own, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.client, pytest.mark.slow]

THEIR_TESTS = """
import pytest
from penstock.client.blocking import Client

seen = set()

@pytest.fixture(scope="session")
def penstock_settings():
    return {"num.partitions": 3}

@pytest.mark.parametrize("case", ["a/b", "c d"])
def test_topics_are_fresh(penstock_broker, penstock_topic, case):
    assert penstock_topic not in seen
    seen.add(penstock_topic)
    penstock_broker.create_topic(penstock_topic)

def test_the_node_is_the_same(penstock_broker):
    with Client(penstock_broker.bootstrap) as client:
        assert seen <= {topic.name for topic in client.topics()}

def test_settings_can_be_given(penstock_broker, penstock_topic):
    with Client(penstock_broker.bootstrap) as client:
        assert len(client.topic(penstock_topic, create=True).partitions) == 3
"""


def test_a_project_gets_a_node_and_topics(tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text(THEIR_TESTS)
    # Loaded by name, so that this also works where the installed package is older than its list of entry points.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "penstock.testing.plugin", "-p", "no:cacheprovider"]
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path)), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [*command, "test_theirs.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
