"""The target assignment: made anew when the group has changed, not more often than an interval allows."""

from __future__ import annotations

from typing import Final

from penstock.core.groups.streams.configuring import Configured
from penstock.core.groups.streams.group import StreamsGroup
from penstock.core.groups.streams.member import StreamsMember
from penstock.core.groups.streams.records import target_epoch_record, target_record
from penstock.core.groups.streams.sticky_assignor import Part, Worker, assign
from penstock.core.groups.streams.tasks import NO_TASKS, Roles
from penstock.core.groups.streams.topology import Topology
from penstock.core.groups.turn import Turn

STANDBYS: Final = "num.standby.replicas"


def assignment_configs(turn: Turn) -> dict[str, str]:
    """What the settings say about how it is made."""
    return {STANDBYS: str(turn.settings.streams_standbys)}


def is_due(turn: Turn, group: StreamsGroup) -> bool:
    """Members that come one after the other are one change."""
    made_ms, interval_ms = group.assignment_ms, turn.settings.streams_assignment_interval_ms()
    return made_ms is None or not made_ms <= turn.now_ms < made_ms + interval_ms


def retarget(
    turn: Turn, group: StreamsGroup, epoch: int, topology: Topology, configured: Configured, said: StreamsMember
) -> Roles:
    """Make the target of all members, write down what is new in it, and give the part of one of them."""
    members = group.members | {said.member_id: said}
    targets = dict.fromkeys(members, NO_TASKS)
    if configured.is_ready:
        parts = {each.name: Part(configured.tasks[each.name], bool(each.changelogs)) for each in topology.subtopologies}
        workers = {name: Worker(each.process_id, group.target(name)) for name, each in members.items()}
        targets = assign(parts, workers, turn.settings.streams_standbys)
    for member_id, target in targets.items():
        if target != group.targets.get(member_id):
            turn.result.records.append(target_record(group.group_id, member_id, target))
    turn.result.records.append(target_epoch_record(group.group_id, epoch, turn.now_ms))
    return targets[said.member_id]
