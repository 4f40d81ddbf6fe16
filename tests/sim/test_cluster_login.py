"""Controllers that log in at each other, in the simulated world: a history is lived through as if nobody asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.core.node.serving.connection import Connection
from penstock.core.node.serving.context import Principal
from penstock.sim.cluster_scenario import run_cluster_seed
from tests.sim.test_cluster_nodes import brief

_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
LOGIN = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.controller.plain.sasl.jaas.config": f'{_MODULE} username="n" password="p" user_n="p";',
    "listener.name.controller.connections.max.reauth.ms": "2000",
}


@pytest.mark.slow
def test_a_cluster_survives_one_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions last two seconds: nobody who has something to ask lets one end."""
    expelled: list[str] = []
    renewed: list[Principal] = []
    expel, authenticate = Connection.expel, Connection.authenticate

    def watched_expel(connection: Connection, what: str) -> None:
        expelled.append(what)
        expel(connection, what)

    def watched(connection: Connection, principal: Principal, *, by_token: bool = False) -> None:
        if connection.is_authenticated:
            renewed.append(principal)
        authenticate(connection, principal, by_token=by_token)

    monkeypatch.setattr(Connection, "expel", watched_expel)
    monkeypatch.setattr(Connection, "authenticate", watched)
    spec = brief(2, "at 2 s crash 1 for 2 s")
    report = run_cluster_seed(2, replace(spec, settings={**spec.settings, **LOGIN}))
    assert report.failure is None, report.failure
    assert report.counts["fault-crash"] == 1
    assert set(renewed) == {Principal("User", "n")}
    assert not [what for what in expelled if "asked for" in what]
