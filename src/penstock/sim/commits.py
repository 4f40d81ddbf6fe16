"""The commits of one group in one partition, and which of them must be there.

A commit is a record of `__consumer_offsets`, and promised no more than any record is: an acknowledged one survives a
crash of the process, and power loss as far as its shard's log was synced. The shard recovers as a log does, to some
offset and with everything below it; so of the commits below that offset none may be missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from penstock.sim.events import Partition

NOTHING: Final = -1


@dataclass(slots=True)
class Commit:
    """One commit that was sent; `shard_end` is an offset that its record stands below, once that is known."""

    offset: int
    acknowledged: bool = False
    shard: Partition | None = None
    shard_end: int | None = None


@dataclass(slots=True)
class Commits:
    """All commits of a group in a partition, in the order in which they were sent."""

    sent: list[Commit] = field(default_factory=list)

    def acknowledge(self, offset: int, shard: Partition | None, shard_end: int | None) -> None:
        """The latest commit of this offset was acknowledged."""
        for commit in reversed(self.sent):
            if commit.offset == offset:
                commit.acknowledged, commit.shard, commit.shard_end = True, shard, shard_end
                return

    def due(self) -> int:
        """The number of the latest commit that must be there; NOTHING where none must."""
        numbers = range(len(self.sent) - 1, -1, -1)
        return next((number for number in numbers if self.sent[number].acknowledged), NOTHING)

    def allowed(self, due: int) -> set[int]:
        """The offsets that may be read where the commit `due` must be there: its own, and those sent after it."""
        later = {commit.offset for commit in self.sent[max(due, 0) :]}
        return later | {NOTHING} if due == NOTHING else later

    def recovered(self, shard_ends: dict[Partition, int], lost_power: bool, synced: bool) -> None:
        """The shards came back, reaching up to these offsets."""
        for commit in self.sent:
            if commit.shard is None or commit.shard not in shard_ends:
                continue
            end = shard_ends[commit.shard]
            if not lost_power:
                commit.shard_end = end if commit.shard_end is None else commit.shard_end
            elif not synced and (commit.shard_end is None or commit.shard_end > end):
                commit.acknowledged = False
