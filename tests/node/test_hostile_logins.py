"""Who has not said who it is, and does not mean well: nobody is let in, nothing is kept, and the node goes on."""

from __future__ import annotations

import gc
import struct
import tracemalloc
from collections.abc import Callable
from random import Random

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.mechanisms import PLAIN, SCRAM_SHA_256
from penstock.core.node.observing.event_log import Fact
from penstock.core.node.serving.connection import UNKNOWN_MS_MAX, Connection
from penstock.core.node.serving.context import Principal
from penstock.core.peer.login import Identity, Login
from penstock.core.wire.api.api_versions import ApiVersionsRequest
from penstock.core.wire.api.metadata import MetadataRequest
from penstock.core.wire.api.sasl_authenticate import SaslAuthenticateRequest
from penstock.core.wire.api.sasl_handshake import SaslHandshakeRequest
from penstock.core.wire.frames import encode_request_header
from penstock.core.wire.schema import Request
from penstock.core.wire.varint import encode_varint
from penstock.shell.event_lines import line
from tests.examples import scaled
from tests.node.test_authentication import DELAY_MS, a_world, connect, log_in
from tests.node.world import Client, Seeded, World
from tests.robustness.malformed import HUGE_COUNTS, HUGE_VARINTS, Malformed, framed

FRAMES = 2_000
FRAMES_SOAK = 100_000
FAILURES = 200
HUGE_BYTES_MAX = 1_000_000
ALICE = b"\0alice\0secret"
BOB = b"\0bob\0other"
OBEYED = "\x1b]0;title\x07\n2023-11-14T22:13:20.250Z ERROR node-1 disk: full\u202e"


@pytest.fixture
def world() -> World:
    return a_world()


def token(text: str) -> Request:
    return SaslAuthenticateRequest(auth_bytes=text.encode())


def is_known(client: Client) -> bool:
    return client.connection.is_authenticated or client.connection.proof is not None


def record_login(world: World, mechanism: str, user: str, password: str) -> list[Request]:
    """What a good client says, as somebody on the wire would write it down."""
    client, said = connect(world), []
    login = Login(Identity(mechanism, user, password), Seeded(7))
    request: Request | None = login.begin()
    while request is not None:
        said.append(request)
        request = login.next(client.ask(request))
    assert client.connection.is_authenticated
    return said


# Replays


def test_a_conversation_that_is_said_again_lets_nobody_in(world: World) -> None:
    first, hello, proof = record_login(world, SCRAM_SHA_256, "carol", "scrambled")
    client = connect(world)
    assert client.ask(first).error_code == 0
    challenge = bytes(client.ask(hello).auth_bytes)
    client.send(proof)
    world.pass_time(DELAY_MS)
    (answer,) = client.replies()
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert client.connection.closing
    assert not is_known(client)
    again = connect(world)
    again.ask(first)
    assert bytes(again.ask(hello).auth_bytes) != challenge, "no challenge comes twice"


def test_a_proof_without_its_challenge_lets_nobody_in(world: World) -> None:
    first, _, proof = record_login(world, SCRAM_SHA_256, "carol", "scrambled")
    client = connect(world)
    client.ask(first)
    client.send(proof)
    world.pass_time(DELAY_MS)
    assert client.replies()[0].error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert not is_known(client)


def test_a_conversation_all_at_once_lets_nobody_in(world: World) -> None:
    said = record_login(world, SCRAM_SHA_256, "carol", "scrambled")
    client = connect(world)
    data = b"".join(client.frame(request) for request in said) + client.frame(MetadataRequest(), answered=False)
    world.turn(lambda: client.connection.feed(data))
    world.pass_time(DELAY_MS)
    assert [answer.error_code for answer in client.replies()] == [0, 0, ErrorCode.SASL_AUTHENTICATION_FAILED]
    assert client.connection.closing
    assert not is_known(client)


# Once it is known who asks


@pytest.mark.parametrize("token", [ALICE, BOB, b"\0alice\0guessed", b""])
def test_who_is_known_stays_who_it_is(world: World, token: bytes) -> None:
    client = connect(world)
    log_in(client, PLAIN, "alice", "secret")
    for _ in range(2):
        answer = client.ask(SaslAuthenticateRequest(auth_bytes=token))
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert answer.error_message == "SaslAuthenticate request received after successful authentication"
    for mechanism in (PLAIN, SCRAM_SHA_256, "NONE"):
        assert client.ask(SaslHandshakeRequest(mechanism=mechanism)).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert client.ask(MetadataRequest()).brokers
    assert client.connection.context.principal == Principal("User", "alice")


def test_a_second_user_behind_the_first_in_one_breath(world: World) -> None:
    client = connect(world)
    requests = [SaslHandshakeRequest(mechanism=PLAIN), *(SaslAuthenticateRequest(auth_bytes=t) for t in (ALICE, BOB))]
    data = b"".join(map(client.frame, requests))
    world.turn(lambda: client.connection.feed(data))
    assert [answer.error_code for answer in client.replies()] == [0, 0, ErrorCode.ILLEGAL_SASL_STATE]
    assert client.connection.context.principal == Principal("User", "alice")


def test_a_new_conversation_does_not_prolong_a_session() -> None:
    """Who begins to prove it again, and does not, is a stranger when its session ends."""
    world = a_world(connections_max_reauth_ms="60000")
    client = connect(world)
    log_in(client, PLAIN, "alice", "secret")
    assert client.ask(SaslHandshakeRequest(mechanism=PLAIN)).error_code == 0
    assert client.ask(MetadataRequest()).brokers
    world.pass_time(60_000)
    client.send(MetadataRequest())
    assert client.connection.closing
    assert not client.replies()


# Sizes and counts


def test_a_token_larger_than_is_read(world: World) -> None:
    bound = world.node.settings.of_listener("CLIENTS")["sasl.server.max.receive.size"]
    client = connect(world)
    client.ask(SaslHandshakeRequest(mechanism=PLAIN))
    size = client.frame(SaslAuthenticateRequest(auth_bytes=bytes(bound)), answered=False)[:4]
    world.turn(lambda: client.connection.feed(size))
    assert client.connection.closing, "its size alone is enough"
    assert client.connection.unfinished_bytes == 0


@pytest.mark.parametrize(
    ("mechanism", "lead", "filling", "end"),
    [
        (PLAIN, b"", b"\0", b""),
        (PLAIN, b"\0", b"a", b"\0x"),
        (SCRAM_SHA_256, b"n,,n=", b",", b""),
        (SCRAM_SHA_256, b"n,,n=", b"=2C", b",r=1"),
    ],
)
def test_the_largest_token_that_is_read_fills_no_log(
    world: World, mechanism: str, lead: bytes, filling: bytes, end: bytes
) -> None:
    room = world.node.settings.of_listener("CLIENTS")["sasl.server.max.receive.size"] - 100
    client = connect(world)
    client.ask(SaslHandshakeRequest(mechanism=mechanism))
    client.send(SaslAuthenticateRequest(auth_bytes=lead + filling * (room // len(filling)) + end))
    answers = client.replies()
    if answers:
        challenge = bytes(answers[0].auth_bytes).decode()
        client.send(token(f"c=biws,{challenge.split(',')[0]},p={'A' * 43}="))
    world.pass_time(DELAY_MS)
    assert client.replies()[-1].error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert client.connection.closing
    assert max(len(text) for _, text in world.notes) < 1_000


def huge(request: type[Request], version: int, lead: bytes) -> list[bytes]:
    header = encode_request_header(request.KEY, version, 1, "c")
    counts = [*(struct.pack(">i", each) for each in HUGE_COUNTS[:2]), *HUGE_VARINTS, encode_varint(2_000_000_001)]
    return [framed(header + lead + count + bytes(20)) for count in counts]


@pytest.mark.parametrize(
    ("request_", "version", "lead"),
    [
        (SaslAuthenticateRequest, 0, b""),
        (SaslAuthenticateRequest, 2, b""),
        (SaslAuthenticateRequest, 2, b"\1"),
        (ApiVersionsRequest, 3, b""),
        (ApiVersionsRequest, 4, b"\2c\2v"),
        (SaslHandshakeRequest, 1, b""),
        (MetadataRequest, 1, b""),
        (MetadataRequest, 12, b""),
    ],
)
def test_two_billion_of_anything(world: World, request_: type[Request], version: int, lead: bytes) -> None:
    tracemalloc.start()
    try:
        for frame in huge(request_, version, lead):
            client = connect(world)
            world.turn(lambda data=frame, to=client.connection: to.feed(data))
            world.run_due()
            assert client.connection.closing, frame
            client.close()
        assert tracemalloc.get_traced_memory()[1] < HUGE_BYTES_MAX
    finally:
        tracemalloc.stop()
    assert not world.node.connections


# Noise


def strangers(world: World, random: Random) -> list[Callable[[], Client]]:
    """How far somebody may have come."""

    def after(*requests: Request) -> Client:
        client = connect(world)
        for request in requests:
            client.ask(request)
        return client

    return [
        lambda: connect(world),
        lambda: after(SaslHandshakeRequest(mechanism=PLAIN)),
        lambda: after(SaslHandshakeRequest(mechanism=SCRAM_SHA_256)),
        lambda: after(
            SaslHandshakeRequest(mechanism=SCRAM_SHA_256),
            SaslAuthenticateRequest(auth_bytes=b"n,,n=carol,r=%d" % random.getrandbits(60)),
        ),
    ]


def bombard(seed: int, count: int) -> None:
    world, random = a_world(), Random(seed)
    sources = (Malformed(seed, to_strangers=True), Malformed(seed + 1))
    kinds = strangers(world, random)
    for _ in range(count):
        client, data = random.choice(kinds)(), random.choice(sources).next()
        while data and client.connection.reading and not client.connection.closing:
            size = random.choice((len(data), random.randint(1, len(data))))
            piece, data = data[:size], data[size:]
            world.turn(lambda data=piece, to=client.connection: to.feed(data))
        if random.random() < 0.1:
            world.pass_time(DELAY_MS)
        assert not is_known(client)
        client.close()
        world.clients.clear()
    world.pass_time(UNKNOWN_MS_MAX)
    assert not world.node.connections
    assert world.node.frame_memory.bytes == 0
    assert not [text for level, text in world.notes if level == "error"]
    log_in(connect(world), PLAIN, "alice", "secret")


def test_frames_of_strangers() -> None:
    bombard(seed=1, count=scaled(FRAMES))


@pytest.mark.soak
def test_very_many_frames_of_strangers() -> None:
    bombard(seed=2, count=FRAMES_SOAK)


# What stays


def test_nothing_is_kept_of_who_has_gone() -> None:
    world = a_world(connections_max_reauth_ms="3600000")

    def kept() -> int:
        gc.collect()
        return sum(type(each) is Connection for each in gc.get_objects())

    before = kept()
    for number in range(FAILURES):
        silent, known, failed = connect(world), connect(world), connect(world)
        log_in(known, PLAIN, "alice", "secret")
        failed.ask(SaslHandshakeRequest(mechanism=PLAIN))
        failed.send(SaslAuthenticateRequest(auth_bytes=b"\0nobody-%d\0guessed" % number))
        world.pass_time(DELAY_MS)
        assert failed.connection.closing
        for client in (silent, known, failed):
            client.close()
        world.clients.clear()
    del silent, known, failed, client
    assert kept() - before < 5


STRANGE = OBEYED.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("requests", "is_quoted"),
    [
        ([SaslHandshakeRequest(mechanism=STRANGE)], True),
        ([SaslHandshakeRequest(mechanism=PLAIN), token(f"\0{STRANGE}\0x")], True),
        ([SaslHandshakeRequest(mechanism=PLAIN), token(f"{STRANGE}\0alice\0secret")], True),
        ([SaslHandshakeRequest(mechanism=SCRAM_SHA_256), token(f"n,,n={STRANGE},r=1"), token("c=biws,r=1,p=")], False),
        ([ApiVersionsRequest(client_software_name=STRANGE, client_software_version=STRANGE)], False),
        ([MetadataRequest()], False),
    ],
)
def test_no_name_of_a_stranger_is_obeyed_or_begins_a_line(
    world: World, requests: list[Request], is_quoted: bool
) -> None:
    client = connect(world)
    client.connection.context_of(STRANGE)
    for request in requests:
        client.send(request)
        world.pass_time(DELAY_MS)
    said = [line(Fact(level, "network", text), 1, 0.0) for level, text in world.notes]
    assert all(each.isprintable() for each in said)
    assert any("x1b]0;title" in each for each in said) is is_quoted
