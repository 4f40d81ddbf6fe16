"""A member's next step towards the target assignment: what it keeps, what it must give up first, and what it gets.

An active task is free when nobody has it as an active one. Beside that no process has a task twice, in whatever role:
its threads share the folder of the task's state.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.base.values import replaced
from penstock.core.groups.streams.member import MemberState, StreamsMember
from penstock.core.groups.streams.tasks import Roles, Task, Tasks, by_subtopology, each_of


class Taken:
    """What the other members have, until they have given it up."""

    __slots__ = ("_active", "_by_process")

    def __init__(self, others: Iterable[StreamsMember]) -> None:
        self._active: set[Task] = set()
        self._by_process: set[tuple[str, Task]] = set()
        for member in others:
            for roles in (member.assigned, member.revoking):
                self._active |= each_of(roles.active)
                self._by_process.update((member.process_id, task) for tasks in roles for task in each_of(tasks))

    def is_free(self, member: StreamsMember, task: Task, is_active: bool) -> bool:
        return (member.process_id, task) not in self._by_process and not (is_active and task in self._active)


def reconciled(member: StreamsMember, epoch: int, target: Roles, owned: Roles | None, taken: Taken) -> StreamsMember:
    """`owned` is what the member says it has, if it says so."""
    if member.is_at(epoch):
        return member
    if member.state is MemberState.UNREVOKED and (owned is None or member.revoking.touches(owned)):
        return member
    kept = _both(member.assigned, target)
    given_up = _without(member.assigned, kept)
    if not given_up.is_nothing and (owned is None or given_up.touches(owned)):
        return _moved(member, member.epoch, MemberState.UNREVOKED, kept, given_up)
    wanted = _without(target, kept)
    free = Roles(*(_free(tasks, member, taken, is_active=tasks is wanted.active) for tasks in wanted))
    state = MemberState.STABLE if free == wanted else MemberState.UNRELEASED
    return _moved(member, epoch, state, _joined(kept, free), Roles({}, {}, {}))


def _free(tasks: Tasks, member: StreamsMember, taken: Taken, is_active: bool) -> Tasks:
    return by_subtopology(each for each in each_of(tasks) if taken.is_free(member, each, is_active))


def _moved(member: StreamsMember, epoch: int, state: MemberState, assigned: Roles, revoking: Roles) -> StreamsMember:
    previous = member.previous_epoch if epoch == member.epoch else member.epoch
    since = {each: member.since.get(each, epoch) for each in each_of(assigned.active) | each_of(revoking.active)}
    return replaced(
        member, epoch=epoch, previous_epoch=previous, state=state, assigned=assigned, revoking=revoking, since=since
    )


def _both(first: Roles, second: Roles) -> Roles:
    pairs = zip(first, second, strict=True)
    return Roles(*(by_subtopology(each_of(one) & each_of(other)) for one, other in pairs))


def _without(first: Roles, second: Roles) -> Roles:
    pairs = zip(first, second, strict=True)
    return Roles(*(by_subtopology(each_of(one) - each_of(other)) for one, other in pairs))


def _joined(first: Roles, second: Roles) -> Roles:
    pairs = zip(first, second, strict=True)
    return Roles(*(by_subtopology(each_of(one) | each_of(other)) for one, other in pairs))
