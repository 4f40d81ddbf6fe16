"""No read_committed reader is shown anything of a transaction that was aborted, or that nobody has committed."""

from __future__ import annotations

from penstock.sim.events import Event
from penstock.sim.invariants.base import Invariant
from penstock.sim.transactions.events import Seen, StableTold
from penstock.sim.transactions.model import labels_of


class AbortedIsNeverSeen(Invariant):
    """What is shown is of a transaction that its program has asked to be committed."""

    def see(self, event: Event) -> None:
        match event:
            case Seen():
                for label in labels_of(event.visible):
                    self._judge(label, f"{event.reader} saw it in {event.partition}")
            case StableTold(_, group, partition, offset, label) if label:
                self._judge(label, f"{group} has read {partition} up to {offset} by it")

    def _judge(self, label: str, what: str) -> None:
        known = self.model.transactions.attempts.get(label)
        self.demand(known is not None and known.may_commit, f"{label} was never to be committed, and {what}")
