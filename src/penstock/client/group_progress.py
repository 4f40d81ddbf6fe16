"""Why a group is rebalancing, and which of its members the others wait for, as far as a description says it."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.core.wire.api.consumer_group_describe import Assignment, DescribedGroup, Member


class Progress(NamedTuple):
    """Nothing, where all have what they should have."""

    why: str | None = None
    held_up_by: tuple[str, ...] = ()
    """Members, with what each of them still has to do."""


SETTLED: Final = Progress()
_OF_CLASSIC: Final = {
    "preparingrebalance": "its members have to join again; who does not come within its rebalance timeout is left out",
    "completingrebalance": "all have joined, and the member that leads has not sent the assignment yet",
}


def of_classic(state: str) -> Progress:
    """Who has joined already is nowhere said."""
    return Progress(_OF_CLASSIC.get(state.lower()))


def of_consumers(group: DescribedGroup) -> Progress:
    """Each epoch of the group has a target, and its members follow that one by one."""
    if not group.members:
        return SETTLED
    target = group.assignment_epoch
    if target < group.group_epoch:
        why = f"the group is at epoch {group.group_epoch}, its assignment at {target}: the next heartbeat makes it anew"
        return Progress(why)
    behind = [member for member in group.members if member.member_epoch < target]
    waiting = [member for member in group.members if member.member_epoch >= target and _wanted(member)]
    if not behind and not waiting:
        return SETTLED
    why = f"{len(behind)} of {len(group.members)} members are not at epoch {target} yet, {len(waiting)} wait for theirs"
    return Progress(why, tuple(f"{member.member_id} ({_owes(member)})" for member in behind))


def _owes(member: Member) -> str:
    """What it was told to give up is not among what it has any more; it does not say so before its epoch rises."""
    too_much = sorted(_places(member.assignment) - _places(member.target_assignment))
    if too_much:
        return "has to give up " + ", ".join(f"{topic}-{number}" for topic, number in too_much)
    return f"at epoch {member.member_epoch}"


def _wanted(member: Member) -> set[tuple[str, int]]:
    return _places(member.target_assignment) - _places(member.assignment)


def _places(assignment: Assignment) -> set[tuple[str, int]]:
    return {(topic.topic_name, number) for topic in assignment.topic_partitions for number in topic.partitions}
