"""Every order of events of a sink, up to stated bounds: drivers that follow each other while older ones go on, tasks
with two attempts each, requests that come late or twice, transactions that time out.

A process is its history of answers, so that a state can be compared and remembered, and the machines are run as they
are. A fault is a free choice of the world; there are only so many in a history. Crashes need no step of their own: who
is followed by another may take any number of steps more, none included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from penstock.core.delivery.exactly_once import driver, tasks
from penstock.core.delivery.exactly_once.asks import Ask, End, Fill, Introduce, Steps, WriteRecord
from penstock.core.delivery.exactly_once.driver import Begun
from penstock.core.delivery.exactly_once.failures import SinkFailure
from penstock.core.delivery.exactly_once.values import CommitRecord, Part
from tests.delivery.exactly_once.cluster import QUERY, Cluster, Refused

ATTEMPTS = 2
OWNER = "owner"
V = TypeVar("V")


@dataclass(frozen=True)
class Bounds:
    faults: int
    tasks: int = 2
    batches: int = 2
    runs: int = 3
    commits_go_on: bool = False
    """Whether the process of a commit that is taken for dead may do more."""


class Violation(AssertionError):
    """A row is missing or there twice, or a transaction is left that holds up its readers."""


class Protocol:
    """The machines, as they are; planted bugs replace one of them."""

    def begin(self) -> Steps[Begun]:
        return driver.begin(QUERY)

    def write(self, batch: int, task: str, attempt: int) -> Steps[Part]:
        return tasks.write(QUERY, task, attempt)

    def must_write(self, begun: Begun, batch: int, task: str) -> bool:
        return tasks.must_write(begun, OWNER, "", batch, task)

    def commit(self, begun: Begun, record: CommitRecord) -> Steps[None]:
        return driver.commit(begun, record)

    def abort(self, begun: Begun, parts: tuple[Part, ...]) -> Steps[None]:
        return driver.abort(QUERY, begun.producer)


class Process(NamedTuple):
    """A driver in one of its phases, or a task."""

    kind: str
    run: int
    batch: int
    task: str = ""
    attempt: int = 0
    begun: Begun | None = None
    parts: tuple[Part, ...] = ()
    answers: tuple[Any, ...] = ()


class Kept(Generic[V]):
    """A value that is there once, so that comparing it costs nothing."""

    __slots__ = ("value",)

    def __init__(self, value: V) -> None:
        self.value = value


class State(NamedTuple):
    cluster: Kept[Cluster]
    current: Kept[Process] | None
    """The newest driver; None while Spark starts one."""
    others: frozenset[Kept[Process]]
    """Everybody else: tasks, and older drivers."""
    late: tuple[tuple[Ask, int], ...] = ()
    """Requests that arrive once more, with the batch of who asked."""
    done: int = -1
    """The last batch that Spark's checkpoint knows to be committed."""
    run: int = 0
    faults: int = 0
    reported: tuple[tuple[str, Part | None], ...] = ()
    attempts: tuple[int, ...] = ()
    """How many attempts each task of the current batch has had."""
    failed: bool = False


class Model:
    def __init__(self, bounds: Bounds, protocol: Protocol, two_phase: bool) -> None:
        self._bounds = bounds
        self._protocol = protocol
        self._kept: dict[Any, Kept[Any]] = {}
        self._start = State(self._keep(Cluster(two_phase)), None, frozenset())
        self._next: dict[Kept[Process], tuple[Ask | None, Any]] = {}
        self.states = 0
        self.finished = 0

    @cached_property
    def _tasks(self) -> tuple[str, ...]:
        return tuple(str(number) for number in range(self._bounds.tasks))

    def explore(self) -> None:
        """Visit every state once; raises Violation, with the way that led there."""
        seen = {self._start}
        came_from: dict[State, tuple[State, str]] = {}
        stack = [self._start]
        while stack:
            state = stack.pop()
            try:
                for event, after in self._moves(state):
                    if after not in seen:
                        seen.add(after)
                        came_from[after] = state, event
                        stack.append(after)
            except Violation as violation:
                raise Violation("\n".join([*_way(state, came_from), str(violation)])) from None
        self.states = len(seen)

    def _keep(self, value: V) -> Kept[V]:
        if value not in self._kept:
            self._kept[value] = Kept(value)
        return self._kept[value]

    # ---- what may happen next

    def _moves(self, state: State) -> Iterator[tuple[str, State]]:
        if state.current is None:
            if state.done + 1 >= self._bounds.batches:
                self.finished += 1
            elif state.run < self._bounds.runs:
                yield "a driver starts", self._driver_starts(state)
        else:
            yield from self._current_moves(state, state.current)
        for process in state.others:
            yield from self._step_of(state, process)
        for number, (ask, batch) in enumerate(state.late):
            rest = state.late[:number] + state.late[number + 1 :]
            yield f"late: {ask}", self._perform(state._replace(late=rest), ask, batch)[0]
        if state.faults < self._bounds.faults:
            yield from self._faults(state._replace(faults=state.faults + 1))

    def _driver_starts(self, state: State) -> State:
        process = self._keep(Process("begin", state.run, state.done + 1))
        return state._replace(current=process, run=state.run + 1, reported=(), attempts=(), failed=False)

    def _current_moves(self, state: State, kept: Kept[Process]) -> Iterator[tuple[str, State]]:
        current = kept.value
        if current.kind != "job":
            yield from self._step_of(state, kept)
            return
        if state.failed:
            yield "the job fails", self._enter(state, current._replace(kind="abort", parts=_parts(state)))
        elif len(state.reported) == self._bounds.tasks:
            yield "all have reported", self._enter(state, current._replace(kind="commit", parts=_parts(state)))

    def _faults(self, state: State) -> Iterator[tuple[str, State]]:
        kept, waits = state.current, state.current is None or state.current.value.kind == "job"
        active = frozenset() if kept is None or waits else frozenset({kept})
        if kept is not None and state.run < self._bounds.runs:
            yield "the driver is taken for dead", state._replace(current=None, others=state.others | active)
        if kept is not None and kept.value.kind == "commit":
            others = state.others | {kept} if self._bounds.commits_go_on else state.others
            abort = kept.value._replace(kind="abort", answers=())
            yield "the process of the commit is taken for dead", self._enter(state._replace(others=others), abort)
        if kept is not None and waits:
            current = kept.value
            for number, task in enumerate(self._tasks):
                if task not in dict(state.reported) and state.attempts[number] < ATTEMPTS:
                    yield f"task {task} is taken for dead", self._next_attempt(state, current, task)
        for name, each in state.cluster.value.ids:
            if each.is_open and not each.is_taken_over:
                after = self._keep(state.cluster.value.timed_out(name))
                yield f"{name} times out", state._replace(cluster=after)
        for process in state.others | active:
            ask, _ = self._ask_of(process)
            if isinstance(ask, Introduce | End | WriteRecord | Fill):
                late = (*state.late, (ask, process.value.batch))
                yield f"comes twice: {ask}", state._replace(late=tuple(sorted(late, key=repr)))

    def _next_attempt(self, state: State, current: Process, task: str) -> State:
        number = self._tasks.index(task)
        attempt = state.attempts[number]
        assert current.begun is not None
        process = self._keep(Process("task", current.run, current.batch, task, attempt, current.begun))
        attempts = (*state.attempts[:number], attempt + 1, *state.attempts[number + 1 :])
        return state._replace(others=state.others | {process}, attempts=attempts)

    # ---- a step of a process

    def _step_of(self, state: State, kept: Kept[Process]) -> Iterator[tuple[str, State]]:
        ask, _ = self._ask_of(kept)
        assert ask is not None, "who has ended is not there any more"
        process = kept.value
        told = f"{process.kind} {process.run}.{process.batch}.{process.task}.{process.attempt}"
        without = state._replace(others=state.others - {kept})
        state, answer = self._perform(without, ask, process.batch)
        if answer is Refused:
            yield f"{told}: {ask} refused", self._ended(state, process, Refused())
            return
        after = self._keep(process._replace(answers=(*process.answers, answer)))
        event = f"{told}: {ask} -> {answer}"
        asks_more, result = self._ask_of(after)
        if asks_more is None:
            yield event, self._ended(state, after.value, result)
        elif state.current is kept:
            yield event, state._replace(current=after)
        else:
            yield event, state._replace(others=state.others | {after})

    def _ask_of(self, process: Kept[Process]) -> tuple[Ask | None, Any]:
        """What it asks for next, or how it has ended."""
        if process not in self._next:
            self._next[process] = self._replay(process.value)
        return self._next[process]

    def _replay(self, process: Process) -> tuple[Ask | None, Any]:
        machine = self._machine(process)
        try:
            ask = next(machine)
            for answer in process.answers:
                ask = machine.send(answer)
        except StopIteration as end:
            return None, end.value
        except SinkFailure as failure:
            return None, failure
        return ask, None

    def _machine(self, process: Process) -> Steps[Any]:
        begun = process.begun
        if process.kind == "begin":
            return self._protocol.begin()
        assert begun is not None
        if process.kind == "task":
            return self._protocol.write(process.batch, process.task, process.attempt)
        if process.kind == "abort":
            return self._protocol.abort(begun, process.parts)
        record = CommitRecord(QUERY, OWNER, "", process.batch, self._bounds.tasks, process.parts)
        return self._protocol.commit(begun, record)

    def _enter(self, state: State, process: Process) -> State:
        """The newest driver begins a phase, and may have nothing to ask in it."""
        kept = self._keep(process)
        state = state._replace(current=kept, reported=(), attempts=())
        asks, result = self._ask_of(kept)
        return state if asks else self._ended(state, process, result)

    def _ended(self, state: State, process: Process, result: Any) -> State:
        failed = isinstance(result, Exception)
        is_current = state.current is not None and state.current.value.run == process.run
        if process.kind == "task":
            return self._task_ended(state, process, None if failed else result) if is_current else state
        is_followed = state.current is not None and is_current and state.current.value.kind != process.kind
        is_current = is_current and not is_followed
        if process.kind == "commit" and not failed:
            self._check_committed(state.cluster.value, process.batch, is_current)
            # The driver of a commit that it takes for dead does not hear of it.
            state = state if is_followed else state._replace(done=max(state.done, process.batch))
        if not is_current or state.current is None:
            return state
        return self._current_ended(state, process, failed, result)

    def _current_ended(self, state: State, process: Process, failed: bool, result: Any) -> State:
        match process.kind:
            case "begin" if not failed:
                return self._job_starts(state, process._replace(kind="job", begun=result, answers=()))
            case "commit" if failed:
                return self._enter(state, process._replace(kind="abort", answers=()))
            case "commit" if process.batch + 1 < self._bounds.batches:
                return state._replace(current=self._keep(Process("begin", process.run, process.batch + 1)))
        # The query has ended; Spark starts it again.
        return state._replace(current=None)

    def _job_starts(self, state: State, job: Process) -> State:
        assert job.begun is not None
        state = state._replace(current=self._keep(job), reported=(), attempts=(0,) * self._bounds.tasks, failed=False)
        for task in self._tasks:
            try:
                if self._protocol.must_write(job.begun, job.batch, task):
                    state = self._next_attempt(state, job, task)
                else:
                    state = state._replace(reported=tuple(sorted({**dict(state.reported), task: None}.items())))
            except SinkFailure:
                state = state._replace(failed=True)
        return state

    def _task_ended(self, state: State, process: Process, part: Part | None) -> State:
        assert state.current is not None
        current, known = state.current.value, dict(state.reported)
        if current.kind != "job" or current.batch != process.batch or process.task in known:
            return state
        if part is not None:
            return state._replace(reported=tuple(sorted({**known, process.task: part}.items())))
        number = self._tasks.index(process.task)
        if any(each.value.kind == "task" and each.value[1:4] == process[1:4] for each in state.others):
            return state
        if state.attempts[number] < ATTEMPTS:
            return self._next_attempt(state, current, process.task)
        return state._replace(failed=True)

    # ---- what must hold

    def _check_committed(self, cluster: Cluster, batch: int, is_current: bool) -> None:
        for each in range(batch + 1):
            for task in self._tasks:
                if cluster.committed.count((each, task)) != 1:
                    raise Violation(f"batch {batch} is done; counted {cluster.committed}")
        left = [name for name, each in cluster.ids if each.is_due]
        if left and is_current:
            raise Violation(f"batch {batch} is done, and {left} hold up their readers")
        if len(cluster.ids) > self._bounds.tasks * ATTEMPTS + 1:
            raise Violation(f"there are {len(cluster.ids)} transactional ids")

    def _perform(self, state: State, ask: Ask, batch: int) -> tuple[State, Any]:
        try:
            cluster, answer = state.cluster.value.perform(ask, batch)
        except Refused:
            return state, Refused
        if len(set(cluster.committed)) != len(cluster.committed):
            raise Violation(f"{ask}: rows are there twice: {cluster.committed}")
        return state._replace(cluster=self._keep(cluster)), answer


def _parts(state: State) -> tuple[Part, ...]:
    return tuple(part for _, part in state.reported if part is not None)


def _way(state: State, came_from: dict[State, tuple[State, str]]) -> list[str]:
    way: list[str] = []
    while state in came_from:
        state, event = came_from[state]
        way.append(event)
    return way[::-1]
