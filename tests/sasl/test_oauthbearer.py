"""OAUTHBEARER step by step: who shows a good token is in, and who does not hears it in Kafka's way."""

from __future__ import annotations

import pytest

from penstock.core.sasl.jwt import Verified
from penstock.core.sasl.mechanisms import AuthenticationFailed
from penstock.core.sasl.oauthbearer import GIVES_UP, INVALID, OAuthBearerClient, OAuthBearerServer


def check(token: str) -> Verified:
    if token == "good":
        return Verified("alice,=", 5_000)
    raise AuthenticationFailed("a token that is not good: it is bad")


def server() -> OAuthBearerServer:
    return OAuthBearerServer(check)


@pytest.mark.parametrize(
    "message",
    [
        "n,,\1auth=Bearer good\1\1",
        "n,,\1auth=bearer   good\1\1",
        "n,a=alice=2C=3D,\1auth=BEARER good\1\1",
        "n,,\1traceId=1 2\3\1auth=Bearer good\1\1".replace("\3", ""),
        "n,,\1auth=Bearer good\1host=a.b\1port=1\1\1",
    ],
)
def test_a_good_token(message: str) -> None:
    found = server()
    assert found.respond(message.encode()) == b""
    assert (found.user, found.expires_ms) == ("alice,=", 5_000)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "n,,",
        "n,,\1\1",
        "n,,\1auth=good\1\1",
        "n,,\1auth=Basic good\1\1",
        "n,,\1auth=Bearer go od\1\1",
        "n,,\1auth=Bearer good\1",
        "y,,\1auth=Bearer good\1\1",
        "n,a=,\1auth=Bearer good\1\1",
        "n,,\1auth=Bearer good\1x=\1\1",
        "n,,\1auth=Bearer good\1\1\1",
        "\1",
    ],
)
def test_what_cannot_be_read_fails_at_once(message: str) -> None:
    found = server()
    with pytest.raises(AuthenticationFailed) as failure:
        found.respond(message.encode())
    assert failure.value.told is None
    assert found.user is None


def test_a_bad_token_is_told_in_two_steps() -> None:
    found = server()
    assert found.respond(b"n,,\1auth=Bearer bad\1\1") == INVALID.encode()
    with pytest.raises(AuthenticationFailed, match="it is bad") as failure:
        found.respond(GIVES_UP)
    assert failure.value.told == INVALID
    assert found.user is None


def test_nobody_acts_for_another() -> None:
    with pytest.raises(AuthenticationFailed) as failure:
        server().respond(b"n,a=root,\1auth=Bearer good\1\1")
    assert "authorization id (root) that is different" in str(failure.value.told)


def test_a_client() -> None:
    ours, theirs = OAuthBearerClient("good"), server()
    answer = theirs.respond(ours.respond(b""))
    assert not ours.is_complete
    assert ours.respond(answer) == b""
    assert ours.is_complete
    assert theirs.user == "alice,="


def test_a_client_that_is_refused_gives_up() -> None:
    ours, theirs = OAuthBearerClient("bad"), server()
    assert ours.respond(theirs.respond(ours.respond(b""))) == GIVES_UP
    assert not ours.is_complete
