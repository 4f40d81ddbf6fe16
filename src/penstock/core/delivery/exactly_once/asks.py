"""What the machines ask for. Whoever performs an ask tries again what may pass, and gives the answer that is named."""

from __future__ import annotations

from collections.abc import Generator
from enum import Enum
from typing import Any, TypeVar

from penstock.core.base.values import frozen
from penstock.core.delivery.exactly_once.values import CommitRecord, Part, Producer

T = TypeVar("T")


class Outcome(Enum):
    """What became of a transaction, as the log has it."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"


@frozen
class Introduce:
    """InitProducerId, without saying who it was: aborts what is open under this id and fences whoever had it. Gives the
    new `Producer`."""

    transactional_id: str


@frozen
class ReadNewest:
    """The newest record of a query in the commit topic, up to its present end, of those whose transactions were
    committed; or None."""

    query: str


@frozen
class WriteRecord:
    """Produce a record to the commit topic in a transaction of this producer. Gives whether it was let in."""

    transactional_id: str
    producer: Producer
    record: CommitRecord


@frozen
class End:
    """EndTxn in a version that keeps the epoch, so that it may be asked again. Gives whether the transaction has ended
    so, now or before; False also says that nobody knows."""

    transactional_id: str
    producer: Producer
    committed: bool


@frozen
class Look:
    """The `Outcome` of a part's transaction, read from the partition that it wrote to."""

    part: Part


@frozen
class TakeOver:
    """InitProducerId with `enable2Pc` and `keepPreparedTxn` (KIP-939). Gives `Taken`, or None where the cluster does
    not do it."""

    transactional_id: str


@frozen
class Taken:
    """Who may end the transaction now, and who wrote it; None if there is none."""

    ender: Producer
    writer: Producer | None


@frozen
class GoneAmong:
    """The transactional ids, as a frozenset, of those parts whose transactions are no longer open as they were."""

    parts: tuple[Part, ...]


@frozen
class ListOpen:
    """The open transactions of a query's tasks: a tuple of `(transactional id, Producer who writes)`."""

    query: str


@frozen
class IsCurrent:
    """Whether this producer is still the newest of its id."""

    transactional_id: str
    producer: Producer


@frozen
class Fill:
    """Write all rows of the task in a transaction, and flush. Gives the `Part`."""

    task: str
    transactional_id: str
    producer: Producer


Ask = Introduce | ReadNewest | WriteRecord | End | Look | TakeOver | GoneAmong | ListOpen | IsCurrent | Fill
Steps = Generator[Ask, Any, T]
