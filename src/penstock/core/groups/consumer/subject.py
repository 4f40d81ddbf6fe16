"""What an assignor is given: who reads what, how many partitions there are, and who has them now."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.base.values import frozen
from penstock.core.groups.consumer.member import Partitions


@frozen
class Subject:
    """A group's members and topics, and the target assignment before."""

    subscriptions: Mapping[str, frozenset[bytes]]
    """The ids of the topics that each member reads, of those that exist."""
    instances: Mapping[str, str]
    """The instance ids of static members."""
    counts: Mapping[bytes, int]
    """Partitions by topic, of the topics that somebody reads."""
    before: Mapping[str, Partitions]

    def ordered(self) -> list[str]:
        """Static members first, by their instances: who comes back under another member id gets the same."""
        return sorted(self.subscriptions, key=lambda each: (each not in self.instances, self.instances.get(each, each)))
