"""No member of a live group gets what another one reads whose session cannot be over; who has lost it hears of that,
and commits nothing.
"""

from __future__ import annotations

from penstock.sim.events import Event, Partition
from penstock.sim.invariants.base import Invariant
from penstock.sim.live_groups.events import Committed, Gave, Heard, Leaving, Took
from penstock.sim.live_groups.plan import SESSION_MS
from penstock.sim.model import Model

NEVER = -1


class OneHolder(Invariant):
    """Remembers who holds what since when, when each was last known to be a member, and who was the last one to be
    given each partition, in the newest epoch. A group that nobody is in may begin anew, in its first epoch, as in
    Kafka."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._holders: dict[Partition, dict[str, int]] = {}
        self._heard: dict[str, int] = {}
        self._owners: dict[tuple[int, Partition], str] = {}
        self._newest: dict[Partition, tuple[int, str, int]] = {}

    def see(self, event: Event) -> None:
        match event:
            case Took():
                self._look_for_members()
                self._heard[event.member] = max(event.asked_ms, self._heard.get(event.member, NEVER))
                for partition in event.partitions:
                    self._took(event, partition)
            case Gave(_, member, partitions):
                for partition in partitions:
                    self._holders.get(partition, {}).pop(member, None)
            case Heard():
                self._heard[event.member] = event.sent_ms
                self._check_heard(event)
            case Leaving(_, member):
                self._heard.pop(member, None)
                self._look_for_members()
            case Committed():
                self._committed(event)

    def _took(self, event: Took, partition: Partition) -> None:
        group, member = event.group, event.member
        owner = self._owners.setdefault((event.epoch, partition), member)
        self.demand(owner == member, f"{partition} belongs to {owner} and {member} in {group}/{event.epoch}")
        holders = self._holders.setdefault(partition, {})
        if member not in holders:
            for other, since_ms in holders.items():
                heard_ms = self._heard.get(other, NEVER)
                is_safe = since_ms >= event.asked_ms or self._is_over(heard_ms)
                self.demand(is_safe, f"{member} gets {partition} of {group}, which {other} reads")
            holders[member] = self.model.now_ms
        epoch, _, _ = self._newest.get(partition, (NEVER, "", NEVER))
        if event.epoch > epoch:
            self._newest[partition] = event.epoch, member, self.model.now_ms

    def _check_heard(self, event: Heard) -> None:
        """Who has lost something hears of that when it asks the next time."""
        for partition, holders in self._holders.items():
            _, owner, since_ms = self._newest.get(partition, (NEVER, "", NEVER))
            if owner != event.member and holders.get(event.member, since_ms) < since_ms < event.sent_ms:
                self.object(f"{event.member} is not told that {owner} has {partition} of {event.group}")

    def _committed(self, event: Committed) -> None:
        _, owner, since_ms = self._newest.get(event.partition, (NEVER, event.member, NEVER))
        is_own = owner == event.member or since_ms >= event.sent_ms
        self.demand(is_own, f"{event.member} commits in {event.partition} of {event.group}, which {owner} has")

    def _look_for_members(self) -> None:
        """Where no session can be left, the group may have begun anew."""
        if all(map(self._is_over, self._heard.values())):
            self._owners.clear()
            self._newest.clear()

    def _is_over(self, heard_ms: int) -> bool:
        return self.model.now_ms - heard_ms >= SESSION_MS
