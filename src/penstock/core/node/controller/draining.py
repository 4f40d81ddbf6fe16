"""Whoever sets that a broker is drained is answered once others lead for it, as far as they can.

What a controller leaves half done the next one finds in the image (`Heartbeats.take_over`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.draining import following_drains
from penstock.core.metadata.reluctance import drained_brokers
from penstock.core.node.controller.active import ActiveController
from penstock.core.node.controller.deciding import Decide
from penstock.core.node.controller.plans import Planned, answering
from penstock.core.node.controller.ports import Asked
from penstock.core.node.controller.term import Term
from penstock.core.wire.schema import StoredRecord

HAND_OVER: Final = "hand over"
PlanSettings = Callable[[Term, Any, int], Planned]


def heeding_drains(plan: PlanSettings) -> Decide:
    """The decision that carries out a plan for settings, and what follows from it where brokers are drained."""

    def decide(active: ActiveController, asked: Asked) -> None:
        records, response = plan(active.term, asked.request, asked.version)
        _carry_out(active.term, records, answering(asked, lambda: response))

    return decide


def _carry_out(term: Term, records: Sequence[StoredRecord], answer: Callable[[ErrorCode], None]) -> None:
    sweeps = following_drains(term.image, term.settings, records)
    if not sweeps:
        term.commit(records, answer)
        return

    drained = partial(_drained, term, drained_brokers(term.image))
    term.sweep(sweeps, lambda code: drained(answer, code))


def _drained(term: Term, before: frozenset[int], answer: Callable[[ErrorCode], None], code: ErrorCode) -> None:
    answer(code)
    now, own = drained_brokers(term.image), term.around.own_broker_id
    if code is not ErrorCode.NONE or now == before:
        return
    names = ", ".join(map(str, sorted(now))) or "none"
    term.host.log("info", "controller", f"brokers that lead only where nobody else can: {names}")
    if own in now - before and set(term.around.voters()) - now:
        term.host.log("info", "controller", "this node lets another one control the cluster, because it is drained")
        term.call_in(HAND_OVER, 0, term.around.hand_over)
