"""What the parts of a shard have in common."""

from __future__ import annotations

from penstock.core.base.ports import Entropy
from penstock.core.base.values import fresh, frozen
from penstock.core.groups.counts import GroupCounts
from penstock.core.groups.elsewhere import HeldReplies
from penstock.core.groups.member_memory import MemberMemory
from penstock.core.groups.parked_replies import ParkedReplies
from penstock.core.groups.settings import GroupSettings
from penstock.core.groups.table import GroupTable
from penstock.core.groups.topics import TopicLookup
from penstock.core.groups.turn import Turn
from penstock.core.rsm.result import Performer, Timers


@frozen
class ShardContext:
    """Given to every part when its shard is made."""

    settings: GroupSettings
    timers: Timers
    topics: TopicLookup
    entropy: Entropy
    groups: GroupTable
    room: ParkedReplies
    memory: MemberMemory
    counts: GroupCounts = fresh(default_factory=GroupCounts)
    keeper: Performer = fresh(default_factory=Performer)
    """Asks other coordinators."""
    held: HeldReplies = fresh(default_factory=HeldReplies)

    def turn(self, now_ms: int) -> Turn:
        return Turn(now_ms, self.settings, self.timers, self.room, self.memory, self.counts)
