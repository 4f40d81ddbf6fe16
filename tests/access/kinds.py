"""The four kinds of listeners, and how whoever asks is told from others at each of them: by nothing but his address, by
the name in his certificate, by a login."""

from __future__ import annotations

from typing import Final

from penstock.core.base.mechanisms import PLAIN
from penstock.core.node.serving.context import ANONYMOUS
from penstock.core.wire.api.create_acls import AclCreation
from penstock.core.wire.api.sasl_authenticate import SaslAuthenticateRequest
from penstock.core.wire.api.sasl_handshake import SaslHandshakeRequest
from tests.access.matrix import JOIN_S, LEAVE_S, ROWS, TOPICS, Asker, Row, askers, entries
from tests.access.town import STRANGER, SUPER, Town, entry
from tests.node.world import Client

PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL = KINDS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
ENCRYPTING: Final = (SSL, SASL_SSL)
LOGGING_IN: Final = (SASL_PLAINTEXT, SASL_SSL)
NAMES: Final = sorted({asker.name for number in range(len(ROWS)) for asker in askers(number)})
LOGIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"
JAAS: Final = f'{LOGIN} username="{SUPER}" password="{SUPER}" {" ".join(f"user_{name}={name!r}" for name in NAMES)};'
BY_CERTIFICATE: Final = "RULE:^CN=(.*)$/$1/"
OPEN_TO_ALL: Final = "BACK"
"""A listener of each town at which the super user logs in, to prepare it."""


def address_of(name: str) -> str:
    """An address of somebody's own on the loopback network."""
    number = NAMES.index(name) + 256
    return f"127.7.{number // 256}.{number % 256}"


def login_settings(listener: str) -> dict[str, str]:
    return {f"listener.name.{listener.lower()}.plain.sasl.jaas.config": JAAS}


class TownOf(Town):
    """A node that is asked at listeners of one kind, each asker known as that kind knows him."""

    def __init__(self, kind: str, **settings: str) -> None:
        self.kind = kind
        protocols = f"PLAINTEXT:{kind},CONTROLLER:{kind},{OPEN_TO_ALL}:SASL_PLAINTEXT"
        logins = login_settings("PLAINTEXT") | login_settings("CONTROLLER") | login_settings(OPEN_TO_ALL)
        places = f"PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093,{OPEN_TO_ALL}://127.0.0.1:9094"
        given = {
            "listeners": places,
            "listener.security.protocol.map": protocols,
            "inter.broker.listener.name": OPEN_TO_ALL,
            "sasl.enabled.mechanisms": PLAIN,
            "sasl.mechanism.inter.broker.protocol": PLAIN,
            "sasl.mechanism.controller.protocol": PLAIN,
            "ssl.principal.mapping.rules": BY_CERTIFICATE,
            "ssl.keystore.location": "/not-read-here.pem",
            "ssl.keystore.type": "PEM",
            **logins,
            **settings,
        }
        super().__init__(**given)

    def let_in(self) -> None:
        """By the node's own rules."""

    def client(self, name: str, listener: str = OPEN_TO_ALL) -> Client:
        kind = SASL_PLAINTEXT if listener == OPEN_TO_ALL else self.kind
        # Whoever logs in is who he logged in as, whatever certificate he has.
        certified = {SSL: f"CN={name}", SASL_SSL: f"CN={SUPER}"}.get(kind)
        if name == STRANGER and kind == SSL:
            certified = None
        address = address_of(name) if name in NAMES else "127.7.0.1"
        connection = self.world.node.connect(address, 1, listener, certified)
        assert connection is not None
        client = self.world.clients[connection] = Client(self.world, connection)
        if kind in LOGGING_IN and name != STRANGER:
            assert not client.ask(SaslHandshakeRequest(mechanism=PLAIN)).error_code
            assert not client.ask(SaslAuthenticateRequest(auth_bytes=f"\0{name}\0{name}".encode())).error_code
        return client


def prepared(town: Town) -> Town:
    """With the topics, the groups and the transactional id that the rows speak of."""
    town.create(*TOPICS)
    town.ask(SUPER, "FindCoordinator", 4, coordinator_keys=["held"], key_type=1)
    town.ask(SUPER, "InitProducerId", 4, transactional_id="held", transaction_timeout_ms=1000)
    town.ask(SUPER, "FindCoordinator", 4, coordinator_keys=["g"], key_type=0)
    topics = [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 0}]}]
    town.ask(SUPER, "OffsetCommit", 8, group_id="g", generation_id_or_member_epoch=-1, topics=topics)
    town.ask(SUPER, "FindCoordinator", 4, coordinator_keys=["s"], key_type=0)
    for beat in (JOIN_S, LEAVE_S):
        assert not town.ask(SUPER, "ShareGroupHeartbeat", 1, **beat).error_code
    return town


def askers_at(kind: str, number: int) -> list[Asker]:
    """Who asks a row's request. Where nobody says who he is, nobody is the super user."""
    return [asker for asker in askers(number) if kind != PLAINTEXT or asker.name != SUPER]


def entries_at(kind: str) -> list[AclCreation]:
    """The rules of the table; where nobody says who he is, they are about addresses."""
    if kind != PLAINTEXT:
        return entries()
    return [
        entry(ANONYMOUS.name, right.text, host=address_of(asker.name))
        for number in range(len(ROWS))
        for asker in askers_at(kind, number)
        for right in asker.rights
    ]


def listener_of(row: Row) -> str:
    return "CONTROLLER" if row.on_controller else "PLAINTEXT"
