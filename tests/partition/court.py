"""What must hold of replicated partitions whatever happens. Each rule is one function, called where it could break."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from penstock.core.partition.partition import Partition

Key = tuple[str, int]


class Violation(AssertionError):
    """A rule was broken; the seed says how to see it again."""


class Entry(NamedTuple):
    """A record as a replica has it."""

    epoch: int
    value: bytes


class Court:
    """Remembers what was committed and acknowledged, and compares everybody with that."""

    def __init__(self) -> None:
        self.committed: dict[Key, list[Entry]] = defaultdict(list)
        self._committed_in: dict[Key, list[int]] = defaultdict(list)
        """For each of these the leader epoch in which it was first shown: the one in which it was committed."""
        self.acknowledged: dict[Key, dict[int, bytes]] = defaultdict(dict)
        self._high_watermarks: dict[tuple[Key, int], int] = {}

    def high_watermark_rises(self, key: Key, partition: Partition) -> None:
        """Within a leader epoch the leader's high watermark never falls, and it never lies behind the leader's end."""
        if not partition.leads:
            return
        before = self._high_watermarks.get((key, partition.leader_epoch), -1)
        if partition.high_watermark < before:
            raise Violation(f"the high watermark of {partition} fell from {before} to {partition.high_watermark}")
        if partition.high_watermark > partition.log.end_offset:
            raise Violation(f"{partition} ends before its high watermark {partition.high_watermark}")
        self._high_watermarks[key, partition.leader_epoch] = partition.high_watermark

    def replicas_are_equal(self, who: str, key: Key, epoch: int, since: int, entries: list[Entry]) -> None:
        """What a replica shows from `since` on, below its high watermark, is what everybody shows there. `epoch` is the
        leader's, as far as this replica knows."""
        committed = self.committed[key]
        if since > len(committed):
            raise Violation(f"{who} shows {since} of {key} as committed, where {len(committed)} are")
        for offset, entry in enumerate(entries, since):
            if offset == len(committed):
                committed.append(entry)
                self._committed_in[key].append(epoch)
            elif committed[offset] != entry:
                raise Violation(f"{who} has {entry} at {offset} of {key}, where {committed[offset]} is committed")

    def leader_has_all(self, who: str, key: Key, epoch: int, entries: list[Entry]) -> None:
        """Whoever begins to lead has everything that was committed in its epoch and those before, even if that came
        after its election: its predecessor may hear late of it. So may the elected one itself; by then a later leader
        may have committed more, and of that it needs to know nothing."""
        ends = [offset + 1 for offset, in_epoch in enumerate(self._committed_in[key]) if in_epoch <= epoch]
        self._compare(who, key, entries, self.committed[key][: max(ends, default=0)])

    def has_all(self, who: str, key: Key, entries: list[Entry]) -> None:
        """When all are in sync, each of them has everything that is committed."""
        self._compare(who, key, entries, self.committed[key])

    def _compare(self, who: str, key: Key, entries: list[Entry], committed: list[Entry]) -> None:
        if entries[: len(committed)] != committed:
            at = next((n for n, (a, b) in enumerate(zip(entries, committed, strict=False)) if a != b), len(entries))
            raise Violation(f"{who} of {key} lacks what is committed at {at}: {committed[at]}, {len(committed)} in all")

    def acknowledges(self, key: Key, offset: int, value: bytes) -> None:
        """What a producer with acks=all is told is committed, there."""
        committed = self.committed[key]
        found = committed[offset].value if offset < len(committed) else None
        if found != value:
            raise Violation(f"{value!r} was acknowledged at {offset} of {key}, where {found!r} is")
        self.acknowledged[key][offset] = value

    def leads_alone(self, who: str, key: Key, epoch: int, known_epoch: int) -> None:
        """Who acknowledges on its own has not been replaced."""
        if epoch != known_epoch:
            raise Violation(f"{who} takes acks=1 for {key} in epoch {epoch}, and {known_epoch} has begun")

    def acknowledged_is_readable(self, who: str, key: Key, entries: list[Entry]) -> None:
        for offset, value in self.acknowledged[key].items():
            if offset >= len(entries) or entries[offset].value != value:
                raise Violation(f"{who} lacks {value!r}, acknowledged at {offset} of {key}")

    def idempotence(self, who: str, key: Key, entries: list[Entry]) -> None:
        """Every producer's values are there once, in the order in which they were sent, without a gap."""
        numbers: dict[bytes, int] = defaultdict(int)
        for entry in entries:
            name, _, number = entry.value.partition(b":")
            if name.startswith(b"idempotent"):
                if int(number) != numbers[name]:
                    raise Violation(f"{who} has {entry.value!r} of {key} where {numbers[name]} comes next")
                numbers[name] += 1
