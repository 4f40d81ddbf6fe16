"""Groups that this node coordinates, under the names of kafka_exporter; and what it counts of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from heapq import nlargest
from typing import Final

from penstock.core.base.ports import Pause, Steps
from penstock.core.node.group_lag import GroupLag, Lag
from penstock.core.node.node import Node
from penstock.shell.exposition.families import COUNTER, GAUGE, HISTOGRAM, Family, Sample, buckets, labels, single

GROUPS_MAX: Final = 2_000
"""Pairs of a group and a topic that are told of; those with the largest lag, where there are more."""
PARTITIONS_MAX: Final = 20_000
PER_TURN_MAX: Final = 500
MS_PER_S: Final = 1000

Pair = tuple[str, str]


class GroupCensus:
    """One look at all groups."""

    def __init__(self) -> None:
        self.lags: list[Lag] = []
        self.lag: Counter[Pair] = Counter()
        self.committed: Counter[Pair] = Counter()
        self.behind_ms: defaultdict[Pair, int] = defaultdict(int)
        self.states: Counter[str] = Counter()
        self.members: dict[str, int] = {}

    def add(self, lag: Lag) -> None:
        pair = (lag.group_id, lag.topic)
        self.lags.append(lag)
        self.lag[pair] += lag.records
        self.committed[pair] += lag.committed
        self.behind_ms[pair] = max(self.behind_ms[pair], lag.behind_ms)


def take_group_census(node: Node, group_lag: GroupLag) -> Steps[GroupCensus]:
    census = GroupCensus()
    if not node.has_opened:
        return census
    group_lag.want()
    for number, lag in enumerate(group_lag.lags()):
        census.add(lag)
        if number % PER_TURN_MAX == PER_TURN_MAX - 1:
            yield Pause()
    for host in node.coordinators.groups:
        for group_ids in host.machine.groups.slices():
            for group in filter(None, map(host.machine.groups.get, group_ids)):
                census.states[str(getattr(group, "state", "Unknown"))] += 1
                census.members[group.group_id] = len(getattr(group, "members", ()))
            yield Pause()
    return census


def group_families(node: Node, census: GroupCensus, *, is_full: bool) -> Iterator[Family]:
    if not node.has_opened:
        return
    counts = node.coordinators.group_counts
    text = "Rebalances of groups that have begun."
    yield single("penstock_group_rebalances_total", COUNTER, text, counts.rebalances)
    text = "From the first member that came or went until each had its assignment."
    yield Family("penstock_group_rebalance_seconds", HISTOGRAM, text, buckets(counts.rebalance_ms, MS_PER_S))
    states = ((labels(state=state), count) for state, count in sorted(census.states.items()))
    yield Family("penstock_groups", GAUGE, "Groups that this node coordinates, by state.", states)
    yield from _by_topic(census)
    if is_full:
        yield from _by_partition(census)


def _by_topic(census: GroupCensus) -> Iterator[Family]:
    told = nlargest(GROUPS_MAX, census.lag, key=census.lag.__getitem__)
    named = [(pair, labels(consumergroup=pair[0], topic=pair[1])) for pair in sorted(told)]
    lag = ((label, census.lag[pair]) for pair, label in named)
    yield Family("kafka_consumergroup_lag_sum", GAUGE, "Records that a group has not read of a topic.", lag)
    committed = ((label, census.committed[pair]) for pair, label in named)
    text = "What it has committed, of all partitions together."
    yield Family("kafka_consumergroup_current_offset_sum", GAUGE, text, committed)
    behind = ((label, census.behind_ms[pair] / MS_PER_S) for pair, label in named)
    text = "For how long the oldest record that a group has not read has been there."
    yield Family("penstock_consumergroup_lag_seconds", GAUGE, text, behind)
    members = sorted(census.members.items())[:GROUPS_MAX]
    counts = ((labels(consumergroup=group_id), count) for group_id, count in members)
    yield Family("kafka_consumergroup_members", GAUGE, "Members of a group.", counts)
    left_out = len(census.lag) - len(told)
    yield single("penstock_groups_left_out", GAUGE, "Groups and topics of which nothing is told.", left_out)


def _by_partition(census: GroupCensus) -> Iterator[Family]:
    told = census.lags[:PARTITIONS_MAX]
    text = "Records that a group has not read of a partition."
    yield Family("kafka_consumergroup_lag", GAUGE, text, (_sample(each, each.records) for each in told))
    text = "What it has committed."
    yield Family("kafka_consumergroup_current_offset", GAUGE, text, (_sample(each, each.committed) for each in told))


def _sample(lag: Lag, value: int) -> Sample:
    return labels(consumergroup=lag.group_id, topic=lag.topic, partition=lag.partition), value
