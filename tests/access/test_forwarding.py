"""Rights where one node asks another: what a client may, and what a node may, are two questions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.settings.authorizer_rules import STANDARD_AUTHORIZER
from penstock.core.node.node import Node
from penstock.core.node.serving.context import ANONYMOUS, Principal
from penstock.core.node.serving.gates import Anonymous
from penstock.core.wire.api.create_acls import CreateAclsRequest
from penstock.core.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.core.wire.api.remove_raft_voter import RemoveRaftVoterRequest
from penstock.core.wire.schema import Request
from penstock.sim.cluster import ClusterNodes
from penstock.sim.machine import BROKER_PORT, CLIENT_HOST, CONTROLLER_PORT
from tests.access.town import entry
from tests.node.towns import QUORUM, Town

MACHINES = (1, 2, 3)
SETTINGS = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"}
TOPIC, LOGGER = 2, 8


class Someone(Anonymous):
    """Clients are whom a test says, nodes are nobody in particular."""

    def __init__(self, who: Callable[[], str]) -> None:
        self._who = who

    def principal(self, listener: str, address: str, certified: str | None = None) -> Principal | None:
        return Principal("User", self._who()) if address == CLIENT_HOST else ANONYMOUS


class Guarded(Town):
    """Three nodes with rules."""

    def __init__(self) -> None:
        super().__init__(len(MACHINES), ClusterNodes(len(MACHINES), SETTINGS))
        self.who = "ANONYMOUS"
        self.boot(*MACHINES)
        self.wait(lambda: all(len(self.node(each).image.brokers) == len(MACHINES) for each in MACHINES))
        for each in MACHINES:
            node = self.node(each)
            node.gates = node.gates._replace(authenticator=Someone(lambda: self.who))

    def allow(self, principal: str, *rights: str) -> None:
        self.who = "ANONYMOUS"
        creations = [entry(principal, each, host=CLIENT_HOST) for each in rights]
        answer = self.ask(1, CreateAclsRequest(creations=creations))
        assert not any(each.error_code for each in answer.results)
        self.who = principal

    @property
    def follower(self) -> int:
        return next(each for each in MACHINES if each != self.leader)


@pytest.fixture
def town() -> Guarded:
    return Guarded()


def test_a_forwarded_request_is_judged_by_its_clients_name_and_address(town: Guarded) -> None:
    town.allow("ann", "CREATE TOPIC anns")
    for number in MACHINES:
        assert town.create(number, "others", 1) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert town.create(town.follower, "anns", 1) == ErrorCode.NONE
    town.who = "bob"
    assert town.create(town.follower, "anns", 1) == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_what_a_broker_and_the_controller_decide_is_judged_where_it_is_decided(town: Guarded) -> None:
    town.allow("ann", "ALTER_CONFIGS TOPIC anns", "CREATE TOPIC anns")
    assert town.create(1, "anns", 1) == ErrorCode.NONE
    number = town.follower
    settings = [AlterableConfig(name="retention.ms", config_operation=0, value="1000")]
    levels = [AlterableConfig(name="node", config_operation=0, value="DEBUG")]
    resources = [
        AlterConfigsResource(resource_type=TOPIC, resource_name="anns", configs=settings),
        AlterConfigsResource(resource_type=TOPIC, resource_name="others", configs=settings),
        AlterConfigsResource(resource_type=LOGGER, resource_name=str(number), configs=levels),
    ]
    answer = town.ask(number, IncrementalAlterConfigsRequest(resources=resources))
    assert {(each.resource_type, each.resource_name): each.error_code for each in answer.responses} == {
        (TOPIC, "anns"): ErrorCode.NONE,
        (TOPIC, "others"): ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        (LOGGER, str(number)): ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    }


@pytest.mark.parametrize(
    "request_", [QUORUM, RemoveRaftVoterRequest(voter_id=99)], ids=lambda each: type(each).__name__
)
def test_the_quorum_is_guarded_wherever_it_is_asked(town: Guarded, request_: Request) -> None:
    """By a controller that does not lead, and by one that leads but does not control the cluster yet."""
    town.who = "ann"
    for number in MACHINES:
        for port in (BROKER_PORT, CONTROLLER_PORT):
            assert town.ask(number, request_, port).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    town.node(town.leader).cluster.controller.follow()
    answer = town.ask(town.leader, request_)
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_nodes_that_may_not_ask_each_other_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise there is just no quorum, and nobody knows why."""
    said: list[str] = []
    monkeypatch.setattr(Node, "log", lambda self, level, component, text, kind="": said.append(text))
    town = Town(len(MACHINES), ClusterNodes(len(MACHINES), {"authorizer.class.name": STANDARD_AUTHORIZER}))
    town.world.boot(MACHINES)
    town.wait(lambda: any("User:ANONYMOUS" in text and "super.users" in text for text in said))
