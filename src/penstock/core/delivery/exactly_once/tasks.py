"""The tasks' side: whether to write, under which id, and what to tell the driver."""

from __future__ import annotations

from penstock.core.delivery.exactly_once.asks import Fill, Introduce, Steps
from penstock.core.delivery.exactly_once.driver import Begun
from penstock.core.delivery.exactly_once.failures import CheckpointGone, CheckpointOld, NameTaken
from penstock.core.delivery.exactly_once.ids import task_id
from penstock.core.delivery.exactly_once.values import Part, Producer


def must_write(begun: Begun, owner: str, checkpoint: str, batch: int, task: str) -> bool:
    """Whether a task of this batch has anything to write. Raises what keeps the query from going on."""
    newest = begun.newest
    if newest is None:
        return True
    if newest.owner != owner:
        if newest.checkpoint == checkpoint:
            raise CheckpointGone(begun.query, newest.batch)
        raise NameTaken(begun.query, newest.checkpoint)
    if batch < newest.batch:
        raise CheckpointOld(begun.query, batch, newest.batch)
    return batch > newest.batch or task in begun.lost


def write(query: str, task: str, attempt: int) -> Steps[Part]:
    """Write in a transaction that is left open: from here on it is the driver's."""
    name = task_id(query, task, attempt)
    producer: Producer = yield Introduce(name)
    part: Part = yield Fill(task, name, producer)
    return part
