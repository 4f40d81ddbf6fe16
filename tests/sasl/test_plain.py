"""PLAIN: a name and its password, nobody else's, and nobody acts for others."""

import pytest

from penstock.core.sasl.mechanisms import AuthenticationFailed
from penstock.core.sasl.plain import PlainClient, PlainServer

PASSWORDS = {"alice": "secret", "böb": "pässword", "empty": ""}


@pytest.mark.parametrize("name", PASSWORDS)
def test_who_knows_the_password(name: str) -> None:
    server, client = PlainServer(PASSWORDS), PlainClient(name, PASSWORDS[name])
    assert server.respond(client.respond(b"")) == b""
    assert server.user == name
    assert client.is_complete


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b"alice\0secret",
        b"\0alice\0wrong",
        b"\0alice\0",
        b"\0nobody\0secret",
        b"\0nobody\0\0",
        b"\0\0secret",
        b"admin\0alice\0secret",
        b"\0alice\0secret\0",
        b"\xff\0alice\0secret",
    ],
)
def test_who_does_not(token: bytes) -> None:
    server = PlainServer(PASSWORDS)
    with pytest.raises(AuthenticationFailed) as failure:
        server.respond(token)
    assert server.user is None
    assert "secret" not in str(failure.value)
