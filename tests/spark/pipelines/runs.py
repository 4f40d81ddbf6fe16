"""A run of a pipeline in a process of its own, and what is in topics before and after."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import READ_COMMITTED, edges
from penstock.client.pipeline_runs import Registry, Run
from penstock.client.producing import Producer
from penstock.client.reading import Reader
from penstock.core.delivery.dead_letter import PREFIX
from penstock.core.records.record import Record
from tests.waiting import wait_until

FLOWS = Path(__file__).with_name("flows.py")
START_S_MAX = 180.0
END_S_MAX = 180.0
Origin = tuple[int, int]


class PipelineRun:
    """`penstock pipeline run`, as a person starts it."""

    def __init__(self, bootstrap: str, folder: Path, name: str, *options: str) -> None:
        self.name = name
        self._client = Client(bootstrap)
        self._registry = Registry(self._client)
        self._talk = (folder / f"{name}.talk").open("a+")
        command = [sys.executable, "-m", "penstock.cli.main", "pipeline", "run", name, "--from", str(FLOWS)]
        # Four attempts for a task, as on a cluster; one is the habit of a session on this machine.
        command += ["--bootstrap", bootstrap, "--master", "local[2,4]", "--checkpoints", str(folder / "checkpoints")]
        self.process = subprocess.Popen([*command, *options], stdout=self._talk, stderr=self._talk, cwd=folder)

    def status(self) -> Run | None:
        """What is heard of the run, by somebody else."""
        run = self._registry.read().runs.get(self.name)
        return run if run is not None and run.pid == self.process.pid else None

    def wait_for_rows(self, count: int) -> None:
        def enough() -> bool:
            assert self.process.poll() is None, self.talk()
            run = self.status()
            return run is not None and run.rows >= count

        wait_until(enough, timeout_s=START_S_MAX, what=f"{count} rows")

    def wait(self) -> int:
        return self.process.wait(END_S_MAX)

    def kill(self) -> None:
        self.process.kill()
        self.wait()

    def close(self) -> None:
        """Leave nothing behind, whatever the test did."""
        if self.process.poll() is None:
            self.kill()
        self._talk.close()
        self._client.close()

    def workers(self) -> list[int]:
        """The Python processes that Spark has started for this run and that have started no others."""
        family = _descendants(self.process.pid)
        parents = {parent for _, parent, _ in family}
        return [
            pid
            for pid, _, command in family
            if "pyspark" in command and "java" not in command.split("\0")[0] and pid not in parents
        ]

    def talk(self) -> str:
        return Path(self._talk.name).read_text()


@contextlib.contextmanager
def running(bootstrap: str, folder: Path, name: str, *options: str) -> Iterator[PipelineRun]:
    run = PipelineRun(bootstrap, folder, name, *options)
    try:
        yield run
    finally:
        run.close()


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _descendants(ancestor: int) -> list[tuple[int, int, str]]:
    """Process, parent and command of everybody below a process."""
    everybody = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            everybody.append((int(entry.name), parent, (entry / "cmdline").read_text()))
    family, last = {ancestor}, 0
    while len(family) > last:
        last = len(family)
        family |= {pid for pid, parent, _ in everybody if parent in family}
    return [one for one in everybody if one[0] in family - {ancestor}]


def produce(bootstrap: str, topic: str, values: Iterable[bytes | None]) -> None:
    with Client(bootstrap) as client, Producer(client) as producer:
        for index, value in enumerate(values):
            producer.send(topic, str(index).encode(), value)


def records_of(bootstrap: str, topic: str) -> Iterator[tuple[int, Record]]:
    """Every record of a topic that counts, with its partition."""
    with Client(bootstrap) as client:
        places = [TopicPartition(topic, number) for number in range(len(client.topic(topic).partitions))]
        limits = edges(client, places)
        starts = {where: first for where, (first, _) in limits.items()}
        until = {where: end for where, (_, end) in limits.items()}
        for chunk in Reader(client, starts, until=until, isolation=READ_COMMITTED):
            for record in chunk.records:
                yield chunk.where.partition, record


def origins_in(bootstrap: str, topic: str) -> Counter[Origin]:
    """How often each record of a topic is there."""
    return Counter((partition, record.offset) for partition, record in records_of(bootstrap, topic))


def origins_out(bootstrap: str, topic: str) -> Counter[Origin]:
    """How often each record came out, as the rows say."""
    values = (json.loads(record.value or b"") for _, record in records_of(bootstrap, topic))
    return Counter((value["partition_in"], value["offset_in"]) for value in values)


def dead_letters(bootstrap: str, topic: str) -> list[tuple[Origin, dict[str, str], Record]]:
    """Where each dead letter came from, its headers, itself."""
    found = []
    for _, record in records_of(bootstrap, topic):
        ours = [(name, value) for name, value in record.headers if name.startswith(PREFIX)]
        facts = {name.removeprefix(PREFIX): (value or b"").decode() for name, value in ours}
        found.append(((int(facts["partition"]), int(facts["offset"])), facts, record))
    return found
