"""The crash matrix of the exactly-once sink: somebody dies at each of its steps, and an independent client counts.

One query lives through several cells: a session's start costs more than all that happens in it.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.producing import Producer
from penstock.client.transactions import Transactions
from penstock.testing import Broker
from tests.fresh_seeds import FIRST, IS_SOAK
from tests.kafka_peer import KafkaPeer
from tests.spark.environment import QUICK_SUBMIT, ROOT
from tests.spark.exactly_once.crashing import STEPS, VARIABLE, VICTIMS

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS = 20_000 if IS_SOAK else 4_000
"""Of each cell."""
PARTITIONS = 2
RUN_S_MAX = 240
RUNS_MAX = 60
KILLS = int(os.environ.get("KILLS", "40"))
QUICK = (
    ("recovery", "broker"),
    ("init", "executor"),
    ("produce", "broker"),
    ("flushed", "executor"),
    ("record", "driver"),
    ("between ends", "driver"),
)


class Copy:
    """A query that copies, and the cluster it does so in."""

    def __init__(self, broker: Any, folder: Path, topic: str) -> None:
        self._broker, self._folder, self._topic = broker, folder, topic
        self._rows = 0
        self._over = threading.Event()
        (folder / "spark").mkdir()
        self._note_broker()
        self._keeper = threading.Thread(target=self._keep_up, daemon=True)
        self._keeper.start()
        with Client(broker.bootstrap) as client:
            for name in (topic, f"{topic}-copy"):
                Admin(client).create_topic(name, PARTITIONS)

    def close(self) -> None:
        self._over.set()
        self._keeper.join()

    def die(self, cells: Sequence[tuple[str, str]]) -> None:
        """A batch for each cell, a death at each of its steps, and everything is there once."""
        self._fill(ROWS * len(cells))
        for name in ("done", *(each.name for each in self._folder.glob("worker-*"))):
            (self._folder / name).unlink(missing_ok=True)
        (self._folder / "plan").write_text("".join(f"{step},{victim}\n" for step, victim in cells))
        runs = self.run()
        done = [tuple(line.split(",")) for line in (self._folder / "done").read_text().splitlines()]
        assert done == [*cells], self._talk()
        # A query may also give up and be started again; and whoever goes on for a moment behind its driver's back may
        # come to the next step, too, and kill a dead one.
        assert runs > any(victim == "driver" for _, victim in cells), self._talk()
        self.check()

    def run(self) -> int:
        """Start the query until it has come to its end; gives how often."""
        paths = (Path(__file__).parent / "hook", ROOT / "src", ROOT)
        environment = {
            **os.environ,
            **QUICK_SUBMIT,
            VARIABLE: str(self._folder),
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "PYSPARK_PYTHON": sys.executable,
        }
        command = [sys.executable, "-m", "tests.spark.exactly_once.program"]
        command += [self._broker.bootstrap, self._topic, str(self._folder), str(ROWS)]
        for number in range(1, RUNS_MAX + 1):
            with (self._folder / "talk").open("a") as talk:
                # A group of its own: the driver is killed as a whole.
                done = subprocess.run(
                    command, cwd=ROOT, env=environment, stdout=talk, stderr=talk, start_new_session=True,
                    timeout=RUN_S_MAX, check=False,
                )  # fmt: skip
            if done.returncode == 0:
                return number
        raise AssertionError(self._talk())

    def check(self) -> None:
        found = Counter(self._read())
        assert found == Counter({b"%d" % number: 1 for number in range(self._rows)})
        with Client(self._broker.bootstrap) as client:
            mine = [each for each in Transactions(client).list() if each.transactional_id.startswith(self._topic)]
        assert {each.state for each in mine} <= {"CompleteCommit", "CompleteAbort", "Empty"}, mine
        assert len(mine) <= PARTITIONS * 4 + 1

    def _fill(self, count: int) -> None:
        with Client(self._broker.bootstrap) as client, Producer(client) as producer:
            for number in range(self._rows, self._rows + count):
                producer.send(self._topic, b"%d" % number, b"%d" % number)
        self._rows += count

    def _read(self) -> Iterator[bytes]:
        settings = {
            "bootstrap.servers": self._broker.bootstrap,
            "group.id": "judge",
            "isolation.level": "read_committed",
        }
        consumer = Consumer({**settings, "enable.auto.commit": False, "enable.partition.eof": True})
        unread = set(range(PARTITIONS))
        consumer.assign([TopicPartition(f"{self._topic}-copy", each, OFFSET_BEGINNING) for each in unread])
        while unread:
            for message in consumer.consume(5_000, 0.1):
                if message.error() is None:
                    yield message.value() or b""
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    unread.discard(message.partition())
        consumer.close()

    def _keep_up(self) -> None:
        """Start the broker again when somebody has killed it."""
        while not self._over.wait(0.05):
            if not (self._folder / "broker").exists():
                self._broker.kill()
                self._broker.start()
                self._note_broker()

    def _note_broker(self) -> None:
        hidden = self._folder / "broker.new"
        hidden.write_text(str(self._broker.pid))
        hidden.rename(self._folder / "broker")

    def _talk(self) -> str:
        return (self._folder / "talk").read_text(errors="replace")[-3_000:]


@contextmanager
def copying(broker: Any, folder: Path) -> Iterator[Copy]:
    with broker:
        copy = Copy(broker, folder, "rows")
        try:
            yield copy
        finally:
            copy.close()
            shutil.rmtree(folder, ignore_errors=True)


def test_six_deaths(tmp_path: Path) -> None:
    with copying(Broker(beside=True), tmp_path) as copy:
        copy.die(QUICK)


@pytest.mark.soak
@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("kind", [Broker, pytest.param(KafkaPeer, marks=pytest.mark.java)])
def test_the_whole_matrix(kind: Any, victim: str, tmp_path: Path) -> None:
    broker = Broker(beside=True) if kind is Broker else KafkaPeer()
    with copying(broker, tmp_path) as copy:
        copy.die([(step, victim) for step in STEPS])


@pytest.mark.soak
def test_many_deaths(tmp_path: Path) -> None:
    """`KILLS=200 make soak` for more."""
    dice = random.Random(FIRST)
    with copying(Broker(beside=True), tmp_path) as copy:
        copy.die([(dice.choice(STEPS), dice.choice(VICTIMS)) for _ in range(KILLS)])
