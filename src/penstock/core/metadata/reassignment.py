"""The arithmetic of moving replicas: how a move begins, when it is complete, what undoing it gives.

While a partition moves, its replicas are the old and the new ones together, the new ones first.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.core.metadata.image import PartitionImage, ReplicaSet


class Move(NamedTuple):
    """The replicas of a partition that moves, and which of them come and go."""

    replicas: ReplicaSet
    adding: ReplicaSet
    removing: ReplicaSet


def begun(partition: PartitionImage, target: ReplicaSet) -> Move:
    """Move a partition, perhaps one that moves already: who was to come and is wanted no more is dropped, unless it has
    come to be in sync."""
    were_coming = set(partition.standing.adding)
    members = set(partition.replicas) - were_coming
    going = set(partition.replicas) - set(target) - (were_coming - set(partition.isr))
    removing = tuple(sorted(going))
    return Move(target + removing, tuple(sorted(set(target) - members)), removing)


def completed(move: Move, isr: ReplicaSet, min_insync: int) -> tuple[ReplicaSet, ReplicaSet] | None:
    """Replicas and in-sync replicas after the move, or None while it must go on.

    All that come must be in sync. If fewer come than go, all that stay must be too: otherwise a smaller set of replicas
    would begin its life with fewer copies in sync than there were before. Nor may those that go take away copies which
    producers count on: what was acknowledged with `min_insync` copies keeps as many.
    """
    if not (move.adding or move.removing):
        return None
    stay = tuple(replica for replica in move.replicas if replica not in move.removing)
    in_sync = tuple(replica for replica in isr if replica not in move.removing)
    if move.removing and not (stay and in_sync):
        return None
    if not set(move.adding) <= set(in_sync):
        return None
    if len(in_sync) < min(min_insync, len(isr), len(stay)):
        return None
    if len(move.adding) < len(move.removing) and not set(stay) <= set(in_sync):
        return None
    return stay, in_sync


def reverted(partition: PartitionImage) -> tuple[ReplicaSet, ReplicaSet, bool]:
    """Replicas and in-sync replicas without the move, and whether that would lose records.

    Where only new replicas are in sync, an old one has to be trusted with what it has: that is an unclean election.
    """
    adding = partition.standing.adding
    replicas = tuple(replica for replica in partition.replicas if replica not in adding)
    isr = tuple(replica for replica in partition.isr if replica not in adding)
    assert replicas, "a reassignment adds every replica of a partition"
    return (replicas, isr, False) if isr else (replicas, replicas[:1], True)
