"""From what an image says of a partition to the role that this node plays in it."""

from __future__ import annotations

from typing import NamedTuple

from penstock.core.base.settings import TopicSettings
from penstock.core.log.log import Log
from penstock.core.partition.follower import Follower
from penstock.core.partition.in_sync import Assignment
from penstock.core.partition.leader import Leader
from penstock.core.partition.partition import Partition
from penstock.core.partition.replicated import LeaderContext, ReplicatedLeader


class Replica(NamedTuple):
    """What stays the same when a role changes."""

    topic: str
    partition: int
    topic_id: bytes
    log: Log


def role_of(
    replica: Replica,
    settings: TopicSettings,
    assignment: Assignment,
    current: Partition | None,
    around: LeaderContext,
    high_watermark: int,
) -> Partition:
    """The role under an assignment: the current one, brought up to date, or another to put in its place. A follower
    that is cutting its log has to finish before it gets another role. `high_watermark` is the last one stored, for a
    replica that had no role yet."""
    is_leader = assignment.leader == around.node_id
    if current is not None:
        assert assignment.leader_epoch >= current.leader_epoch, "images do not go back"
        if _stays(current, assignment, is_leader, around.node_id):
            if isinstance(current, Leader):
                current.update(assignment)
            return current
        high_watermark = current.high_watermark
    role = _new_role(replica, settings, assignment, current, around, high_watermark)
    if current is not None:
        role.succeed(current)
    return role


def _new_role(
    replica: Replica,
    settings: TopicSettings,
    assignment: Assignment,
    current: Partition | None,
    around: LeaderContext,
    high_watermark: int,
) -> Partition:
    if assignment.leader != around.node_id:
        may_lose = _may_lose(current, assignment)
        return Follower(*replica, settings, assignment, high_watermark, may_lose=may_lose)
    if assignment.replicas == (around.node_id,):
        return Leader(*replica, assignment.leader_epoch, settings)
    leader = ReplicatedLeader(*replica, settings, assignment, around, high_watermark)
    if isinstance(current, Leader):
        leader.inherit(current)
    return leader


def _stays(current: Partition, assignment: Assignment, is_leader: bool, node_id: int) -> bool:
    """Who leads on stays: nothing is cut off its log, so whoever waits there has nothing to fear. So does one that has
    no followers left: they are allowed for, and none are there."""
    if not is_leader or not current.leads:
        return current.leads == is_leader and current.leader_epoch == assignment.leader_epoch
    return isinstance(current, ReplicatedLeader) or assignment.replicas == (node_id,)


def _may_lose(current: Partition | None, assignment: Assignment) -> bool:
    """Whether the leader may lack what we take for committed: its election was unclean, or one that we missed was, or
    we have not followed anyone since we came into that doubt."""
    if current is None or assignment.recovering or assignment.leader_epoch > current.leader_epoch + 1:
        return True
    return isinstance(current, Follower) and current.may_lose
