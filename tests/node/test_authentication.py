"""Who is let in at a listener that authenticates, how much it may ask before, and what whoever fails learns of it."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.mechanisms import PLAIN, SCRAM_SHA_256, SCRAM_SHA_512
from penstock.core.metadata.scram import credential_record
from penstock.core.node.serving.connection import UNKNOWN_MS_MAX, UNKNOWN_REQUESTS_MAX
from penstock.core.node.serving.context import ANONYMOUS, Principal
from penstock.core.peer.login import Identity, Login, LoginRefused
from penstock.core.sasl.scram import salted
from penstock.core.wire.api.api_versions import ApiVersionsRequest
from penstock.core.wire.api.metadata import MetadataRequest
from penstock.core.wire.api.sasl_authenticate import SaslAuthenticateRequest
from penstock.core.wire.api.sasl_handshake import SaslHandshakeRequest
from penstock.core.wire.schema import Request
from tests.node.world import Client, Seeded, World, produce

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SECURE = {
    "listeners": "CLIENTS://127.0.0.1:9092,OPEN://127.0.0.1:9094,CONTROLLER://127.0.0.1:9093",
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,OPEN:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "OPEN",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.clients.plain.sasl.jaas.config": f'{MODULE} required user_alice="secret" user_bob="other";',
}
DELAY_MS = 100


def a_world(**settings: str) -> World:
    world = World({**SECURE, **{name.replace("_", "."): value for name, value in settings.items()}})
    salt = b"salt" * 5
    records = [
        credential_record("carol", mechanism, salt, salted(mechanism, "scrambled", salt, 4096), 4096)
        for mechanism in (SCRAM_SHA_256, SCRAM_SHA_512)
    ]
    world.turn(lambda: world.node.submit(records, lambda code: None))
    world.settle()
    return world


@pytest.fixture
def world() -> World:
    return a_world()


def connect(world: World, listener: str = "CLIENTS") -> Client:
    connection = world.node.connect("10.0.0.1", 1, listener)
    assert connection is not None
    client = world.clients[connection] = Client(world, connection)
    return client


def log_in(client: Client, mechanism: str, user: str, password: str, *, is_token: bool = False) -> list[int]:
    """Says who it is; gives the lifetimes it was told."""
    login = Login(Identity(mechanism, user, password, is_token), Seeded(2))
    lifetimes = []
    request: Request | None = login.begin()
    while request is not None:
        client.send(request)
        client.world.pass_time(DELAY_MS)
        (answer,) = client.replies()
        lifetimes.append(getattr(answer, "session_lifetime_ms", 0))
        request = login.next(answer)
    return lifetimes


@pytest.mark.parametrize(
    ("mechanism", "user", "password"),
    [(PLAIN, "alice", "secret"), (SCRAM_SHA_256, "carol", "scrambled"), (SCRAM_SHA_512, "carol", "scrambled")],
)
def test_who_proves_it_is_served_from_then_on(world: World, mechanism: str, user: str, password: str) -> None:
    client = connect(world)
    assert client.ask(ApiVersionsRequest(client_software_name="c", client_software_version="1")).error_code == 0
    log_in(client, mechanism, user, password)
    assert client.ask(MetadataRequest()).brokers
    assert client.connection.context.principal == Principal("User", user)
    assert not client.connection.closing
    world.pass_time(UNKNOWN_MS_MAX)
    assert not client.connection.closing


@pytest.mark.parametrize(
    ("mechanism", "user", "password"),
    [
        (PLAIN, "alice", "guessed"),
        (PLAIN, "nobody", "secret"),
        (SCRAM_SHA_256, "carol", "guessed"),
        (SCRAM_SHA_512, "nobody", "scrambled"),
        (SCRAM_SHA_512, "alice", "secret"),
    ],
)
def test_who_fails_hears_it_late_and_not_why(world: World, mechanism: str, user: str, password: str) -> None:
    client = connect(world)
    with pytest.raises(LoginRefused, match=r"Authentication failed") as refused:
        log_in(client, mechanism, user, password)
    assert client.connection.closing
    for text in (str(refused.value), *(note for _, note in world.notes)):
        assert password not in text
    assert user not in str(refused.value)
    assert "failed to authenticate" in world.notes[-1][1]
    assert world.node.metrics.errors["SaslAuthenticate", "SASL_AUTHENTICATION_FAILED"] == 1


def test_a_failure_is_held_back_and_nothing_is_served_meanwhile(world: World) -> None:
    client = connect(world)
    client.ask(SaslHandshakeRequest(mechanism=PLAIN))
    client.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"))
    assert not client.connection.reading
    world.pass_time(DELAY_MS - 1)
    assert not client.replies()
    assert not client.connection.closing
    world.pass_time(1)
    (answer,) = client.replies()
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert client.connection.closing


def test_a_mechanism_that_is_not_offered(world: World) -> None:
    client = connect(world)
    client.send(SaslHandshakeRequest(mechanism="GSSAPI"))
    world.pass_time(DELAY_MS)
    (answer,) = client.replies()
    assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert answer.mechanisms == [PLAIN, SCRAM_SHA_256, SCRAM_SHA_512]
    assert client.connection.closing


def test_tokens_without_a_handshake_and_two_handshakes(world: World) -> None:
    hasty, twice = connect(world), connect(world)
    hasty.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"))
    assert hasty.connection.closing
    assert not hasty.replies()
    for _ in range(2):
        twice.send(SaslHandshakeRequest(mechanism=PLAIN))
    world.pass_time(DELAY_MS)
    assert twice.replies()[-1].error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert twice.connection.closing


def test_where_nobody_authenticates_both_requests_are_out_of_place(world: World) -> None:
    client = connect(world, "OPEN")
    assert client.ask(SaslHandshakeRequest(mechanism=PLAIN)).error_code == ErrorCode.ILLEGAL_SASL_STATE
    answer = client.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"))
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert not client.connection.closing
    assert client.connection.context.principal == ANONYMOUS
    known = connect(world)
    log_in(known, PLAIN, "alice", "secret")
    assert known.ask(SaslHandshakeRequest(mechanism=PLAIN)).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert known.ask(MetadataRequest()).brokers


def test_a_stranger_has_little_room_few_requests_and_little_time(world: World) -> None:
    large = connect(world)
    world.turn(lambda: large.connection.feed((524_289).to_bytes(4, "big")))
    assert large.connection.closing
    many = connect(world)
    for _ in range(UNKNOWN_REQUESTS_MAX):
        many.ask(ApiVersionsRequest(client_software_name="c", client_software_version="1"))
    many.send(ApiVersionsRequest(client_software_name="c", client_software_version="1"))
    assert many.connection.closing
    slow = connect(world)
    world.pass_time(UNKNOWN_MS_MAX - 1)
    assert not slow.connection.closing
    world.pass_time(1)
    assert slow.connection.closing
    eager = connect(world)
    eager.send(produce("t", b"v"), 9)
    assert eager.connection.closing
    assert not eager.replies()


def test_a_large_request_is_taken_of_who_is_known(world: World) -> None:
    client = connect(world)
    log_in(client, PLAIN, "alice", "secret")
    world.turn(lambda: client.connection.feed((1_000_000).to_bytes(4, "big") + bytes(100)))
    assert not client.connection.closing


def test_a_session_ends_unless_it_is_renewed() -> None:
    world = a_world(connections_max_reauth_ms="60000")
    renewing, lazy = connect(world), connect(world)
    for client in (renewing, lazy):
        assert log_in(client, PLAIN, "alice", "secret")[-1] == 60_000
    world.pass_time(50_000)
    assert log_in(renewing, PLAIN, "alice", "secret")[-1] == 60_000
    world.pass_time(11_000)
    assert renewing.ask(MetadataRequest()).brokers
    lazy.send(MetadataRequest())
    assert lazy.connection.closing
    assert not lazy.replies()


def test_nobody_becomes_somebody_else_by_renewing() -> None:
    world = a_world(connections_max_reauth_ms="60000")
    client = connect(world)
    log_in(client, PLAIN, "alice", "secret")
    with pytest.raises(LoginRefused, match="re-authentication"):
        log_in(client, PLAIN, "bob", "other")
    assert client.connection.closing
    another = connect(world)
    log_in(another, PLAIN, "alice", "secret")
    answer = another.ask(SaslHandshakeRequest(mechanism=SCRAM_SHA_256))
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_a_user_that_is_new_or_gone(world: World) -> None:
    salt = b"another salt of some length"
    secret = salted(SCRAM_SHA_512, "fresh", salt, 4096)
    world.turn(
        lambda: world.node.submit([credential_record("dave", SCRAM_SHA_512, salt, secret, 4096)], lambda c: None)
    )
    world.settle()
    log_in(connect(world), SCRAM_SHA_512, "dave", "fresh")
