"""A transaction counts everywhere or nowhere: in all its partitions, for all readers, and in its group's offsets."""

from __future__ import annotations

from penstock.sim.events import Event
from penstock.sim.invariants.base import Invariant
from penstock.sim.transactions.events import Ended, Seen, StableTold
from penstock.sim.transactions.model import labels_of


class TransactionsAreAtomic(Invariant):
    """Whatever is seen or heard of a transaction agrees with what was seen or heard of it before."""

    def see(self, event: Event) -> None:
        match event:
            case Ended(label, committed):
                self._agree(label, committed, "its program was told so")
            case Seen():
                where = f"{event.reader} read {event.partition} up to {event.next_offset}"
                for label in labels_of(event.visible):
                    self._agree(label, True, where)
                for label in labels_of(event.hidden):
                    self._agree(label, False, where)
                self._miss_nothing(event)
            case StableTold():
                self._judge_offset(event)

    def _agree(self, label: str, committed: bool, why: str) -> None:
        known = self.model.transactions.attempts.get(label)
        self.demand(known is not None, f"nobody has begun {label}: {why}")
        assert known is not None
        self.demand(
            known.committed in (None, committed),
            f"{label} was {'aborted' if committed else 'committed'}, and then it was the other way: {why}",
        )

    def _miss_nothing(self, seen: Seen) -> None:
        given = dict(seen.visible) | dict(seen.hidden)
        for offset, label, value in self.model.transactions.written(seen.partition, seen.position, seen.next_offset):
            if given.get(offset) != value:
                self.object(f"{seen.reader} was not given what {label} has at {offset} of {seen.partition}")

    def _judge_offset(self, told: StableTold) -> None:
        where = f"{told.group} has read {told.partition} up to {told.offset}"
        if told.label:
            self._agree(told.label, True, where)
            known = self.model.transactions.attempts[told.label].brought.get((told.group, told.partition))
            self.demand(known is None or known[1] == told.offset, f"{told.label} did not say that {where}: {known}")
        due = self.model.transactions.due[told.client, told.group, told.partition]
        self.demand(told.offset >= due, f"{where}, and had read it up to {due}")
