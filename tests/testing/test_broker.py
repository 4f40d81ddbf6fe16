"""The node for tests is a real one: it acknowledges, keeps data and port over restarts, and leaves nothing behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.client.blocking import Client
from penstock.client.errors import Unreachable
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import edges
from penstock.client.producing import Producer
from penstock.shell.children import environment
from penstock.testing import Broker, BrokerFailed

pytestmark = pytest.mark.client


@pytest.mark.parametrize("beside", [False, True])
def test_it_serves_and_leaves_nothing_behind(beside: bool) -> None:
    with Broker(beside=beside) as broker:
        broker.create_topic("orders", partitions=3, retention_ms=60_000)
        write(broker, "orders", b"first")
        assert broker.metrics()["penstock_topics"] == 1
    assert not broker.folder.exists()
    with pytest.raises(Unreachable), Client(broker.bootstrap) as client:
        client.link()


@pytest.mark.parametrize("beside", [False, True])
def test_a_script_that_never_closes_it_leaves_nothing_behind_either(beside: bool) -> None:
    script = (
        f"from penstock.testing import Broker; broker = Broker(beside={beside}); broker.start(); print(broker.folder)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert not Path(ran.stdout.strip()).exists()


ABANDONED = """
import atexit, threading
from penstock.testing import Broker
# What is registered first comes last.
atexit.register(lambda: print("penstock" in [each.name for each in threading.enumerate()]))
broker = Broker(folder={folder!r})
broker.start()
"""


@pytest.mark.parametrize("is_given", [False, True])
def test_the_interpreter_ends_without_a_node_at_work(is_given: bool, tmp_path: Path) -> None:
    """A thread of a loop in C that comes back to an interpreter that is gone takes the process with it."""
    script = ABANDONED.format(folder=str(tmp_path) if is_given else None)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("False\n", "")


FORKED = """
import os, sys
from penstock.testing import Broker
broker = Broker(beside=True)
broker.start()
child = os.fork()
if child == 0:
    sys.exit()
os.waitpid(child, 0)
print(broker.folder.exists())
"""


def test_a_fork_that_ends_takes_nothing_away() -> None:
    ran = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("True\n", "")


@pytest.mark.parametrize("beside", [False, True])
def test_a_restart_keeps_port_and_data(beside: bool, tmp_path: Path) -> None:
    broker = Broker(folder=tmp_path / "data", beside=beside)
    broker.start()
    address = broker.bootstrap
    write(broker, "orders", b"first")
    broker.stop()
    with broker:
        assert broker.bootstrap == address
        write(broker, "orders", b"second")
        assert end_offset(broker, "orders") == 2
    assert (tmp_path / "data" / "orders-0").is_dir()


def test_a_killed_broker_comes_back_with_what_it_acknowledged() -> None:
    with Broker(beside=True) as broker:
        for value in (b"first", b"second", b"third"):
            write(broker, "orders", value)
        before = broker.pid
        broker.kill()
        broker.start()
        assert broker.pid != before
        assert end_offset(broker, "orders") == 3


def test_brokers_live_side_by_side() -> None:
    with Broker() as one, Broker() as other:
        assert one.bootstrap != other.bootstrap
        write(one, "orders", b"here")
        assert one.metrics()["penstock_topics"] == 1
        assert other.metrics()["penstock_topics"] == 0


def test_settings_reach_the_node() -> None:
    with Broker({"num.partitions": 7}) as broker:
        write(broker, "orders", b"first")
        with Client(broker.bootstrap) as client:
            assert len(client.topic("orders").partitions) == 7


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    with Broker(folder=tmp_path), pytest.raises(BrokerFailed, match=str(tmp_path)), Broker(folder=tmp_path):
        pass


def test_a_broker_closes_what_it_opened() -> None:
    with Broker():
        pass
    before = open_descriptors()
    with Broker() as broker:
        write(broker, "orders", b"first")
    assert open_descriptors() == before


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def write(broker: Broker, topic: str, value: bytes) -> None:
    """Returns once the record is acknowledged; the topic is created by that if it is not there."""
    with Client(broker.bootstrap) as client, Producer(client) as producer:
        producer.send(topic, None, value)


def end_offset(broker: Broker, topic: str) -> int:
    place = TopicPartition(topic, 0)
    with Client(broker.bootstrap) as client:
        return edges(client, [place])[place][1]


def test_bytecode_that_may_not_be_written_beside_the_sources_is_written_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    first, second = environment(), environment()
    assert "PYTHONDONTWRITEBYTECODE" not in first
    assert first["PYTHONPYCACHEPREFIX"] == second["PYTHONPYCACHEPREFIX"]
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    assert "PYTHONPYCACHEPREFIX" not in environment()
