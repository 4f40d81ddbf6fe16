"""Signed tokens (RFC 7515, RFC 7519): what one says, whether its signature is right, and whether it is meant for us.

Who checks a signature is given: keys come and go outside, and this is a function of what they are now. Only what signs
with a private key is taken. A token that says `none`, or that wants a public key used as a shared secret, finds no key.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from string import ascii_letters, digits
from typing import Any, Final, NamedTuple, NoReturn

from penstock.core.base.ports import Signature
from penstock.core.sasl.mechanisms import AuthenticationFailed

ALGORITHMS: Final = frozenset(
    {*("RS256", "RS384", "RS512"), *("PS256", "PS384", "PS512"), *("ES256", "ES384", "ES512"), "EdDSA"}
)
"""With which a token may be signed."""
SHOWN_MAX: Final = 80
"""Characters of a token's own words in the log."""
_BASE64: Final = frozenset(ascii_letters + digits + "-_")


class Expected(NamedTuple):
    """What a token must say of itself."""

    audiences: Sequence[str]
    issuer: str | None
    skew_s: int
    scope_claim: str = "scope"
    sub_claim: str = "sub"


class Verified(NamedTuple):
    """Whom a token is about, and how long it is good."""

    user: str
    expires_ms: int


class Token(NamedTuple):
    """One that has been read, and not been checked yet."""

    claims: Mapping[str, Any]
    signature: Signature


def read_token(text: str) -> Token:
    """The three parts of a token."""
    parts = text.split(".")
    if len(parts) != 3 or not all(parts):
        _refuse("it does not have three parts: a header, what it says, and a signature")
    header, claims, signature = map(_unpacked, parts)
    head = _object(header, "header")
    algorithm, key_id = head.get("alg"), head.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        _refuse(f"it is signed with {_shown(algorithm)}, which is not taken")
    if key_id is not None and not isinstance(key_id, str):
        _refuse("the name of its key is no text")
    if "crit" in head:
        _refuse("it asks for extensions that nobody here knows")
    signed = f"{parts[0]}.{parts[1]}".encode()
    return Token(_object(claims, "text"), Signature(algorithm, key_id, signed, signature))


def verified(claims: Mapping[str, Any], expected: Expected, now_ms: int) -> Verified:
    """Whom the token of these claims is about, if it is good now and meant for us."""
    expires_ms = _within_its_time(claims, expected.skew_s * 1000, now_ms)
    _check_audience(claims, expected.audiences)
    if expected.issuer is not None and claims.get("iss") != expected.issuer:
        _refuse(f"it was issued by {_shown(claims.get('iss'))}")
    _check_scope(claims.get(expected.scope_claim), expected.scope_claim)
    user = claims.get(expected.sub_claim)
    if not isinstance(user, str) or not user.strip():
        _refuse(f"its claim {expected.sub_claim} names nobody")
    return Verified(user.strip(), expires_ms)


def _within_its_time(claims: Mapping[str, Any], skew_ms: int, now_ms: int) -> int:
    expires_ms, issued_ms = _time_ms(claims, "exp"), _time_ms(claims, "iat")
    begins_ms = _time_ms(claims, "nbf")
    if expires_ms is None or issued_ms is None:
        _refuse("it does not say when it was issued (iat) and when it ends (exp)")
    if expires_ms < max(issued_ms, begins_ms or 0):
        _refuse("it ends before it begins")
    if now_ms - skew_ms >= expires_ms:
        _refuse(f"it has expired {(now_ms - expires_ms) // 1000} s ago")
    if begins_ms is not None and now_ms + skew_ms < begins_ms:
        _refuse(f"it is not good before {(begins_ms - now_ms) // 1000} s from now")
    return expires_ms


def _time_ms(claims: Mapping[str, Any], name: str) -> int | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1 << 53:
        _refuse(f"its claim {name} is no time")
    return int(value * 1000)


def _check_audience(claims: Mapping[str, Any], expected: Sequence[str]) -> None:
    said = claims.get("aud")
    audiences = [said] if isinstance(said, str) else said
    if said is not None and not (isinstance(audiences, list) and all(isinstance(each, str) for each in audiences)):
        _refuse("its audience is no text")
    if not expected and said is None:
        return
    if not any(each in expected for each in audiences or ()):
        # As in Kafka: one that names an audience is for somebody, and nobody said that it is for us.
        _refuse(f"it is for {_shown(said)}, and not for {', '.join(expected) or 'us'}")


def _check_scope(said: object, name: str) -> None:
    """Nothing here asks for a scope; one that cannot be read is refused, as in Kafka."""
    scopes = said if isinstance(said, list) else [said] if isinstance(said, str) else []
    if not all(isinstance(each, str) and each.strip() for each in scopes) or len(set(scopes)) < len(scopes):
        _refuse(f"its claim {name} cannot be read")


def _unpacked(part: str) -> bytes:
    """Python passes over what does not belong to base64, and that would make two texts of one token."""
    if not _BASE64.issuperset(part) or len(part) % 4 == 1:
        _refuse("a part of it is not base64")
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _object(data: bytes, what: str) -> Mapping[str, Any]:
    try:
        found = json.loads(data.decode(), object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError):
        _refuse(f"its {what} is not JSON")
    if not isinstance(found, dict):
        _refuse(f"its {what} is no object of JSON")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Who says a thing twice may be read in two ways."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


def _shown(said: object) -> str:
    return repr(said)[:SHOWN_MAX]


def _refuse(why: str) -> NoReturn:
    raise AuthenticationFailed(f"a token that is not good: {why}")
