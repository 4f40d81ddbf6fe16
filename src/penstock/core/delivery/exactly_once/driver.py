"""The driver's side: before a batch, at its commit, and when it fails.

The order of what is asked here is the protocol. The driver's own transactional id is introduced before the commit
topic is read, so nobody can add a record behind what was read: who was driver before is fenced. All transactions of the
newest record are ended before any task begins under an id that it names. The record is written before the first of
them is ended. What no record names is aborted, and only by who is still the driver after it has seen what is open.
"""

from __future__ import annotations

from penstock.core.base.values import frozen, replaced
from penstock.core.delivery.exactly_once.asks import (
    End,
    GoneAmong,
    Introduce,
    IsCurrent,
    ListOpen,
    Look,
    Outcome,
    ReadNewest,
    Steps,
    Taken,
    TakeOver,
    WriteRecord,
)
from penstock.core.delivery.exactly_once.failures import OtherRows, OtherTasks, PartGone, Superseded, WrittenAgain
from penstock.core.delivery.exactly_once.ids import driver_id
from penstock.core.delivery.exactly_once.values import CommitRecord, Part, Producer


@frozen
class Begun:
    """What tasks are handed: who drives, what was committed last, and which parts of it are to be written again."""

    query: str
    producer: Producer
    newest: CommitRecord | None = None
    lost: frozenset[str] = frozenset()


def begin(query: str) -> Steps[Begun]:
    """Before a batch: be the only driver, and finish what the one before has left."""
    producer: Producer = yield Introduce(driver_id(query))
    newest: CommitRecord | None = yield ReadNewest(query)
    lost = yield from settle(newest)
    yield from sweep(query, producer)
    return Begun(query, producer, newest, lost)


def commit(begun: Begun, record: CommitRecord) -> Steps[None]:
    """Let a batch count: `record.parts` are what its tasks have written."""
    name = driver_id(begun.query)
    if begun.newest is not None and begun.newest.batch == record.batch and not begun.lost:
        return
    check_repair(begun, record)
    if not (yield IsCurrent(name, begun.producer)):
        # Not to disturb the tasks of whoever is driver now.
        raise Superseded(record.query)
    prepared = yield from prepare(settling(begun, record))
    if not (yield WriteRecord(name, begun.producer, prepared)):
        raise Superseded(record.query)
    if not (yield End(name, begun.producer, committed=True)):
        raise Superseded(record.query)
    lost = yield from settle(prepared)
    yield from sweep(begun.query, begun.producer)
    if lost:
        raise WrittenAgain(record.query, record.batch, len(lost))


def abort(query: str, producer: Producer) -> Steps[None]:
    """A batch has failed, perhaps behind its commit point: what is recorded is committed, the rest aborted. Whoever has
    become driver meanwhile is not disturbed."""
    name = driver_id(query)
    if not (yield IsCurrent(name, producer)):
        return
    # The commit that is taken for dead may go on. Under the epoch that it has, its record would be let in once more
    # after being aborted: a repeated write is answered as the first time, and what is ended then is empty.
    mine: Producer = yield Introduce(name)
    newest: CommitRecord | None = yield ReadNewest(query)
    yield from settle(newest)
    yield from sweep(query, mine)


def check_repair(begun: Begun, record: CommitRecord) -> None:
    """What is written again must be what was recorded."""
    newest = begun.newest
    if newest is None or newest.batch != record.batch:
        return
    if newest.tasks != record.tasks:
        raise OtherTasks(record.query, record.batch, newest.tasks, record.tasks)
    before = {part.task: part for part in newest.parts}
    written = {part.task for part in record.parts}
    for part in record.parts:
        was = before.get(part.task)
        if was is None or (was.rows, was.checksum) != (part.rows, part.checksum):
            raise OtherRows(record.query, record.batch, part.task)
    for task in begun.lost - written:
        raise OtherRows(record.query, record.batch, task)


def settling(begun: Begun, record: CommitRecord) -> CommitRecord:
    """With what an earlier round of the same batch has committed."""
    newest = begun.newest
    if newest is None or newest.batch != record.batch:
        return record
    settled = (*newest.settled, *(part for part in newest.parts if part.task not in begun.lost))
    return record.replacing(settled=settled, facts=newest.facts)


def prepare(record: CommitRecord) -> Steps[CommitRecord]:
    """Make sure that every transaction is there and stays until it is ended. Where the cluster cannot promise that, at
    least look whether it is there now."""
    prepared: list[Part] = []
    for part in record.parts:
        taken: Taken | None = yield TakeOver(part.transactional_id)
        if taken is None:
            gone: frozenset[str] = yield GoneAmong(record.parts)
            for each in record.parts:
                if each.transactional_id in gone:
                    raise PartGone(record.query, record.batch, each.task)
            return record
        if taken.writer != part.writer:
            raise PartGone(record.query, record.batch, part.task)
        prepared.append(replaced(part, ender=taken.ender))
    return record.replacing(parts=tuple(prepared))


def settle(record: CommitRecord | None) -> Steps[frozenset[str]]:
    """End what is recorded. Gives the tasks of those parts that were aborted by a timeout or by somebody who came
    late, and have to be written again."""
    lost = set()
    for part in record.parts if record is not None else ():
        if not (yield from _settle(part)):
            lost.add(part.task)
    return frozenset(lost)


def _settle(part: Part) -> Steps[bool]:
    if (yield End(part.transactional_id, part.actor, committed=True)):
        return True
    # Somebody has gone on under this id. Whether this transaction was committed before that, its partition knows.
    outcome = yield Look(part)
    while outcome is Outcome.OPEN:
        # An older driver has taken it over in vain.
        taken: Taken | None = yield TakeOver(part.transactional_id)
        is_ours = taken is not None and taken.writer == part.writer
        if taken is not None and is_ours and (yield End(part.transactional_id, taken.ender, committed=True)):
            return True
        outcome = yield Look(part)
    return outcome is Outcome.COMMITTED


def sweep(query: str, producer: Producer) -> Steps[None]:
    """Abort what is open: everything that is recorded has ended by now. Such orphans would hold up every read_committed
    reader of their partitions."""
    orphans: tuple[tuple[str, Producer], ...] = yield ListOpen(query)
    if not orphans:
        return
    # Who is driver after it has seen them knows that they are older than any task of the next driver.
    if not (yield IsCurrent(driver_id(query), producer)):
        raise Superseded(query)
    for name, writer in orphans:
        if not (yield End(name, writer, committed=False)):
            # An older driver has taken it over, and died.
            taken: Taken | None = yield TakeOver(name)
            if taken is not None and taken.writer == writer:
                yield End(name, taken.ender, committed=False)
