"""A table of tokens: each is taken, or refused for a reason that the log says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.sasl.jwt import Expected, Verified, read_token, verified
from penstock.core.sasl.mechanisms import AuthenticationFailed
from penstock.oauth.errors import OAuthError
from penstock.oauth.key_set import KEYS_MAX, KeySet, read_key_set
from tests.examples import examples
from tests.oauth.minting import CLAIMS, NOW_S, confused, jwk, jwks, mint, packed, unsigned

EXPECTED = Expected(("kafka", "other"), "https://idp", 30)
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")


@pytest.fixture(scope="module")
def keys() -> KeySet:
    return read_key_set(jwks(jwk("RS256"), jwk("ES256", "two"), jwk("RS256", "three")), "here")


def checked(keys: KeySet, token: str, expected: Expected = EXPECTED, now_s: float = NOW_S + 1) -> Verified | str:
    try:
        found = read_token(token)
        why = keys.refusal(found.signature)
        return why if why is not None else verified(found.claims, expected, int(now_s * 1000))
    except AuthenticationFailed as failure:
        return str(failure)


def said(**changes: Any) -> dict[str, Any]:
    return {**CLAIMS, **changes}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_whoever_signs_with_a_private_key_is_believed(algorithm: str) -> None:
    keys = read_key_set(jwks(jwk(algorithm)), "here")
    assert checked(keys, mint(algorithm=algorithm)) == Verified("alice", (NOW_S + 600) * 1000)
    assert checked(keys, mint(said(sub="admin"), algorithm, "another", kid="one")) == "its signature is wrong"


TAKEN = {
    "as it should be": (said(), {}),
    "for several": (said(aud=["x", "other"]), {}),
    "without the name of a key": (said(), {"kid": None}),
    "just expired, within the skew": (said(iat=NOW_S - 600, exp=NOW_S - 28), {}),
    "not quite begun, within the skew": (said(nbf=NOW_S + 30), {}),
    "with fractions": (said(exp=NOW_S + 0.5), {}),
    "with scopes": (said(scope=["read", "write"]), {}),
    "with a scope": (said(scope="read write"), {}),
    "with an unknown header": (said(), {"typ": "at+jwt", "x5t": "abc"}),
}
REFUSED = {
    "expired": (said(iat=NOW_S - 600, exp=NOW_S - 29), {}, "has expired 30 s ago"),
    "that ends before it was issued": (said(exp=NOW_S - 1), {}, "ends before it begins"),
    "that ends before it is good": (said(nbf=NOW_S + 601), {}, "ends before it begins"),
    "without an end": (said(exp=None), {}, "issued"),
    "without a beginning": (said(iat=None), {}, "issued"),
    "that ends when it likes": (said(exp="tomorrow"), {}, "exp is no time"),
    "that ends truly": (said(exp=True), {}, "exp is no time"),
    "that ends before it began": (said(exp=-1), {}, "exp is no time"),
    "that never ends": (said(exp=1e300), {}, "exp is no time"),
    "not yet valid": (said(nbf=NOW_S + 40), {}, "not good before"),
    "for somebody else": (said(aud="billing"), {}, "it is for 'billing'"),
    "for nobody": (said(aud=None), {}, "it is for None"),
    "for a thing": (said(aud={"kafka": 1}), {}, "audience is no text"),
    "by somebody else": (said(iss="https://evil"), {}, "issued by"),
    "by nobody": (said(iss=None), {}, "issued by None"),
    "about nobody": (said(sub=None), {}, "names nobody"),
    "about a blank": (said(sub="  "), {}, "names nobody"),
    "about a number": (said(sub=7), {}, "names nobody"),
    "with the same scope twice": (said(scope=["a", "a"]), {}, "scope cannot be read"),
    "with an unknown key": (said(), {"kid": "four"}, "'four', which is not known"),
    "with another's key": (said(), {"kid": "three"}, "signature is wrong"),
    "with a key of another kind": (said(), {"kid": "two"}, "does not sign with RS256"),
    "with another algorithm than its key's": (said(), {"alg": "PS256"}, "does not sign with PS256"),
    "with an algorithm of another size": (said(), {"alg": "RS512"}, "does not sign with RS512"),
    "with extensions": (said(), {"crit": ["b64"], "b64": False}, "extensions"),
    "with a key that has no name": (said(), {"kid": 5}, "is no text"),
}


@pytest.mark.parametrize("case", TAKEN)
def test_a_token_that_is_taken(keys: KeySet, case: str) -> None:
    claims, header = TAKEN[case]
    found = checked(keys, mint(claims, **header))
    assert isinstance(found, Verified), found
    assert found.user == "alice"


@pytest.mark.parametrize("case", REFUSED)
def test_a_token_that_is_refused(keys: KeySet, case: str) -> None:
    claims, header, why = REFUSED[case]
    found = checked(keys, mint(claims, **header))
    assert isinstance(found, str), found
    assert why in found


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "HS256", "", None, 5, ["RS256"], "RS256 "])
def test_nothing_but_private_keys_sign(keys: KeySet, algorithm: object) -> None:
    token = f"{unsigned(alg=algorithm, kid='one')}.{packed(b'x')}"
    assert "which is not taken" in str(checked(keys, token))


def test_a_public_key_is_no_shared_secret(keys: KeySet) -> None:
    assert "'HS256', which is not taken" in str(checked(keys, confused()))
    secret = {"kty": "oct", "k": packed(b"secret"), "kid": "s", "alg": "HS256"}
    assert len(read_key_set(jwks(jwk("RS256"), secret), "here")) == 1


@pytest.mark.parametrize("token", ["", ".", "..", "a.b.c", "a.b", "é.b.c", mint() + "=", mint() + ".x", " " + mint()])
def test_garbage(keys: KeySet, token: str) -> None:
    assert "not good" in str(checked(keys, token))


@pytest.mark.parametrize(
    "text", ["[]", "5", '"x"', "{", '{"alg":"RS256","alg":"none"}', '{"a":NaN}', "[" * 9000, '{"a":' + "9" * 9999 + "}"]
)
def test_headers_that_are_none(keys: KeySet, text: str) -> None:
    _, body, signature = mint().split(".")
    assert "its header is" in str(checked(keys, f"{packed(text.encode())}.{body}.{signature}"))
    head, _, _ = mint().split(".")
    assert isinstance(checked(keys, f"{head}.{packed(text.encode())}.{signature}"), str)


def test_a_changed_token_is_refused_wherever_it_is_changed(keys: KeySet) -> None:
    token = mint()
    for position in range(0, len(token), 7):
        changed = token[:position] + ("A" if token[position] != "A" else "B") + token[position + 1 :]
        assert isinstance(checked(keys, changed), str)


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyzABC0123456789-_.= \x01", max_size=60))
@examples(500)
def test_nobody_guesses_one(keys: KeySet, token: str) -> None:
    assert isinstance(checked(keys, token), str)


def test_other_claims_name_the_user_and_the_scope(keys: KeySet) -> None:
    expected = EXPECTED._replace(sub_claim="email", scope_claim="scp", audiences=(), issuer=None)
    found = checked(keys, mint(said(email=" bob ", scp=["x"], aud=None)), expected)
    assert isinstance(found, Verified)
    assert found.user == "bob"
    assert "it is for 'kafka', and not for us" in str(checked(keys, mint(said(email="bob")), expected))


@pytest.mark.parametrize(
    ("changes", "usable"),
    [
        ({}, True),
        ({"alg": None}, True),
        ({"use": None, "kid": None}, True),
        ({"key_ops": ["verify"]}, True),
        ({"key_ops": ["encrypt"]}, False),
        ({"use": "enc"}, False),
        ({"alg": "RSA-OAEP"}, False),
        ({"alg": "ES256"}, False),
        ({"kty": "EC"}, False),
        ({"n": "AQAB"}, False),
        ({"n": 5}, False),
        ({"e": None}, False),
    ],
)
def test_what_a_key_may_be_used_for(changes: dict[str, Any], usable: bool) -> None:
    document = jwks(jwk("RS256", "one", **changes), jwk("ES256", "two"))
    found = read_key_set(document, "here")
    assert len(found) == 1 + usable
    assert isinstance(checked(found, mint(kid=None)), Verified) == usable


def test_small_keys_are_not_trusted() -> None:
    assert len(read_key_set(jwks(jwk("RS256", "small", 1024), jwk("ES256")), "here")) == 1


NO_KEYS = [
    b"",
    b"{}",
    b"[]",
    b'{"keys": 5}',
    b'{"keys": []}',
    b'{"keys": [5, {}]}',
    b"\xff",
    b'{"keys":' + b"[" * 99_999,
]


@pytest.mark.parametrize(
    "document", [*NO_KEYS, jwks(*([{"kty": "oct"}] * (KEYS_MAX + 1)))], ids=range(len(NO_KEYS) + 1)
)
def test_documents_that_hold_no_keys(document: bytes) -> None:
    with pytest.raises(OAuthError, match="here holds no"):
        read_key_set(document, "here")
