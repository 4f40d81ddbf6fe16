"""Nodes that are only a broker or only a controller, and nodes that were alone and are not any more."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.node.membership.broker_lifecycle import State
from penstock.core.wire.api.api_versions import ApiVersionsRequest
from penstock.core.wire.api.describe_cluster import DescribeClusterRequest
from penstock.core.wire.api.metadata import MetadataRequest
from penstock.core.wire.api.unregister_broker import UnregisterBrokerRequest
from penstock.core.wire.api_table import APIS
from penstock.sim.clients.client import Connection
from penstock.sim.cluster import ClusterNodes
from penstock.sim.machine import BROKER_PORT, CONTROLLER_PORT
from tests.node.towns import QUORUM, Port
from tests.node.towns import Town as Machines


class Town(Machines):
    """Machines of which the first ones are controllers only."""

    def __init__(self, machines: int, controllers: int, kind: ClusterNodes | None = None) -> None:
        super().__init__(machines, kind or ClusterNodes(machines, controllers=controllers))
        self.brokers = range(controllers + 1, machines + 1)
        self.controllers = range(1, controllers + 1)

    def begin(self) -> Town:
        self.boot(*self.world.sites)
        self.wait(lambda: all(self._serving(number) == len(self.brokers) for number in self.brokers))
        return self

    def _serving(self, number: int) -> int:
        """How many brokers serve, as a machine knows it."""
        return sum(not broker.fenced for broker in self.node(number).image.brokers.values())

    def in_sync(self, index: int) -> set[int]:
        """Who is in sync in a partition of `t`, as the first machine knows it."""
        topic = self.node(1).image.topic("t")
        assert topic is not None
        return set(topic.partition(index).isr)


def test_brokers_serve_what_controllers_decide() -> None:
    town = Town(5, controllers=3).begin()
    assert town.create(4, "t", replicas=2) == 0
    brokers = town.ask(5, MetadataRequest()).brokers
    assert sorted(broker.node_id for broker in brokers) == [4, 5]
    town.wait(lambda: all(town.node(each).replicas.get("t", 0) is not None for each in town.brokers))
    for number in town.controllers:
        assert not list(town.node(number).replicas)


def test_brokers_observe_and_controllers_vote() -> None:
    town = Town(5, controllers=3).begin()
    quorum = town.ask(4, QUORUM).topics[0].partitions[0]
    assert sorted(voter.replica_id for voter in quorum.current_voters) == [1, 2, 3]
    assert sorted(observer.replica_id for observer in quorum.observers) == [4, 5]
    assert quorum.leader_id in town.controllers


def test_a_controller_offers_what_controllers_offer() -> None:
    town = Town(2, controllers=1).begin()
    request = ApiVersionsRequest(client_software_name="t", client_software_version="1")
    offered = {each.api_key for each in town.ask(1, request, CONTROLLER_PORT).api_keys}
    assert offered
    assert all(APIS[key].on_controllers for key in offered)
    found = town.ask(1, DescribeClusterRequest(endpoint_type=2), CONTROLLER_PORT)
    assert [(each.broker_id, each.port) for each in found.brokers] == [(1, CONTROLLER_PORT)]
    assert found.controller_id == 1


def test_a_controller_has_no_room_for_clients_nor_a_broker_for_controllers() -> None:
    town = Town(2, controllers=1).begin()
    for number, port in ((1, BROKER_PORT), (2, CONTROLLER_PORT)):
        connection = Connection("asking", Port(town.world, port), number)
        town.pass_time(2)
        assert connection.closed


def test_brokers_follow_the_next_leader_of_the_metadata() -> None:
    town = Town(5, controllers=3).begin()
    old = town.leader
    town.world.sites[old].machine.crash()
    town.wait(lambda: any(town.is_running(each) and town.node(each).quorum.leads for each in town.controllers))
    assert town.leader != old
    assert town.create(5, "after", replicas=2) == 0
    assert town.node(4).cluster.broker_lifecycle.state is State.SERVING


def test_a_broker_that_dies_is_fenced_by_a_controller_of_another_process() -> None:
    town = Town(4, controllers=1).begin()
    town.world.sites[3].machine.crash()
    town.wait(lambda: town.node(1).image.brokers[3].fenced)
    assert not town.node(1).image.brokers[2].fenced


def test_a_controller_stops_and_starts_by_itself() -> None:
    town = Town(3, controllers=1).begin()
    assert town.create(2, "t", replicas=2) == 0
    town.world.sites[1].shut_down()
    town.wait(lambda: not town.is_running(1))
    town.wait(lambda: town.is_running(1) and town.node(1).quorum.leads)
    assert town.node(1).image.topic("t") is not None
    assert town.create(2, "again", replicas=2) == 0


def test_folders_of_partitions_on_a_controller_are_left_alone() -> None:
    """Somebody has taken the role of a broker away from a node that had partitions."""
    town = Town(2, controllers=1)
    disk = town.world.sites[1].disk
    disk.volume.platter.make_directory("/data/kept-0")
    disk.place("/data/kept-0/00000000000000000000.log", b"")
    town.begin()
    town.world.sites[1].shut_down()
    town.wait(lambda: not town.is_running(1))
    assert disk.volume.platter.find("/data/kept-0/00000000000000000000.log") is not None
    assert disk.volume.platter.find("/data/.kafka_cleanshutdown") is None


class Growing(ClusterNodes):
    """The first machine is broker and controller, the others are brokers that come later."""

    is_both = True

    def settings(self, number: int) -> dict[str, str]:
        own = super().settings(number)
        if number == 1 and self.is_both:
            both = "PLAINTEXT://node-1:9092,CONTROLLER://node-1:9093"
            return own | {"process.roles": "broker,controller", "listeners": both}
        return own


def growing(kind: Growing | None = None) -> Town:
    town = Town(2, 1, kind or Growing(2, controllers=1))
    town.boot(1)
    return town


def test_a_node_that_was_alone_gets_company() -> None:
    town = growing()
    assert town.create(1, "before", replicas=1) == 0
    assert town.node(1).cluster.is_lone
    assert town.create(1, "early", replicas=2) == ErrorCode.INVALID_REPLICATION_FACTOR
    town.world.boot([2])
    town.wait(lambda: town.is_running(2) and len(town.node(1).image.brokers) == 2)
    town.wait(lambda: town.node(1).cluster.broker_lifecycle.state is State.SERVING)
    assert not town.node(1).cluster.is_lone
    assert town.create(2, "after", replicas=2) == 0
    town.pass_time(5)
    assert not any(broker.fenced for broker in town.node(2).image.brokers.values())


def test_the_only_controller_hands_over_before_it_goes_and_leads_again_when_it_comes() -> None:
    town = growing()
    town.world.boot([2])
    town.wait(lambda: town.is_running(2) and len(town.node(1).image.brokers) == 2)
    assert town.create(1, "t", replicas=2) == 0
    town.wait(lambda: town.node(2).replicas.get("t", 1) is not None)
    town.world.sites[1].shut_down()
    town.wait(lambda: not town.is_running(1))
    topic = town.node(2).image.topic("t")
    assert topic is not None
    assert set(topic.leaders) == {2}, "nobody else can decide that later"
    town.wait(lambda: town.is_running(1) and town.node(1).quorum.leads)
    town.wait(lambda: all(town.in_sync(index) == {1, 2} for index in range(2)))


def test_the_only_controller_that_was_killed_leaves_the_in_sync_sets() -> None:
    """What it had may be more than its disk kept: the other one has all that was acknowledged."""
    town = growing()
    town.world.boot([2])
    town.wait(lambda: town.is_running(2) and len(town.node(1).image.brokers) == 2)
    assert town.create(1, "t", replicas=2) == 0
    town.wait(lambda: all(town.in_sync(index) == {1, 2} for index in range(2)))
    town.world.sites[1].crash(1)
    town.wait(lambda: town.is_running(1))
    assert town.node(1).image.brokers[1].epoch == town.node(1).cluster.broker_lifecycle.epoch
    topic = town.node(1).image.topic("t")
    assert topic is not None
    assert set(topic.leaders) == {2}


def test_a_broker_that_has_become_a_mere_controller_is_fenced() -> None:
    """Its registration is still there, and nobody in this process speaks for it."""
    kind = Growing(2, controllers=1)
    town = growing(kind)
    town.world.boot([2])
    town.wait(lambda: town.is_running(2) and len(town.node(1).image.brokers) == 2)
    assert town.create(1, "t", replicas=2) == 0
    town.wait(lambda: all(town.in_sync(index) == {1, 2} for index in range(2)))
    kind.is_both = False
    town.world.sites[1].crash(1)
    town.wait(lambda: town.is_running(1) and not town.node(1).is_broker)
    town.wait(lambda: town.node(2).image.brokers[1].fenced)
    assert town.ask(2, UnregisterBrokerRequest(broker_id=1)).error_code == 0
