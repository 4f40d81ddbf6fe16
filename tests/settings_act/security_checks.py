"""What settings do to those who must say who they are."""

from __future__ import annotations

from penstock.core.base.mechanisms import PLAIN
from penstock.core.node.links.purposes import CONTROL, REPLICATE
from penstock.core.node.links.route import route_of
from penstock.core.node.membership.addresses import BrokerAddresses
from penstock.core.wire.api.sasl_handshake import SaslHandshakeRequest
from tests.node.test_authentication import connect, log_in
from tests.settings_act.trial import Trial

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_LOGIN = 'username="alice" password="secret"'
SASL = {
    "listeners": "CLIENTS://127.0.0.1:9092,PLAINTEXT://127.0.0.1:9094,CONTROLLER://127.0.0.1:9093",
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "listener.name.clients.plain.sasl.jaas.config": f'{_PLAIN} required {_LOGIN} user_alice="secret";',
}
BETWEEN_NODES = {
    **SASL,
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    "inter.broker.listener.name": "CLIENTS",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.controller.plain.sasl.jaas.config": f'{_PLAIN} required {_LOGIN} user_alice="secret";',
    **{
        f"listener.name.{name}.scram-sha-256.sasl.jaas.config": f"{_SCRAM} required {_LOGIN};"
        for name in ("clients", "controller")
    },
}


def mechanisms_offered(trial: Trial) -> list[str]:
    client = connect(trial.begin(SASL))
    client.send(SaslHandshakeRequest(mechanism="none of these"))
    client.world.pass_time(1000)
    (answer,) = client.replies()
    return list(answer.mechanisms)


def mechanism_between_brokers(trial: Trial) -> str | None:
    identity = route_of(trial.begin(BETWEEN_NODES).node.settings, REPLICATE).identity
    return None if identity is None else identity.mechanism


def mechanism_towards_controllers(trial: Trial) -> str | None:
    identity = route_of(trial.begin(BETWEEN_NODES).node.settings, CONTROL).identity
    return None if identity is None else identity.mechanism


def port_between_brokers(trial: Trial) -> int:
    several = {
        "listeners": "PLAINTEXT://127.0.0.1:9092,SASL_PLAINTEXT://127.0.0.1:9094,CONTROLLER://127.0.0.1:9093",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256",
        "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": f"{_SCRAM} required {_LOGIN};",
    }
    address = BrokerAddresses(trial.begin(several).node).of(1)
    return 0 if address is None else address.port


def is_told_at_once_of_failure(trial: Trial) -> bool:
    client = connect(trial.begin(SASL))
    client.send(SaslHandshakeRequest(mechanism="none of these"))
    client.world.pass_time(50)
    return bool(client.replies())


def lifetime_ms(trial: Trial) -> int:
    return log_in(connect(trial.begin(SASL)), PLAIN, "alice", "secret")[-1]


def is_closed_for_a_kilobyte(trial: Trial) -> bool:
    world = trial.begin(SASL)
    client = connect(world)
    world.turn(lambda: client.connection.feed((1000).to_bytes(4, "big")))
    return client.connection.closing
