"""A query that copies a topic while somebody dies at its steps, and an independent client that counts what came of it.

One query lives through several deaths: a session's start costs more than all that happens in it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.exactly_once.commit_topic import COMMIT_TOPIC
from penstock.client.exactly_once.commit_topic import PARTITIONS as COMMIT_PARTITIONS
from penstock.client.exactly_once.marks import outcome
from penstock.client.metadata import TopicPartition as Place
from penstock.client.offsets import LATEST, list_offsets
from penstock.client.producing import Producer
from penstock.client.transactions import Listed, Transactions
from penstock.core.delivery.exactly_once.values import decoded
from tests.fresh_seeds import IS_SOAK
from tests.spark.environment import QUICK_SUBMIT, ROOT
from tests.spark.exactly_once.crashing import BUG_VARIABLE, VARIABLE

ROWS = 20_000 if IS_SOAK else 4_000
"""Of each death."""
PARTITIONS = 2
ATTEMPTS = 4
LOCAL = f"local[2,{ATTEMPTS}]"
"""As many attempts for a task as on a cluster."""
RUN_S_MAX = 240
RUNS_MAX = 60


class Copy:
    """A query that copies, and the broker at which it does so."""

    def __init__(self, broker: Any, folder: Path, topic: str, rows_each: int, master: str, bug: str | None) -> None:
        self._broker, self._folder, self._topic = broker, folder, topic
        self._rows_each, self._master = rows_each, master
        self._bug = {} if bug is None else {BUG_VARIABLE: bug}
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
        self.plan(cells, batches=len(cells))
        runs = self.run()
        assert self.done() == [*cells], self._talk()
        # A query may also give up and be started again; and whoever goes on for a moment behind its driver's back may
        # come to the next step, too, and kill a dead one.
        assert runs > any(victim == "driver" for _, victim in cells), self._talk()
        self.check()

    def plan(self, cells: Sequence[tuple[str, str]], batches: int) -> None:
        """There is something to copy, and these are to happen meanwhile."""
        self._fill(self._rows_each * batches)
        for name in ("done", *(each.name for each in self._folder.glob("worker-*"))):
            (self._folder / name).unlink(missing_ok=True)
        (self._folder / "plan").write_text("".join(f"{step},{victim}\n" for step, victim in cells))

    def done(self) -> list[tuple[str, ...]]:
        """What has happened of it."""
        done = self._folder / "done"
        return [tuple(line.split(",")) for line in done.read_text().splitlines()] if done.exists() else []

    def wake(self) -> None:
        (self._folder / "awake").touch()

    def run(self) -> int:
        """Start the query until it has come to its end; gives how often."""
        for number in range(1, RUNS_MAX + 1):
            with self.started() as query:
                if query.wait(RUN_S_MAX) == 0:
                    return number
        raise AssertionError(self._talk())

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        """The query, once; at the end there is nothing of it."""
        paths = (Path(__file__).parent / "hook", ROOT / "src", ROOT)
        environment = {
            **os.environ,
            **QUICK_SUBMIT,
            VARIABLE: str(self._folder),
            **self._bug,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "PYSPARK_PYTHON": sys.executable,
        }
        command = [sys.executable, "-m", "tests.spark.exactly_once.program"]
        # Each partition's share is rounded down: without room for that there would be a last batch of a few rows.
        limit = str(self._rows_each + PARTITIONS)
        command += [self._broker.bootstrap, self._topic, str(self._folder), limit, self._master]
        with (self._folder / "talk").open("a") as talk:
            # A group of its own: the driver is killed as a whole.
            query = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=talk, stderr=talk, start_new_session=True
            )
        try:
            yield query
        finally:
            if query.poll() is None:
                os.killpg(query.pid, signal.SIGKILL)
                query.wait()

    def check(self) -> None:
        """Nobody is in the way of readers, and each row counts once."""
        mine = self._transactions()
        assert not [each for each in mine if each.state == "Ongoing"], f"left open: {mine}"
        found, wanted = Counter(self._read()), Counter(b"%d" % number for number in range(self._rows))
        lacks, too_many = wanted - found, found - wanted
        told = f"{lacks.total()} rows are missing, {too_many.total()} too many"
        assert found == wanted, told
        mine = self._transactions()
        assert {each.state for each in mine} <= {"CompleteCommit", "CompleteAbort", "Empty"}, mine
        assert len(mine) <= PARTITIONS * ATTEMPTS + 1, f"too many transactional ids: {mine}"

    def check_what_is_recorded(self) -> None:
        """No part of a batch that is on record was aborted. Only where no transaction has timed out, and nobody came
        late: then it is written again."""
        with Client(self._broker.bootstrap) as client:
            # What has no value is the mark of a driver that read up to there.
            for record in map(decoded, filter(None, self._read(COMMIT_TOPIC, COMMIT_PARTITIONS))):
                for part in record.parts:
                    where = Place(part.place.topic, part.place.partition)
                    end = list_offsets(client, {where: LATEST})[where].offset
                    is_committed = outcome(client, where, part.place.offset, part.writer.id, end)
                    assert is_committed, f"on record and not committed: {part}"

    def _transactions(self) -> Sequence[Listed]:
        with Client(self._broker.bootstrap) as client:
            return [each for each in Transactions(client).list() if each.transactional_id.startswith(self._topic)]

    def _fill(self, count: int) -> None:
        with Client(self._broker.bootstrap) as client, Producer(client) as producer:
            for number in range(self._rows, self._rows + count):
                producer.send(self._topic, b"%d" % number, b"%d" % number)
        self._rows += count

    def _read(self, topic: str | None = None, partitions: int = PARTITIONS) -> Iterator[bytes]:
        settings = {
            "bootstrap.servers": self._broker.bootstrap,
            "group.id": "judge",
            "isolation.level": "read_committed",
        }
        consumer = Consumer({**settings, "enable.auto.commit": False, "enable.partition.eof": True})
        unread = set(range(partitions))
        topic = topic or f"{self._topic}-copy"
        consumer.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in unread])
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
def copying(
    broker: Any, folder: Path, rows_each: int = ROWS, master: str = LOCAL, bug: str | None = None
) -> Iterator[Copy]:
    with broker:
        copy = Copy(broker, folder, "rows", rows_each, master, bug)
        try:
            yield copy
        finally:
            copy.close()
            shutil.rmtree(folder, ignore_errors=True)
