"""How a group's leader shares partitions out: in ranges, or cooperatively, taking nothing from whoever still has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.sim.clients.protocol import Claim
from penstock.sim.events import Partition

Shares = dict[str, tuple[Partition, ...]]


def assign_ranges(partitions: Iterable[Partition], members: Iterable[str]) -> Shares:
    """Neighbouring partitions to each member, as evenly as possible."""
    everything, names, found, at = list(partitions), list(members), Shares(), 0
    for number, member in enumerate(names):
        share = len(everything) // len(names) + (number < len(everything) % len(names))
        found[member] = tuple(everything[at : at + share])
        at += share
    return found


def assign_cooperatively(partitions: Iterable[Partition], claims: Mapping[str, Claim]) -> Shares:
    """Whoever has more than its share keeps its share; what it must give up goes to nobody before it has."""
    everything = tuple(partitions)
    owners = _owners(claims)
    quota = -(-len(everything) // len(claims))
    shares: dict[str, list[Partition]] = {
        member: [each for each in claim.partitions if owners.get(each) == member and each in everything][:quota]
        for member, claim in claims.items()
    }
    claimed = {partition for claim in claims.values() for partition in claim.partitions}
    for partition in everything:
        if partition not in claimed:
            min(shares.values(), key=len).append(partition)
    return {member: tuple(share) for member, share in shares.items()}


def _owners(claims: Mapping[str, Claim]) -> dict[Partition, str]:
    """Of several claims to a partition, the one of the latest generation counts."""
    latest: dict[Partition, tuple[int, str]] = {}
    for member, claim in claims.items():
        for partition in claim.partitions:
            if partition not in latest or claim.generation > latest[partition][0]:
                latest[partition] = (claim.generation, member)
    return {partition: member for partition, (_, member) in latest.items()}
