"""Which replica a consumer should read from: one in its own rack, if that has what it asks for (KIP-392)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

LEADER = -1
"""Stay with the leader."""


class Candidate(NamedTuple):
    """A replica that could be read from."""

    id: int
    rack: str | None
    start_offset: int
    end_offset: int
    caught_up_ms: int
    is_leader: bool = False

    def has(self, offset: int) -> bool:
        return self.start_offset <= offset <= self.end_offset


def preferred_read_replica(rack: str, offset: int, candidates: Iterable[Candidate]) -> int:
    """The id of a follower in the reader's rack, the one that is most caught up, or LEADER. Candidates are in sync."""
    if not rack:
        return LEADER
    near = [each for each in candidates if each.rack == rack and each.has(offset)]
    if not near or any(each.is_leader for each in near):
        return LEADER
    return max(near, key=lambda each: (each.end_offset, each.caught_up_ms, -each.id)).id
