"""What `penstock consume` does while its broker is away: it says so, goes on when it is back, or gives up as told."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.cli.outage import Outage
from penstock.client.blocking import Client
from penstock.client.errors import Unreachable
from penstock.client.groups import Groups
from penstock.client.metadata import TopicPartition
from penstock.client.producing import Producer
from penstock.testing import Broker
from tests.cli.running import TIMEOUT_S, command
from tests.waiting import wait_until

AS_GROUP = ("--group", "readers")
each_way = pytest.mark.parametrize("way", [(), ("--merge",), AS_GROUP], ids=["alone", "merged", "group"])


class Reading:
    """A running `penstock consume`, with what it has printed in files."""

    def __init__(self, folder: Path, broker: Broker, *options: str) -> None:
        self._out, self._err = folder / "out", folder / "err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            arguments = command("consume", "t", "--bootstrap", broker.bootstrap, *options)
            self.process = subprocess.Popen(arguments, stdout=out, stderr=err)

    def wait_printed(self, *values: str) -> None:
        wait_until(lambda: tuple(self._out.read_text().split()) == values, what=f"{values} are printed")

    def wait_said(self, words: str) -> None:
        wait_until(lambda: words in self.said(), what=f"{words!r} is said")

    def said(self) -> str:
        return self._err.read_text()

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(TIMEOUT_S)


@contextmanager
def reading(folder: Path, broker: Broker, *options: str) -> Iterator[Reading]:
    running = Reading(folder, broker, *options)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait(TIMEOUT_S)


def write(broker: Broker, *values: str) -> None:
    with Client(broker.bootstrap) as client:
        producer = Producer(client)
        for value in values:
            producer.send("t", None, value.encode())
        producer.flush()


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(beside=True) as broker:
        write(broker, "1", "2")
        yield broker


@pytest.mark.slow
@pytest.mark.client
@each_way
def test_a_reader_goes_on_when_the_broker_is_back(tmp_path: Path, broker: Broker, way: tuple[str, ...]) -> None:
    with reading(tmp_path, broker, "--follow", *way) as reader:
        reader.wait_printed("1", "2")
        broker.kill()
        reader.wait_said(f"no broker answers at {broker.bootstrap}")
        broker.start()
        reader.wait_said("answers again")
        write(broker, "3")
        reader.wait_printed("1", "2", "3")
        assert len(reader.said().splitlines()) == 2
        assert reader.interrupt() == 130


@pytest.mark.slow
@pytest.mark.client
@each_way
def test_a_reader_gives_up_when_told_so(tmp_path: Path, broker: Broker, way: tuple[str, ...]) -> None:
    with reading(tmp_path, broker, "--follow", "--timeout", "1", *way) as reader:
        reader.wait_printed("1", "2")
        broker.kill()
        assert reader.process.wait(TIMEOUT_S) == 1
        assert f"no broker answers at {broker.bootstrap}" in reader.said()
        assert "Traceback" not in reader.said()


@pytest.mark.slow
@pytest.mark.client
@each_way
def test_ctrl_c_ends_the_waiting(tmp_path: Path, broker: Broker, way: tuple[str, ...]) -> None:
    with reading(tmp_path, broker, "--follow", *way) as reader:
        reader.wait_printed("1", "2")
        broker.kill()
        reader.wait_said("no broker answers")
        assert reader.interrupt() == 130
        assert "Traceback" not in reader.said()


@pytest.mark.slow
@pytest.mark.client
def test_ctrl_c_commits_what_was_printed(tmp_path: Path, broker: Broker) -> None:
    with reading(tmp_path, broker, "--follow", *AS_GROUP) as reader:
        reader.wait_printed("1", "2")
        assert reader.interrupt() == 130
        assert reader.said() == ""
    with Client(broker.bootstrap) as client:
        assert Groups(client).offsets("readers") == {TopicPartition("t", 0): 2}


@pytest.mark.slow
@pytest.mark.client
def test_a_member_without_partitions_does_not_wait_for_some(tmp_path: Path, broker: Broker) -> None:
    (tmp_path / "second").mkdir()
    with reading(tmp_path, broker, "--follow", *AS_GROUP) as first:
        first.wait_printed("1", "2")
        with reading(tmp_path / "second", broker, *AS_GROUP) as second:
            assert second.process.wait(TIMEOUT_S) == 0
            assert "hold all partitions" in second.said() or "hold all partitions" in first.said()


def test_an_outage_is_told_once_and_its_end_once(capfd: pytest.CaptureFixture[str]) -> None:
    outage, failure = Outage(None), Unreachable("here:1", "gone")
    outage.is_over()
    for _ in range(3):
        outage.goes_on(failure)
    outage.is_over()
    outage.is_over()
    first, second = capfd.readouterr().err.splitlines()
    assert "no broker answers at here:1" in first
    assert "again" in second


def test_an_outage_without_patience_is_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Unreachable):
        Outage(0).goes_on(Unreachable("here:1", "gone"))
    assert capfd.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.client
def test_a_group_without_a_coordinator_is_not_waited_for_beyond_the_timeout(tmp_path: Path) -> None:
    with Broker() as broker:
        broker.produce("t", "1")
        broker.fail("FindCoordinator", "COORDINATOR_NOT_AVAILABLE", times=100_000)
        with reading(tmp_path, broker, *AS_GROUP, "--timeout", "1") as reader:
            assert reader.process.wait(TIMEOUT_S) == 1
            assert reader.said().splitlines() == [
                "penstock: group readers has no coordinator",
                "  see `penstock cluster health`",
            ]


def test_what_may_pass_at_once_is_not_worth_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    outage = Outage(None)
    outage.goes_on(Unreachable("here:1", "gone"), quiet_seconds=60)
    outage.is_over()
    assert capfd.readouterr().err == ""
