"""Is the cluster well? What a person, or a script, wants to know before touching it: a pure look at what was told."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from penstock.client.metadata import NO_NODE, PartitionView, TopicPartition, TopicView
from penstock.client.quorum import Quorum, Registered

VOTER_BEHIND_MS_MAX: Final = 5_000
"""A voter that has not had everything for so long counts as missing."""


class State(Enum):
    """What one broker is to one partition. The letters are for those who cannot see colours."""

    LEADER = "leader"
    IN_SYNC = "in sync"
    OUT_OF_SYNC = "out of sync"
    OFFLINE = "offline"
    NONE = "no replica"


class Health(NamedTuple):
    """What is wrong; empty where nothing is."""

    controller: int | None
    voters_behind: tuple[int, ...]
    fenced: tuple[int, ...]
    full: tuple[int, ...]
    """Brokers whose disks are full: others lead for them where they can."""
    idle: tuple[int, ...]
    """Brokers that are let in, and have replicas, none of which is in sync: they shut down, or cannot keep up."""
    drained: tuple[int, ...]
    """Brokers that others lead for, because somebody wants that."""
    offline: tuple[TopicPartition, ...]
    under_min: tuple[TopicPartition, ...]
    under_replicated: tuple[TopicPartition, ...]
    unpreferred: tuple[TopicPartition, ...]
    moving: tuple[TopicPartition, ...]

    @property
    def is_healthy(self) -> bool:
        """That leaders are elsewhere, that somebody wants them to be, or that partitions move, is no illness."""
        brokers = (self.voters_behind, self.fenced, self.full, self.idle)
        return self.controller is not None and not any((*brokers, self.offline, self.under_min, self.under_replicated))


def assess(
    topics: Sequence[TopicView],
    brokers: Sequence[Registered],
    quorum: Quorum,
    min_insync: Mapping[str, int],
    adding: Mapping[TopicPartition, Collection[int]],
    full: Collection[int],
    drained: Collection[int] = (),
) -> Health:
    """`adding` has the replicas that are only just being made, which nobody misses yet; `full` the brokers without
    room; `drained` those that shall not lead."""
    places = [(TopicPartition(topic.name, each.number), each) for topic in topics for each in topic.partitions]
    fenced = tuple(broker.node_id for broker in brokers if broker.is_fenced)
    return Health(
        None if quorum.leader == NO_NODE else quorum.leader,
        tuple(voter.node_id for voter in quorum.voters if _is_behind(quorum.behind_ms(voter))),
        fenced,
        tuple(full),
        _idle(places, [broker.node_id for broker in brokers if not broker.is_fenced]),
        tuple(drained),
        tuple(where for where, each in places if each.leader == NO_NODE),
        tuple(where for where, each in places if _is_under_min(each, min_insync.get(where.topic, 1))),
        tuple(where for where, each in places if set(each.replicas) - set(each.in_sync) - set(adding.get(where, ()))),
        tuple(where for where, each in places if each.leader not in (NO_NODE, each.replicas[0])),
        tuple(where for where, _ in places if where in adding),
    )


def _is_behind(behind_ms: int | None) -> bool:
    return behind_ms is None or behind_ms > VOTER_BEHIND_MS_MAX


def _is_under_min(partition: PartitionView, min_insync: int) -> bool:
    """No more are asked for than there are."""
    return len(partition.in_sync) < min(min_insync, len(partition.replicas))


def _idle(places: Sequence[tuple[TopicPartition, PartitionView]], alive: Collection[int]) -> tuple[int, ...]:
    holding = {replica for _, each in places for replica in each.replicas}
    in_sync = {replica for _, each in places for replica in each.in_sync}
    return tuple(broker for broker in sorted(alive) if broker in holding and broker not in in_sync)


def state_of(broker: int, partition: PartitionView, alive: Collection[int]) -> State:
    """A replica is offline where its broker is, or where nobody can lead the partition."""
    if broker not in partition.replicas:
        return State.NONE
    if broker == partition.leader:
        return State.LEADER
    if broker not in alive or broker in partition.offline:
        return State.OFFLINE
    return State.IN_SYNC if broker in partition.in_sync else State.OUT_OF_SYNC
