"""Whatever somebody says, a machine refuses it in its own words, and nobody is let in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.base.mechanisms import SCRAM_SHA_256, SCRAM_SHA_512
from penstock.core.sasl.jwt import Verified
from penstock.core.sasl.mechanisms import AuthenticationFailed, MechanismServer
from penstock.core.sasl.oauthbearer import OAuthBearerServer
from penstock.core.sasl.plain import PlainServer
from penstock.core.sasl.scram import Credential, Known, ScramClient, ScramServer
from tests.examples import examples


def nobody(token: str) -> Verified:
    raise AuthenticationFailed("a token that is not good")


KEPT = Credential(b"salt" * 5, bytes(32), bytes(32), 4096)
NEARLY = st.lists(
    st.sampled_from(
        [
            "n,,",
            "y,,",
            "p=x,,",
            "n=alice",
            "r=abc",
            "r=abcserver",
            "c=biws",
            "p=AAAA",
            "a=x",
            "m=x",
            ",",
            "=2C",
            "s=QUFB",
            "i=4096",
            "\1auth=Bearer x",
            "\1",
        ]
    ),
    max_size=6,
).map(lambda parts: ",".join(parts).encode())
TOKENS = st.one_of(st.binary(max_size=64), NEARLY, st.text(max_size=20).map(str.encode))


@given(tokens=st.lists(TOKENS, max_size=4))
@examples(500)
def test_servers(tokens: list[bytes]) -> None:
    servers: list[MechanismServer] = [
        PlainServer({"alice": "secret"}),
        OAuthBearerServer(nobody),
        *(
            ScramServer(mechanism, "server", lambda user, by_token: Known(KEPT, user), b"s")
            for mechanism in (SCRAM_SHA_256, SCRAM_SHA_512)
        ),
    ]
    for server in servers:
        try:
            for token in tokens:
                server.respond(token)
        except AuthenticationFailed:
            pass
        assert server.user is None


@given(tokens=st.lists(TOKENS, max_size=4))
@examples(200)
def test_clients(tokens: list[bytes]) -> None:
    client = ScramClient(SCRAM_SHA_256, "alice", "secret", "abc")
    client.respond(b"")
    try:
        for token in tokens:
            client.respond(token)
    except AuthenticationFailed:
        pass
    assert not client.is_complete
