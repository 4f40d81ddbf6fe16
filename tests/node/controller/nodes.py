"""Three real nodes in the simulated world, and clients that ask a certain one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.core.node.node import Node
from penstock.core.wire.registry import response_class
from penstock.core.wire.schema import Request
from penstock.sim.clients.client import Connection
from penstock.sim.cluster import ClusterNodes
from penstock.sim.disk import DiskProfile
from penstock.sim.machine import BROKER_PORT
from penstock.sim.network import NetworkProfile
from penstock.sim.scheduler import SECOND
from penstock.sim.world import World
from tests.node.towns import Nobody, Port

NODES = (1, 2, 3)
SWIFT = NetworkProfile(drips=0.0)
"""How long something takes is looked at here; a connection that drips takes half a second for any request."""


class Nodes:
    """A cluster that serves."""

    def __init__(self, seed: int = 1, **settings: str) -> None:
        kind = ClusterNodes(len(NODES), settings)
        self.world = World(seed, kind, Nobody, DiskProfile(), SWIFT, machines=len(NODES))
        self.world.boot()
        self.wait(self.is_serving)

    def node(self, number: int) -> Node:
        found = self.world.sites[number].node
        assert isinstance(found, Node)
        return found

    def is_serving(self) -> bool:
        """Every node has started, and every one knows that all of them serve."""
        nodes = [site.node for site in self.world.sites.values()]
        return all(isinstance(node, Node) and node.state == "running" and _knows_all(node) for node in nodes)

    @property
    def controller(self) -> int:
        return next(number for number in NODES if self._controls(number))

    def _controls(self, number: int) -> bool:
        node = self.world.sites[number].node
        return isinstance(node, Node) and node.has_quorum and node.cluster.controller.is_active

    @property
    def other(self) -> int:
        """A node that does not control."""
        return next(number for number in NODES if not self._controls(number))

    def has_controller(self) -> bool:
        return any(self._controls(number) for number in NODES)

    def connect(self, number: int, port: int = BROKER_PORT) -> Connection:
        connection = Connection("asking", Port(self.world, port), number)
        self.wait(lambda: connection.ready.resolved)
        return connection

    def ask(self, number: int, request: Request, port: int = BROKER_PORT, version: int | None = None) -> Any:
        """What a node answers."""
        return self.answer(self.connect(number, port), request, version)

    def answer(self, connection: Connection, request: Request, version: int | None = None) -> Any:
        answers: list[Any] = []
        asked = connection.ask(request, response_class(request.KEY), version)
        asked.begin(self.world.scheduler, answers.append)
        self.wait(lambda: bool(answers))
        assert not isinstance(answers[0], Exception), "the connection was lost"
        return answers[0]

    def is_answered(self, connection: Connection, request: Request, seconds: int) -> bool:
        """Whether an answer comes within some time."""
        asked = connection.ask(request, response_class(request.KEY))
        scheduler = self.world.scheduler
        scheduler.run_until(scheduler.now_us + seconds * SECOND)
        return asked.resolved

    def wait(self, is_so: Callable[[], bool], seconds: int = 30) -> float:
        """Let time pass until something is so; gives how many seconds that took."""
        scheduler = self.world.scheduler
        begin_us = scheduler.now_us
        assert scheduler.run_while(lambda: not is_so(), begin_us + seconds * SECOND), "it did not come to pass"
        return (scheduler.now_us - begin_us) / SECOND


def _knows_all(node: Node) -> bool:
    brokers = node.image.brokers
    return len(brokers) == len(NODES) and not any(broker.fenced for broker in brokers.values())
