"""Versions of the protocol that are wrong, each in one place: the naive one, and the holes that were closed."""

from __future__ import annotations

from penstock.core.delivery.exactly_once import driver, tasks
from penstock.core.delivery.exactly_once.asks import End, Fill, Introduce, IsCurrent, ReadNewest, Steps, WriteRecord
from penstock.core.delivery.exactly_once.driver import Begun
from penstock.core.delivery.exactly_once.ids import driver_id, task_id
from penstock.core.delivery.exactly_once.values import CommitRecord, Part, Producer
from tests.delivery.exactly_once.cluster import QUERY
from tests.delivery.exactly_once.model import Protocol

DRIVER = driver_id(QUERY)


class Naive(Protocol):
    """Each task commits what it has written."""

    def must_write(self, begun: Begun, batch: int, task: str) -> bool:
        return True

    def write(self, batch: int, task: str, attempt: int) -> Steps[Part]:
        part = yield from tasks.write(QUERY, task, attempt)
        yield End(part.transactional_id, part.writer, committed=True)
        return part

    def commit(self, begun: Begun, record: CommitRecord) -> Steps[None]:
        yield ReadNewest(QUERY)


class RecordAfterEnd(Protocol):
    """The record is written when all transactions have ended."""

    def commit(self, begun: Begun, record: CommitRecord) -> Steps[None]:
        if begun.newest is not None and begun.newest.batch == record.batch:
            return
        prepared = yield from driver.prepare(record)
        yield from driver.settle(prepared)
        yield WriteRecord(DRIVER, begun.producer, prepared)
        yield End(DRIVER, begun.producer, committed=True)
        yield from driver.sweep(QUERY, begun.producer)


class RecordIgnored(Protocol):
    """What the newest record names is not ended before the batch is done again."""

    def begin(self) -> Steps[Begun]:
        producer: Producer = yield Introduce(DRIVER)
        newest = yield ReadNewest(QUERY)
        yield from driver.sweep(QUERY, producer)
        return Begun(QUERY, producer, newest)


class AbortBehindTheCommitPoint(Protocol):
    """A batch that fails is aborted, whatever is on record."""

    def abort(self, begun: Begun, parts: tuple[Part, ...]) -> Steps[None]:
        for part in parts:
            yield End(part.transactional_id, part.writer, committed=False)


class AbortUnderTheSameEpoch(Protocol):
    """An abort ends the driver's transaction, and does not fence a commit that goes on."""

    def abort(self, begun: Begun, parts: tuple[Part, ...]) -> Steps[None]:
        yield End(DRIVER, begun.producer, committed=False)
        if (yield IsCurrent(DRIVER, begun.producer)):
            newest = yield ReadNewest(QUERY)
            yield from driver.settle(newest)
            yield from driver.sweep(QUERY, begun.producer)


class IdsPerBatch(Protocol):
    """Every batch has transactional ids of its own."""

    def write(self, batch: int, task: str, attempt: int) -> Steps[Part]:
        name = task_id(QUERY, f"{batch}{task}", attempt)
        producer: Producer = yield Introduce(name)
        part: Part = yield Fill(task, name, producer)
        return part


class OrphanLeftOpen(Protocol):
    """Nobody looks for what no record names."""

    def commit(self, begun: Begun, record: CommitRecord) -> Steps[None]:
        if begun.newest is not None and begun.newest.batch == record.batch:
            return
        prepared = yield from driver.prepare(record)
        yield WriteRecord(DRIVER, begun.producer, prepared)
        yield End(DRIVER, begun.producer, committed=True)
        yield from driver.settle(prepared)


class OlderDriverNotFenced(Protocol):
    """Who is driver is settled when the record is written, and not when it was last read."""

    def begin(self) -> Steps[Begun]:
        newest = yield ReadNewest(QUERY)
        lost = yield from driver.settle(newest)
        return Begun(QUERY, Producer(0, -1), newest, lost)

    def commit(self, begun: Begun, record: CommitRecord) -> Steps[None]:
        producer: Producer = yield Introduce(DRIVER)
        yield from driver.commit(Begun(QUERY, producer, begun.newest, begun.lost), record)


class ReadBeforeFencing(Protocol):
    """The commit topic is read, and then the older driver is fenced."""

    def begin(self) -> Steps[Begun]:
        newest = yield ReadNewest(QUERY)
        producer: Producer = yield Introduce(DRIVER)
        lost = yield from driver.settle(newest)
        yield from driver.sweep(QUERY, producer)
        return Begun(QUERY, producer, newest, lost)


class RefusedMeansLost(Protocol):
    """A recorded transaction whose end is refused is written again, without a look at its partition."""

    def begin(self) -> Steps[Begun]:
        producer: Producer = yield Introduce(DRIVER)
        newest: CommitRecord | None = yield ReadNewest(QUERY)
        lost = set()
        for part in newest.parts if newest is not None else ():
            if not (yield End(part.transactional_id, part.actor, committed=True)):
                lost.add(part.task)
        yield from driver.sweep(QUERY, producer)
        return Begun(QUERY, producer, newest, frozenset(lost))


class RefusedMeansCommitted(Protocol):
    """A recorded transaction that has timed out is taken for one that was committed."""

    def must_write(self, begun: Begun, batch: int, task: str) -> bool:
        return begun.newest is None or batch > begun.newest.batch

    def commit(self, begun: Begun, record: CommitRecord) -> Steps[None]:
        yield from driver.commit(Begun(QUERY, begun.producer, begun.newest), record)


PLANTED = (
    Naive,
    RecordAfterEnd,
    RecordIgnored,
    AbortBehindTheCommitPoint,
    AbortUnderTheSameEpoch,
    IdsPerBatch,
    OrphanLeftOpen,
    OlderDriverNotFenced,
    ReadBeforeFencing,
    RefusedMeansLost,
    RefusedMeansCommitted,
)
