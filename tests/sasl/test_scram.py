"""SCRAM against the example of RFC 7677, against ourselves, and against whoever bends it."""

from __future__ import annotations

from base64 import b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.base.mechanisms import SCRAM_SHA_256, SCRAM_SHA_512
from penstock.core.sasl.mechanisms import AuthenticationFailed
from penstock.core.sasl.scram import Credential, Known, ScramClient, ScramServer, credential, salted

SECRET = b"of this process"
SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CLIENT_NONCE, SERVER_NONCE = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"


def known(mechanism: str, password: str, iterations: int = 4096) -> Credential:
    return credential(mechanism, salted(mechanism, password, SALT, iterations), SALT, iterations)


def server(mechanism: str = SCRAM_SHA_256, **passwords: str) -> ScramServer:
    def find(user: str, by_token: bool) -> Known | None:
        name = f"token_{user}" if by_token else user
        return (
            Known(known(mechanism, passwords[name]), f"owner of {name}" if by_token else name)
            if name in passwords
            else None
        )

    return ScramServer(mechanism, SERVER_NONCE, find, SECRET)


def converse(one: ScramClient, other: ScramServer) -> None:
    token = b""
    while not one.is_complete:
        token = one.respond(token)
        if token:
            token = other.respond(token)


def test_the_example_of_the_rfc() -> None:
    one, other = ScramClient(SCRAM_SHA_256, "user", "pencil", CLIENT_NONCE), server(user="pencil")
    assert one.respond(b"") == f"n,,n=user,r={CLIENT_NONCE}".encode()
    challenge = other.respond(f"n,,n=user,r={CLIENT_NONCE}".encode())
    assert challenge == f"r={CLIENT_NONCE}{SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
    proof = one.respond(challenge)
    assert proof.endswith(b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    assert other.user is None
    verifier = other.respond(proof)
    assert verifier == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert other.user == "user"
    assert not one.is_complete
    assert one.respond(verifier) == b""
    assert one.is_complete


@pytest.mark.parametrize("mechanism", [SCRAM_SHA_256, SCRAM_SHA_512])
@given(name=st.text(min_size=1, max_size=8), password=st.text(min_size=1, max_size=8), other=st.text(max_size=8))
def test_any_name_and_password_and_no_other(mechanism: str, name: str, password: str, other: str) -> None:
    there = server(mechanism, **{name: password})
    converse(ScramClient(mechanism, name, password, CLIENT_NONCE), there)
    assert there.user == name
    if other != password:
        there = server(mechanism, **{name: password})
        with pytest.raises(AuthenticationFailed, match="wrong name or password"):
            converse(ScramClient(mechanism, name, other, CLIENT_NONCE), there)
        assert there.user is None


def test_who_does_not_exist_is_challenged_like_anybody() -> None:
    """Else asking would tell who does; and twice the same, or it would tell too."""
    one, other = (server(user="pencil").respond(b"n,,n=nobody,r=abc") for _ in range(2))
    assert one == other
    assert one.startswith(f"r=abc{SERVER_NONCE},s=".encode())
    assert one.endswith(b",i=4096")
    there = server(user="pencil")
    with pytest.raises(AuthenticationFailed, match="wrong name or password"):
        converse(ScramClient(SCRAM_SHA_256, "nobody", "pencil", CLIENT_NONCE), there)
    assert there.user is None


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b"\xff",
        b"p=tls-unique,,n=user,r=abc",
        b"n,a=admin,n=user,r=abc",
        b"n,,n=user",
        b"n,,n=,r=abc",
        b"n,,n=us=er,r=abc",
        b"n,,r=abc,n=user",
    ],
)
def test_a_first_message_that_is_none(token: bytes) -> None:
    with pytest.raises(AuthenticationFailed):
        server(user="pencil").respond(token)


def test_an_answer_cannot_be_used_for_another_challenge() -> None:
    one = ScramClient(SCRAM_SHA_256, "user", "pencil", CLIENT_NONCE)
    proof = one.respond(server(user="pencil").respond(one.respond(b"")))
    later = ScramServer(
        SCRAM_SHA_256, "another", lambda user, by_token: Known(known(SCRAM_SHA_256, "pencil"), user), SECRET
    )
    later.respond(f"n,,n=user,r={CLIENT_NONCE}".encode())
    with pytest.raises(AuthenticationFailed, match="another challenge"):
        later.respond(proof)


@pytest.mark.parametrize(
    "change", [lambda p: p[:-4] + b"AAAA", lambda p: p + b",x=1", lambda p: p.replace(b"biws", b"eSws")]
)
def test_a_last_message_that_was_changed(change: object) -> None:
    one, other = ScramClient(SCRAM_SHA_256, "user", "pencil", CLIENT_NONCE), server(user="pencil")
    proof = one.respond(other.respond(one.respond(b"")))
    with pytest.raises(AuthenticationFailed):
        other.respond(change(proof))  # type: ignore[operator]
    assert other.user is None


@pytest.mark.parametrize(
    "challenge",
    [
        f"r={CLIENT_NONCE},s=QUFB,i=4096",
        "r=somebodyelse,s=QUFB,i=4096",
        f"r={CLIENT_NONCE}x,s=QUFB,i=1",
        f"r={CLIENT_NONCE}x,s=QUFB,i=99999999",
        f"r={CLIENT_NONCE}x,s=?,i=4096",
        f"r={CLIENT_NONCE}x",
    ],
)
def test_a_client_does_not_trust_any_server(challenge: str) -> None:
    one = ScramClient(SCRAM_SHA_256, "user", "pencil", CLIENT_NONCE)
    one.respond(b"")
    with pytest.raises(AuthenticationFailed):
        one.respond(challenge.encode())


def test_a_server_that_does_not_know_the_password_is_found_out() -> None:
    one, other = ScramClient(SCRAM_SHA_256, "user", "pencil", CLIENT_NONCE), server(user="pencil")
    one.respond(other.respond(one.respond(b"")))
    with pytest.raises(AuthenticationFailed, match="does not know the password"):
        one.respond(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4A")
    assert not one.is_complete


def test_a_token_is_shown_in_the_place_of_a_user() -> None:
    one = ScramClient(SCRAM_SHA_256, "id", "proof", CLIENT_NONCE, by_token=True)
    other = server(token_id="proof", id="password of a user of that name")
    converse(one, other)
    assert (other.user, other.is_by_token) == ("owner of token_id", True)
    another = server(token_id="proof")
    with pytest.raises(AuthenticationFailed):
        converse(ScramClient(SCRAM_SHA_256, "id", "proof", CLIENT_NONCE), another)
    assert another.user is None


@pytest.mark.parametrize(
    ("extensions", "is_by_token"), [(",x=1", False), (",tokenauth=false", False), (",tokenauth=TRUE,x=1", True)]
)
def test_extensions_that_are_not_known_are_passed_over(extensions: str, is_by_token: bool) -> None:
    found = server(user="pencil")
    found.respond(f"n,,n=user,r=abc{extensions}".encode())
    assert found.is_by_token == is_by_token


@pytest.mark.parametrize("extension", [",m=x", ",", ",=x"])
def test_extensions_that_must_be_known_are_refused(extension: str) -> None:
    with pytest.raises(AuthenticationFailed, match="extension"):
        server(user="pencil").respond(f"n,,n=user,r=abc{extension}".encode())
