"""What is known of each transaction: what it has written, whether it may have ended, and how, once that is known.

How a transaction has ended is one thing everywhere: whoever is first to see or hear something of it settles that for
everybody.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.sim.place import Partition
from penstock.sim.transactions.events import (
    Brought,
    Ended,
    Ending,
    Introduced,
    Introducing,
    Opened,
    Records,
    Seen,
    StableAsked,
    StableTold,
    Taken,
)
from penstock.sim.transactions.values import label_of

NOTHING = -1


@dataclass(slots=True)
class Attempt:
    """One transaction."""

    label: str
    transactional_id: str
    ends_ms: int
    """From then on its coordinator may end it."""
    may_end: bool
    """Whether it may have ended, without regard to its time: by its program's word, or by another program's."""
    may_commit: bool = False
    committed: bool | None = None
    taken: dict[Partition, dict[int, bytes]] = field(default_factory=dict)
    brought: dict[tuple[str, Partition], tuple[int, int]] = field(default_factory=dict)


class Transactions:
    """All of them, by label."""

    def __init__(self) -> None:
        self.attempts: dict[str, Attempt] = {}
        self.clocks_differ = False
        """Whether a coordinator may take anything for too late."""
        self.due: dict[tuple[str, str, Partition], int] = {}
        """What the answer to a question must at least be, by who asked."""
        self._written: defaultdict[Partition, dict[int, tuple[str, bytes]]] = defaultdict(dict)
        self._undecided: defaultdict[Partition, dict[str, int]] = defaultdict(dict)
        self._committed_to: defaultdict[tuple[str, Partition], int] = defaultdict(lambda: NOTHING)
        self._unanswered: defaultdict[str, int] = defaultdict(int)
        self._of_id: defaultdict[str, list[Attempt]] = defaultdict(list)

    def see(self, event: object, now_ms: int) -> None:
        match event:
            case Introducing(transactional_id):
                self._unanswered[transactional_id] += 1
                for attempt in self._of_id[transactional_id]:
                    attempt.may_end = True
            case Introduced(transactional_id):
                self._unanswered[transactional_id] -= 1
            case Opened():
                self._opened(event, now_ms)
            case Taken():
                self._taken(event)
            case Brought(label, group, partition, offset, next_offset):
                self.attempts[label].brought[group, partition] = offset, next_offset
            case Ending(label, committed):
                self.attempts[label].may_end = True
                self.attempts[label].may_commit |= committed
            case Ended(label, committed):
                self.settle(label, committed)
            case Seen():
                for records, committed in ((event.visible, True), (event.hidden, False)):
                    for label in labels_of(records):
                        self.settle(label, committed)
            case StableAsked(client, group, partition):
                self.due[client, group, partition] = self._committed_to[group, partition]
            case StableTold(_, _, _, _, label) if label:
                self.settle(label, True)

    def settle(self, label: str, committed: bool) -> None:
        """It is known how a transaction has ended."""
        attempt = self.attempts[label]
        if attempt.committed is None:
            attempt.committed = committed
            for where, (_, next_offset) in attempt.brought.items() if committed else ():
                self._committed_to[where] = max(self._committed_to[where], next_offset)

    def acknowledged_end(self, partition: Partition) -> int:
        return max(self._written[partition], default=NOTHING) + 1

    def written(self, partition: Partition, offset: int, next_offset: int) -> Iterator[tuple[int, str, bytes]]:
        """(offset, label, value) of all that was acknowledged in a range."""
        known = self._written[partition]
        return ((at, *known[at]) for at in range(offset, next_offset) if at in known)

    def first_open(self, partition: Partition, now_ms: int) -> tuple[int, str] | None:
        """The lowest offset of a transaction that nobody can have ended, and its label."""
        undecided = self._undecided[partition]
        for label in [label for label in undecided if self._may_have_ended(self.attempts[label], now_ms)]:
            del undecided[label]
        return min(((offset, label) for label, offset in undecided.items()), default=None)

    def is_open(self, label: str, now_ms: int) -> bool:
        """Whether nobody can have ended it."""
        return not self._may_have_ended(self.attempts[label], now_ms)

    def _may_have_ended(self, attempt: Attempt, now_ms: int) -> bool:
        return attempt.may_end or self.clocks_differ or now_ms >= attempt.ends_ms

    def _opened(self, event: Opened, now_ms: int) -> None:
        is_doomed = event.is_shared or self._unanswered[event.transactional_id] > 0
        attempt = Attempt(event.label, event.transactional_id, now_ms + event.timeout_ms, is_doomed)
        self.attempts[event.label] = attempt
        # Only the last one of an id can be open.
        self._of_id[event.transactional_id] = [attempt]

    def _taken(self, event: Taken) -> None:
        attempt = self.attempts[event.label]
        offsets = attempt.taken.setdefault(event.partition, {})
        for offset, value in enumerate(event.values, event.base_offset):
            offsets[offset] = value
            self._written[event.partition][offset] = event.label, value
        first = min(offsets)
        self._undecided[event.partition].setdefault(event.label, first)


def labels_of(records: Records) -> dict[str, None]:
    return dict.fromkeys(label_of(value) for _, value in records)
