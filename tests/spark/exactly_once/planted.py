"""Wrong versions of the protocol, put in place of the right one in every process of a query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.core.delivery.exactly_once import driver, tasks
from penstock.core.delivery.exactly_once.asks import End, Fill, Introduce, ReadNewest, Steps, WriteRecord
from penstock.core.delivery.exactly_once.driver import Begun
from penstock.core.delivery.exactly_once.ids import driver_id, task_id
from penstock.core.delivery.exactly_once.values import CommitRecord, Part, Producer

_commit: Final = driver.commit


def record_after_end(begun: Begun, record: CommitRecord) -> Steps[None]:
    if begun.newest is not None and begun.newest.batch == record.batch:
        return
    prepared = yield from driver.prepare(record)
    yield from driver.settle(prepared)
    yield WriteRecord(driver_id(begun.query), begun.producer, prepared)
    yield End(driver_id(begun.query), begun.producer, committed=True)
    yield from driver.sweep(begun.query, begun.producer)


def begin_without_a_look(query: str) -> Steps[Begun]:
    producer: Producer = yield Introduce(driver_id(query))
    newest = yield ReadNewest(query)
    yield from driver.sweep(query, producer)
    return Begun(query, producer, newest)


def abort_everything(query: str, producer: Producer) -> Steps[None]:
    yield End(driver_id(query), producer, committed=False)
    yield from driver.sweep(query, producer)


def write_under_ids_of_the_batch(query: str, task: str, attempt: int) -> Steps[Part]:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "a task has a context"
    name = task_id(query, f"{context.getLocalProperty('streaming.sql.batchId')}{task}", attempt)
    producer: Producer = yield Introduce(name)
    part: Part = yield Fill(task, name, producer)
    return part


def sweep_nothing(query: str, producer: Producer) -> Steps[None]:
    yield from ()


def begin_without_fencing(query: str) -> Steps[Begun]:
    newest = yield ReadNewest(query)
    lost = yield from driver.settle(newest)
    return Begun(query, Producer(-1, -1), newest, lost)


def fence_at_the_commit(begun: Begun, record: CommitRecord) -> Steps[None]:
    producer: Producer = yield Introduce(driver_id(begun.query))
    yield from _commit(Begun(begun.query, producer, begun.newest, begun.lost), record)


BUGS: Final[dict[str, dict[tuple[Any, str], Callable[..., Any]]]] = {
    "record after EndTxn": {(driver, "commit"): record_after_end},
    "recorded ids ignored": {(driver, "begin"): begin_without_a_look},
    "abort behind the commit point": {(driver, "abort"): abort_everything},
    "ids per batch": {(tasks, "write"): write_under_ids_of_the_batch},
    "orphan left open": {(driver, "sweep"): sweep_nothing},
    "older driver not fenced": {(driver, "begin"): begin_without_fencing, (driver, "commit"): fence_at_the_commit},
}


def plant(bug: str) -> None:
    for (module, name), wrong in BUGS[bug].items():
        setattr(module, name, wrong)
