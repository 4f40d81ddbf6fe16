"""How the active controller carries out a plan: what it says is written, and answered once it is committed.

A plan is a pure function of the newest image, the settings and a request. It gives records and a response; or sweeps,
where many partitions may change; or steps that lead to one of these, where planning alone takes more than a turn.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.base.values import frozen
from penstock.core.metadata.sweep import Sweep
from penstock.core.node.controller.active import ActiveController
from penstock.core.node.controller.deciding import Decide
from penstock.core.node.controller.ports import Asked
from penstock.core.node.controller.term import Term
from penstock.core.wire.schema import Response, StoredRecord

Planned = tuple[Sequence[StoredRecord], Response]


@frozen
class Swept:
    """What sweeps decide, turn by turn, and the answer when they are done."""

    sweeps: Sequence[Sweep]
    answer: Callable[[], Response]


Plan = Callable[[Term, Any, int], Planned | Swept | Steps[Planned]]
"""Term, request and version; of the term a plan reads the image, the settings and what the node knows beside them."""


def planned(plan: Plan) -> Decide:
    """The decision that carries out a plan."""

    def decide(active: ActiveController, asked: Asked) -> None:
        term = active.term
        found = plan(term, asked.request, asked.version)
        if isinstance(found, Swept):
            term.sweep(found.sweeps, answering(asked, found.answer))
        elif isinstance(found, Generator):
            term.host.tasks.run(found, lambda outcome: _write_when_found(term, outcome, asked))
        else:
            _write(term, found, asked)

    return decide


def _write(term: Term, found: Planned, asked: Asked) -> None:
    records, response = found
    term.commit(records, answering(asked, lambda: response))


def _write_when_found(term: Term, outcome: Planned | Exception, asked: Asked) -> None:
    if isinstance(outcome, Exception):
        raise outcome
    _write(term, outcome, asked)


def answering(asked: Asked, answer: Callable[[], Response]) -> Callable[[ErrorCode], None]:
    """What could not be committed is refused as a whole: what else was said of it may rest on what never happened."""

    def committed(code: ErrorCode) -> None:
        if code is ErrorCode.NONE:
            asked.answer(answer())
        else:
            asked.refuse(code)

    return committed
