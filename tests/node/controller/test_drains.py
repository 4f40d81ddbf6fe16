"""A node of three is drained for its maintenance: others lead for it, and control, until that is taken back."""

from __future__ import annotations

import pytest

from penstock.core.metadata.configs import DELETE, SET
from penstock.core.metadata.image import BROKER_RESOURCE
from penstock.core.metadata.reluctance import DRAINED
from penstock.core.wire.api.elect_leaders import ElectLeadersRequest
from penstock.core.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.sim.scheduler import SECOND
from tests.node.controller.nodes import NODES, Nodes
from tests.node.controller.test_detection import in_sync, leaders, serving


def change(broker_id: int, *, drained: bool) -> IncrementalAlterConfigsRequest:
    config = AlterableConfig(name=DRAINED, config_operation=DELETE, value=None)
    if drained:
        config = AlterableConfig(name=DRAINED, config_operation=SET, value="true")
    resource = AlterConfigsResource(resource_type=BROKER_RESOURCE, resource_name=str(broker_id), configs=[config])
    return IncrementalAlterConfigsRequest(resources=[resource])


def drain(cluster: Nodes, victim: int) -> None:
    answer = cluster.ask(cluster.controller, change(victim, drained=True))
    assert answer.responses[0].error_code == 0


@pytest.mark.parametrize("of_the_controller", [False, True])
def test_who_is_answered_finds_others_leading(of_the_controller: bool) -> None:
    cluster = serving()
    controller = cluster.controller
    victim = controller if of_the_controller else cluster.other
    drain(cluster, victim)
    assert victim not in leaders(cluster, controller)
    assert all(set(in_sync(cluster, controller, index)) == set(NODES) for index in range(3)), "it goes on to follow"
    if of_the_controller:
        cluster.wait(lambda: cluster.has_controller() and cluster.controller != victim)


def test_a_drained_node_leads_nothing_after_its_restart_until_it_is_let() -> None:
    cluster = serving()
    victim = cluster.other
    led = [index for index, leader in enumerate(leaders(cluster, cluster.controller)) if leader == victim]
    drain(cluster, victim)
    cluster.world.sites[victim].crash(SECOND)
    cluster.wait(lambda: victim not in in_sync(cluster, cluster.controller, 0))
    cluster.wait(lambda: all(victim in in_sync(cluster, cluster.controller, index) for index in range(3)))
    cluster.ask(cluster.controller, ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=1_000))
    assert victim not in leaders(cluster, cluster.controller)
    cluster.ask(cluster.controller, change(victim, drained=False))
    found = leaders(cluster, cluster.controller)
    assert [index for index, leader in enumerate(found) if leader == victim] == led


def test_where_all_are_drained_they_lead_on() -> None:
    cluster = serving()
    for victim in NODES:
        cluster.wait(cluster.has_controller)
        drain(cluster, victim)
    cluster.wait(cluster.has_controller)
    assert set(leaders(cluster, cluster.controller)) <= set(NODES)
    controller = cluster.controller
    cluster.world.scheduler.run_until(cluster.world.scheduler.now_us + 10 * SECOND)
    assert cluster.controller == controller, "nobody hands on what nobody takes"
