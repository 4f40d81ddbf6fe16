"""The last stable offset never passes an open transaction: not at a leader, not at a follower that serves readers."""

from __future__ import annotations

from penstock.sim.events import Event, Partition
from penstock.sim.invariants.base import Invariant
from penstock.sim.transactions.events import Seen, StableEnd
from penstock.sim.transactions.model import labels_of


class LastStableWaits(Invariant):
    """A transaction is open as long as nobody has asked for its end, and it has time left."""

    def see(self, event: Event) -> None:
        match event:
            case StableEnd(partition, machine, offset):
                self._judge(partition, offset, f"machine {machine} leads")
            case Seen():
                self._judge(event.partition, event.stable_end, f"{event.reader} was told")
                self._judge_records(event)

    def _judge(self, partition: Partition, stable_end: int, who: str) -> None:
        found = self.model.transactions.first_open(partition, self.model.now_ms)
        self.demand(
            found is None or stable_end <= found[0],
            f"{who}: all of {partition} is decided up to {stable_end}, and {found} is open",
        )

    def _judge_records(self, seen: Seen) -> None:
        """Also of what was never acknowledged to its program."""
        transactions = self.model.transactions
        for label in labels_of(seen.visible + seen.hidden):
            known = transactions.attempts.get(label)
            is_open = known is not None and transactions.is_open(label, self.model.now_ms)
            self.demand(not is_open, f"{seen.reader} was given {seen.partition} past {label}, which is open")
