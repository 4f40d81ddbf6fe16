"""A query with an exactly-once sink at work in a simulated cluster: a driver, tasks with attempts, and their deaths.

What dies here may go on: whoever is taken for dead has an actor of its own, and takes its next steps at any time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar

from penstock.core.delivery.exactly_once import driver, tasks
from penstock.core.delivery.exactly_once.asks import Ask, Steps
from penstock.core.delivery.exactly_once.driver import Begun
from penstock.core.delivery.exactly_once.failures import SinkFailure
from penstock.core.delivery.exactly_once.values import CommitRecord, Part
from penstock.sim.clients.client import Client
from penstock.sim.clients.sink_desk import SinkDesk, WriterFenced
from penstock.sim.events import Partition
from penstock.sim.scheduler import MS, SECOND
from penstock.sim.script import Script, Sleep
from penstock.sim.world import World

T = TypeVar("T")
QUERY: Final = "q"
OWNER: Final = "owner"
TASKS: Final = 2
ATTEMPTS: Final = 3
LONG_MS: Final = 60_000
"""A transaction's timeout that no run reaches."""
PATIENCE_US_MAX: Final = 4 * SECOND
RUNS_MAX: Final = 200


@dataclass
class Protocol:
    """The machines; planted bugs replace one."""

    begin: Callable[[str], Steps[Begun]] = driver.begin
    commit: Callable[[Begun, CommitRecord], Steps[None]] = driver.commit
    write: Callable[[int, str, int], Steps[Part]] = lambda batch, task, attempt: tasks.write(QUERY, task, attempt)
    abort: Callable[[Begun, tuple[Part, ...]], Steps[None]] = lambda begun, _: driver.abort(QUERY, begun.producer)


@dataclass(frozen=True)
class Fates:
    """How drivers and attempts are taken for dead, who may go on all the same."""

    deaths: float = 0.04
    """At each look."""
    patience_us_max: int = SECOND
    are_cut_off: bool = False
    """Whether they lose their connections: what they have asked is asked again, behind the steps of others."""
    timeouts_ms: tuple[int, ...] = (2_000, LONG_MS)


CUT_OFF: Final = Fates(deaths=0.1, patience_us_max=150 * MS, are_cut_off=True, timeouts_ms=(LONG_MS,))


class TakenForDead(Exception):
    """Spark does not wait for this process any more."""


@dataclass
class SinkWork:
    """All of it. `done` is Spark's checkpoint."""

    world: World[Any]
    outputs: tuple[Partition, ...]
    commits: Partition
    batches: int
    two_phase: bool
    protocol: Protocol = field(default_factory=Protocol)
    fates: Fates = Fates()
    done: int = -1
    runs: int = 0
    followed: int = 0
    """How many processes were taken for dead."""
    lost: int = 0
    """How many parts were recorded, and had to be written again."""
    _processes: list[_Process] = field(default_factory=list)

    def rows(self, batch: int, task: str) -> tuple[bytes, ...]:
        return tuple(b"%d.%s.%d" % (batch, task.encode(), number) for number in range(2))

    def expected(self, where: Partition) -> Counter[bytes]:
        mine = (str(task) for task in range(TASKS) if self.outputs[task % len(self.outputs)] == where)
        return Counter(row for task in mine for batch in range(self.batches) for row in self.rows(batch, task))

    def script(self, client: Client) -> Script[None]:
        """Spark: starts the query again until all batches are done."""
        while self.done + 1 < self.batches:
            self.runs += 1
            assert self.runs < RUNS_MAX, "the query makes no progress"
            try:
                yield from self._query(client)
            except (SinkFailure, WriterFenced, TakenForDead):
                yield Sleep(client.chance.skewed(1, PATIENCE_US_MAX))
        client.disconnect()

    def clear_up(self, client: Client) -> Script[None]:
        """When all faults are over: everybody comes to an end, and the query is started once more."""
        self.fates = replace(self.fates, deaths=0.0)
        while not all(process.has_ended for process in self._processes):
            yield Sleep(20 * MS)
        yield from self._apart(client, lambda: self.protocol.begin(QUERY), self.batches)
        client.disconnect()

    def desk(self, client: Client, batch: int = -1) -> SinkDesk:
        def rows_of(task: str) -> tuple[Partition, tuple[bytes, ...]]:
            return self.outputs[int(task) % len(self.outputs)], self.rows(batch, task)

        timeout_ms = client.chance.pick(self.fates.timeouts_ms)
        return SinkDesk(client, self.commits, self.world.sites, timeout_ms, self.two_phase, rows_of)

    def _query(self, client: Client) -> Script[None]:
        while self.done + 1 < self.batches:
            batch = self.done + 1
            begun = yield from self._apart(client, lambda: self.protocol.begin(QUERY), batch)
            self.lost += len(begun.lost)
            parts = []
            for number in range(TASKS):
                if tasks.must_write(begun, OWNER, "", batch, str(number)):
                    parts.append((yield from self._task(client, batch, str(number))))
            record = CommitRecord(QUERY, OWNER, "", batch, TASKS, tuple(parts))
            try:
                yield from self._apart(client, partial(self.protocol.commit, begun, record), batch)
            except (SinkFailure, TakenForDead):
                # Also where only the process of the commit has died, perhaps behind its commit point.
                yield from self._apart(client, partial(self.protocol.abort, begun, record.parts), batch)
                raise
            self.done = max(self.done, batch)

    def _task(self, client: Client, batch: int, task: str) -> Script[Part]:
        for attempt in range(ATTEMPTS):
            try:
                return (yield from self._apart(client, partial(self.protocol.write, batch, task, attempt), batch))
            except (TakenForDead, WriterFenced):
                continue
        raise TakenForDead

    def _apart(self, client: Client, machine: Callable[[], Steps[T]], batch: int) -> Script[T]:
        """Run a machine in a process of its own, until it has ended or is taken for dead."""
        process = _Process()
        self._processes.append(process)
        self.world.act(
            f"{client.name}-{self.runs}-{batch}", lambda own: process.run(self.desk(own, batch), machine, own)
        )
        waits_until_us = None
        while not process.has_ended:
            if waits_until_us is None and self.fates.deaths and client.chance.happens(self.fates.deaths):
                waits_until_us = self.world.scheduler.now_us + client.chance.between(0, self.fates.patience_us_max)
            if waits_until_us is not None and self.world.scheduler.now_us >= waits_until_us:
                self.followed += 1
                if self.fates.are_cut_off:
                    process.cut_off()
                raise TakenForDead
            yield Sleep(20 * MS)
        if process.failure is not None:
            raise process.failure
        result: T = process.result
        return result


class _Process:
    """A machine at work."""

    def __init__(self) -> None:
        self.has_ended = False
        self.result: Any = None
        self.failure: Exception | None = None
        self._client: Client | None = None

    def cut_off(self) -> None:
        if self._client is not None:
            self._client.disconnect()

    def run(self, desk: SinkDesk, machine: Callable[[], Steps[Any]], client: Client) -> Script[None]:
        self._client = client
        steps = machine()
        try:
            ask: Ask = next(steps)
            while True:
                ask = steps.send((yield from desk.perform(ask)))
        except StopIteration as end:
            self.result = end.value
        except (SinkFailure, WriterFenced) as failure:
            self.failure = failure
        self.has_ended = True
        client.disconnect()
