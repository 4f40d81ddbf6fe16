"""Delegation tokens where the controller is another node: who asks, and how he was let in, travels in the envelope."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.mechanisms import SCRAM_SHA_256
from penstock.core.node.node import Node
from penstock.core.node.serving.authentication import Authentication
from penstock.core.node.serving.connection import Connection
from penstock.core.node.serving.context import Principal
from penstock.core.sasl.scram import Known
from penstock.core.wire.api.create_delegation_token import CreateDelegationTokenRequest
from penstock.core.wire.api.expire_delegation_token import ExpireDelegationTokenRequest
from penstock.core.wire.api.renew_delegation_token import RenewDelegationTokenRequest
from penstock.sim.cluster import ClusterNodes
from penstock.sim.machine import CLIENT_HOST
from tests.node.towns import Town

MACHINES = (1, 2, 3)
_LOGIN = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="node" password="secret" user_node="secret";'
)
SETTINGS = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": _LOGIN,
    "delegation.token.secret.key": "of all nodes",
}


class Alice(Authentication):
    """Clients are alice; nodes say themselves who they are."""

    def principal(self, listener: str, address: str, certified: str | None) -> Principal | None:
        return Principal("User", "alice") if address == CLIENT_HOST else super().principal(listener, address, certified)

    def knows(self, token_id: str) -> Known | None:
        tokens = self._node.image.access.tokens
        return self._tokens.find(tokens, self._node.settings, self._node.now_ms, SCRAM_SHA_256, token_id)


class Guarded(Town):
    def __init__(self) -> None:
        super().__init__(len(MACHINES), ClusterNodes(len(MACHINES), SETTINGS))
        self.boot(*MACHINES)
        self.wait(lambda: all(len(self.node(each).image.brokers) == len(MACHINES) for each in MACHINES))
        for each in MACHINES:
            node = self.node(each)
            node.gates = node.gates._replace(authenticator=Alice(node))

    def knows(self, number: int, token_id: str) -> Known | None:
        authenticator: Any = self.node(number).gates.authenticator
        found: Known | None = authenticator.knows(token_id)
        return found

    @property
    def follower(self) -> int:
        return next(each for each in MACHINES if each != self.leader)


@pytest.fixture
def town() -> Guarded:
    return Guarded()


CREATE = CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1)


def test_every_node_knows_a_token_that_any_has_given_out(town: Guarded) -> None:
    for asked in MACHINES:
        token = town.ask(asked, CREATE)
        assert (token.error_code, token.principal_name) == (ErrorCode.NONE, "alice")
        town.wait(lambda made=token: all(made.token_id in town.node(each).image.access.tokens for each in MACHINES))
        for each in MACHINES:
            known = town.knows(each, token.token_id)
            assert known is not None
            assert known.user == "alice"
        assert b64encode(token.hmac)
        assert town.ask(town.follower, RenewDelegationTokenRequest(hmac=token.hmac)).error_code == ErrorCode.NONE


def test_a_token_that_one_node_ends_is_ended_for_all(town: Guarded) -> None:
    token = town.ask(town.follower, CREATE)
    ended = town.ask(town.leader, ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=-1))
    assert ended.error_code == ErrorCode.NONE
    town.wait(lambda: all(town.knows(each, token.token_id) is None for each in MACHINES))


def test_a_token_makes_none_through_any_node(town: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker says so already; and if it did not, the controller would."""
    connect = Node.connect

    def by_token(node: Node, host: str, *args: Any, **named: Any) -> Connection | None:
        connection = connect(node, host, *args, **named)
        if connection is not None and host == CLIENT_HOST:
            connection.context = connection.context._replace(is_by_token=True)
        return connection

    monkeypatch.setattr(Node, "connect", by_token)
    for number in MACHINES:
        assert town.ask(number, CREATE).error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    trusting = iter([True])
    may_ask = "penstock.core.apis.token_requests.may_ask"
    from penstock.core.apis import token_requests

    honest = token_requests.may_ask
    monkeypatch.setattr(may_ask, lambda node, context: next(trusting, False) or honest(node, context))
    answer = town.ask(town.follower, CREATE)
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert not any(town.node(each).image.access.tokens for each in MACHINES)
