"""Real nodes on simulated machines, and clients that ask a certain one of them at a certain port."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.core.node.node import Node
from penstock.core.raft.ids import TOPIC
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.describe_quorum import DescribeQuorumRequest, RequestPartitionData, RequestTopicData
from penstock.core.wire.registry import response_class
from penstock.core.wire.schema import Request
from penstock.sim.clients.client import Connection
from penstock.sim.cluster import ClusterNodes
from penstock.sim.disk import DiskProfile
from penstock.sim.events import Event, Witness
from penstock.sim.machine import BROKER_PORT, CLIENT_HOST
from penstock.sim.network import Endpoint, Link, NetworkProfile
from penstock.sim.scheduler import SECOND, Scheduler
from penstock.sim.trace import Trace
from penstock.sim.world import World

QUORUM: Final = DescribeQuorumRequest(
    topics=[RequestTopicData(topic_name=TOPIC, partitions=[RequestPartitionData(partition_index=0)])]
)
JOINING: Final = {"controller.quorum.auto.join.enable": "true"}


class Nobody:
    """Judges nothing."""

    def __init__(self, scheduler: Scheduler, trace: Trace) -> None:
        pass

    def see(self, event: Event) -> None:
        pass


class Port:
    """The world, as a client sees it that asks at one port."""

    def __init__(self, world: World[Nobody], port: int) -> None:
        self._world = world
        self._port = port

    @property
    def scheduler(self) -> Scheduler:
        return self._world.scheduler

    @property
    def witness(self) -> Witness:
        return self._world.witness

    def dial(self, endpoint: Endpoint, number: int = 1, port: int = BROKER_PORT, host: str = CLIENT_HOST) -> Link:
        """Whatever port is asked for, it is this one."""
        return self._world.dial(endpoint, number, self._port, host)


class Town:
    """A world of machines, of which none is started yet."""

    def __init__(self, machines: int, kind: ClusterNodes) -> None:
        self.world = World(1, kind, Nobody, DiskProfile(), NetworkProfile(), machines=machines)

    def boot(self, *numbers: int) -> None:
        self.world.boot(numbers)
        self.wait(lambda: all(map(self.is_running, numbers)))

    def node(self, number: int) -> Node:
        node = self.world.sites[number].node
        assert isinstance(node, Node)
        return node

    def is_running(self, number: int) -> bool:
        node = self.world.sites[number].node
        return node is not None and node.state == "running"

    def voters(self, number: int) -> list[int]:
        """The voters, as a machine knows them."""
        return sorted(self.node(number).quorum.voter_ids)

    @property
    def leader(self) -> int:
        return next(each for each in self.world.sites if self.is_running(each) and self.node(each).quorum.leads)

    def has_leader(self) -> bool:
        return any(self.is_running(each) and self.node(each).quorum.leads for each in self.world.sites)

    def ask(self, number: int, request: Request, port: int = BROKER_PORT) -> Any:
        connection, answers = Connection("asking", Port(self.world, port), number), list[Any]()
        self.wait(lambda: connection.ready.resolved)
        asked = connection.ask(request, response_class(request.KEY))
        asked.begin(self.world.scheduler, answers.append)
        self.wait(lambda: bool(answers))
        return answers[0]

    def create(self, number: int, name: str, replicas: int) -> int:
        """Ask a machine for a topic with two partitions; gives the error code."""
        topic = CreatableTopic(name=name, num_partitions=2, replication_factor=replicas)
        code: int = self.ask(number, CreateTopicsRequest(topics=[topic], timeout_ms=20_000)).topics[0].error_code
        return code

    def wait(self, is_so: Callable[[], bool], seconds: int = 30) -> None:
        scheduler = self.world.scheduler
        assert scheduler.run_while(lambda: not is_so(), scheduler.now_us + seconds * SECOND), "it did not come to pass"

    def pass_time(self, seconds: float) -> None:
        scheduler = self.world.scheduler
        scheduler.run_until(scheduler.now_us + int(seconds * SECOND))
