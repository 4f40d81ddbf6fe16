"""A member's next step towards the target assignment: what it keeps, what it must give up first, and what it gets.

A partition changes its owner in three steps: the old one is told to give it up, says that it did, and then it is free
for the new one. Until then the old one's epoch stays, so that its commits are taken.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.base.values import frozen, replaced
from penstock.core.groups.consumer.member import (
    ConsumerMember,
    Epochs,
    MemberState,
    Partitions,
    TopicIdPartition,
)

IsFree = Callable[[TopicIdPartition], bool]


@frozen
class Target:
    """The newest target of one member; of topics that it does not read any more nothing is left."""

    epoch: int
    partitions: Partitions
    topic_ids: frozenset[bytes]

    def of(self, topic_id: bytes) -> frozenset[int]:
        return self.partitions.get(topic_id, frozenset()) if topic_id in self.topic_ids else frozenset()


def reconciled(
    member: ConsumerMember, target: Target, owned: Partitions | None, is_free: IsFree, has_changed: bool
) -> ConsumerMember:
    """`owned` is what the member says it has, if it says so; `has_changed`: it reads other topics from now on."""
    if member.state is MemberState.UNREVOKED and _has(owned, member.revoking):
        return _narrowed(member, target, owned) if has_changed else member
    if member.is_at(target.epoch):
        return _narrowed(member, target, owned) if has_changed else member
    return _next(member, target, owned, is_free)


def _next(member: ConsumerMember, target: Target, owned: Partitions | None, is_free: IsFree) -> ConsumerMember:
    kept, given_up = _split(member.assigned, target)
    if given_up and _has(owned, given_up):
        return _moved(member, member.epoch, MemberState.UNREVOKED, kept, given_up)
    wanted = {topic_id: target.of(topic_id) - kept.get(topic_id, {}).keys() for topic_id in target.partitions}
    is_waiting = False
    for topic_id, partitions in wanted.items():
        free = {each for each in partitions if is_free(TopicIdPartition(topic_id, each))}
        is_waiting |= len(free) < len(partitions)
        if free:
            kept[topic_id] = {**kept.get(topic_id, {}), **dict.fromkeys(free, target.epoch)}
    state = MemberState.UNRELEASED if is_waiting else MemberState.STABLE
    return _moved(member, target.epoch, state, kept, {})


def _narrowed(member: ConsumerMember, target: Target, owned: Partitions | None) -> ConsumerMember:
    """Give up what is of topics that it does not read any more, whatever the target says."""
    gone = {topic_id: each for topic_id, each in member.assigned.items() if topic_id not in target.topic_ids}
    if not gone:
        return member
    kept = {topic_id: each for topic_id, each in member.assigned.items() if topic_id not in gone}
    revoking = {**member.revoking, **gone}
    if _has(owned, revoking):
        return _moved(member, member.epoch, MemberState.UNREVOKED, kept, revoking)
    return replaced(member, assigned=kept)


def _split(assigned: Epochs, target: Target) -> tuple[dict[bytes, dict[int, int]], dict[bytes, dict[int, int]]]:
    """What stays, and what goes."""
    kept: dict[bytes, dict[int, int]] = {}
    gone: dict[bytes, dict[int, int]] = {}
    for topic_id, partitions in assigned.items():
        wanted = target.of(topic_id)
        for number, epoch in partitions.items():
            (kept if number in wanted else gone).setdefault(topic_id, {})[number] = epoch
    return kept, gone


def _has(owned: Partitions | None, partitions: Epochs) -> bool:
    """Whether a member may still have some of these; one that does not say what it has may have all."""
    if owned is None:
        return True
    return any(owned.get(topic_id, frozenset()) & numbers.keys() for topic_id, numbers in partitions.items())


def _moved(
    member: ConsumerMember, epoch: int, state: MemberState, assigned: Epochs, revoking: Epochs
) -> ConsumerMember:
    previous = member.previous_epoch if epoch == member.epoch else member.epoch
    return replaced(member, epoch=epoch, previous_epoch=previous, state=state, assigned=assigned, revoking=revoking)
