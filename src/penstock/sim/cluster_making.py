"""A cluster's world: its nodes, and who judges them."""

from __future__ import annotations

from penstock.sim.cluster import ClusterNodes
from penstock.sim.cluster_court import CLUSTER, ClusterCourt
from penstock.sim.cluster_spec import ACKS_ALL, ClusterSpec
from penstock.sim.dynamic import DynamicNodes
from penstock.sim.invariants.one_holder import OneHolder
from penstock.sim.invariants.transactional import TRANSACTIONAL
from penstock.sim.rules import rules_of
from penstock.sim.world import World


def name_of(number: int) -> str:
    return f"producer-{number}"


def make_cluster(seed: int, spec: ClusterSpec) -> World[ClusterCourt]:
    """A world of real nodes, none of them started yet."""
    rules = {topic.name: rules_of(topic.configs) for topic in spec.all_topics}
    hopeful = frozenset(name_of(number) for number, plan in enumerate(spec.producers) if plan.acks != ACKS_ALL)
    invariants = CLUSTER if spec.chain is None else (*CLUSTER, *TRANSACTIONAL)
    if spec.live_group is not None:
        invariants = (*invariants, OneHolder)
    return World(
        seed,
        _nodes(spec),
        lambda scheduler, trace: ClusterCourt(scheduler, trace, rules, hopeful, invariants),
        spec.disk,
        spec.network,
        machines=spec.machines,
    )


def _nodes(spec: ClusterSpec) -> ClusterNodes:
    if spec.is_dynamic:
        return DynamicNodes(spec.machines, spec.machines, spec.settings)
    return ClusterNodes(spec.machines, spec.settings, spec.controllers)
