"""Three real nodes of which one is attacked: it leads what is made here, and knows the groups."""

from __future__ import annotations

from confluent_kafka.admin import NewTopic

from penstock.client.link import Link
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from tests.chaos.cluster import ChaosCluster
from tests.robustness.good_client import TIMEOUT_S
from tests.waiting import wait_until

SETTINGS = {
    "offsets.topic.num.partitions": "1",
    # What others do with the machine must not look like a node that is gone.
    "broker.session.timeout.ms": "9000",
    "controller.quorum.fetch.timeout.ms": "5000",
    "penstock.replica.silent.time.max.ms": "9000",
}


class ThreeNodes:
    """In the place of one broker."""

    def __init__(self, cluster: ChaosCluster) -> None:
        self._cluster = cluster
        self._attacked = cluster.nodes[1]
        wait_until(self._found, what="a coordinator")

    def _found(self) -> bool:
        link = Link(self.host, self.port, "good", TIMEOUT_S)
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
        (found,) = link.call(request, FindCoordinatorResponse, TIMEOUT_S).coordinators
        link.close()
        if found.error_code == 0:
            self._attacked = self._cluster.nodes[found.node_id]
        return found.error_code == 0

    @property
    def host(self) -> str:
        return self._attacked.host

    @property
    def port(self) -> int:
        return self._attacked.port

    @property
    def pids(self) -> list[int]:
        """That of the attacked node first."""
        others = [node for node in self._cluster.nodes.values() if node is not self._attacked]
        return [node.pid for node in (self._attacked, *others)]

    @property
    def controllers(self) -> list[tuple[str, int]]:
        return [(node.host, node.controller_port) for node in self._cluster.nodes.values()]

    def create_topic(self, name: str, **configs: object) -> None:
        order = sorted(self._cluster.nodes, key=lambda number: (number != self._attacked.number, number))
        given = {key.replace("_", "."): str(value) for key, value in configs.items()}
        topic = NewTopic(name, 1, replica_assignment=[order], config={"min.insync.replicas": "2"} | given)
        self._cluster.admin.create_topics([topic])[name].result(TIMEOUT_S)
        self._cluster.wait_healed(name)
