"""Where replicas go: apart by rack first, then by host, then by broker (a host may run several), and evenly.

Each replica takes the broker that is best by a list of questions, the first of which decide. Racks and hosts that have
a replica of the partition already come last, whatever the load; brokers that are fenced come after those that are not;
then the least loaded rack, host and broker are taken. The leader of a partition is chosen before its followers, among
the brokers that lead least; among the followers, the one that took over from it least comes next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.brokers import BrokerImage


@dataclass(slots=True, eq=False)
class _Group:
    """A rack or a host."""

    size: int = 0
    load: int = 0
    taken: int = 0
    """How many replicas of the partition that is being placed it has."""


@dataclass(slots=True, eq=False)
class _Site:
    """A broker, where it stands, and what it has."""

    id: int
    rack: _Group
    host: _Group
    fenced: bool
    load: int = 0
    leads: int = 0
    heirs: dict[int, int] = field(default_factory=dict)
    """How often each broker was the first to take over from this one."""

    def take(self) -> None:
        self.load += 1
        self.rack.load += 1
        self.host.load += 1

    def lead(self, followers: list[int]) -> list[int]:
        """Lead a partition; the follower that takes over is not always the same."""
        self.leads += 1
        if not followers:
            return [self.id]
        heir = min(followers, key=lambda follower: self.heirs.get(follower, 0))
        self.heirs[heir] = self.heirs.get(heir, 0) + 1
        return [self.id, heir, *(follower for follower in followers if follower != heir)]

    def by_leadership(self) -> tuple[float, ...]:
        return (self.leads, self.rack.load / self.rack.size, self.host.load / self.host.size, self.load)

    def by_distance(self) -> tuple[float, ...]:
        """Among equals, those that have led little are spared: they are about to lead."""
        rack, host = self.rack, self.host
        loads = (rack.load / rack.size, host.load / host.size, self.load)
        return (rack.taken, host.taken, self.fenced, *loads, -self.leads)


def _sites(brokers: Iterable[BrokerImage]) -> list[_Site]:
    """A broker that tells no host is taken for a host of its own; hosts in two racks are two hosts."""
    racks: dict[str, _Group] = {}
    hosts: dict[tuple[str, str | int], _Group] = {}
    sites: list[_Site] = []
    for broker in sorted(brokers, key=lambda each: each.id):
        rack_name = broker.rack or ""
        rack = racks.setdefault(rack_name, _Group())
        host = hosts.setdefault((rack_name, broker.id if broker.host is None else broker.host), _Group())
        rack.size += 1
        host.size += 1
        sites.append(_Site(broker.id, rack, host, broker.fenced))
    return sites


class Placer:
    """Places partition after partition, so that the load stays even over all of them."""

    def __init__(self, brokers: Iterable[BrokerImage], start: int, existing: Iterable[Sequence[int]] = ()) -> None:
        """`existing` partitions of the same topic count as load; `start` moves on from topic to topic."""
        self._sites = _sites(broker for broker in brokers if broker.takes_replicas)
        self._turn = start
        by_id = {site.id: site for site in self._sites}
        for replicas in existing:
            for replica in replicas:
                if replica in by_id:
                    by_id[replica].take()
                    by_id[replica].leads += replica == replicas[0]

    def place(self, partitions: int, factor: int) -> Iterator[list[int]]:
        """The replicas of each new partition, preferred leader first."""
        self._check(factor)
        return (self._next(factor) for _ in range(partitions))

    def _check(self, factor: int) -> None:
        reason = None
        if all(site.fenced for site in self._sites):
            reason = "All brokers are currently fenced or in controlled shutdown."
        elif factor > len(self._sites):
            reason = (
                f"The target replication factor of {factor} cannot be reached because only "
                f"{len(self._sites)} broker(s) are registered."
            )
        if reason is not None:
            raise ApiError(
                ErrorCode.INVALID_REPLICATION_FACTOR, f"Unable to replicate the partition {factor} time(s): {reason}"
            )

    def _next(self, factor: int) -> list[int]:
        # Equals are taken in another order each time, and in another one each round, so that not always the same
        # brokers stand together: what one of them led is then shared by many.
        count = len(self._sites)
        at = (self._turn + self._turn // count) % count
        rest = self._sites[at:] + self._sites[:at]
        site = min((each for each in rest if not each.fenced), key=_Site.by_leadership)
        chosen: list[_Site] = []
        while True:
            site.take()
            site.rack.taken += 1
            site.host.taken += 1
            chosen.append(site)
            rest.remove(site)
            if len(chosen) == factor:
                break
            site = min(rest, key=_Site.by_distance)
        for site in chosen:
            site.rack.taken = site.host.taken = 0
        self._turn += 1
        return chosen[0].lead([site.id for site in chosen[1:]])


def check_assignment(replicas: Sequence[int], brokers: Mapping[int, BrokerImage], expected: int | None) -> None:
    """Refuse a manual assignment that names nobody, someone twice, someone unknown, or the wrong number."""
    code = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    if not replicas:
        raise ApiError(code, "The manual partition assignment includes an empty replica list.")
    if len(set(replicas)) != len(replicas):
        raise ApiError(code, "The manual partition assignment includes a broker more than once.")
    for replica in replicas:
        if replica not in brokers:
            raise ApiError(
                code, f"The manual partition assignment includes broker {replica}, but no such broker is registered."
            )
        if not brokers[replica].has_room:
            raise ApiError(
                code,
                f"The manual partition assignment includes broker {replica}, but all its directories are cordoned.",
            )
    if expected is not None and len(replicas) != expected:
        raise ApiError(
            code,
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), "
            f"but this is not consistent with previous partitions, which have {expected} replica(s).",
        )
