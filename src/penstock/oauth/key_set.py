"""A set of public keys (JWKS, RFC 7517), and whether one of them has made a signature.

What each key may be used for follows from the key, and never from the token alone: its kind, its curve, and what is
said beside it of its algorithm and use. Shared secrets in a set are passed over, so nothing is ever checked with one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from penstock.core.base.ports import Signature
from penstock.core.sasl.jwt import SHOWN_MAX
from penstock.oauth.errors import OAuthError

KEYS_MAX: Final = 256
"""In a set."""
TRIED_MAX: Final = 8
"""For a token that does not name its key."""
RSA_BITS_MIN: Final = 2048
_RSA: Final = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
_OF_CURVES: Final = {
    "P-256": frozenset({"ES256"}),
    "P-384": frozenset({"ES384"}),
    "P-521": frozenset({"ES512"}),
    "Ed25519": frozenset({"EdDSA"}),
    "Ed448": frozenset({"EdDSA"}),
}


class Key(NamedTuple):
    """One public key; `algorithms` are those with which it may have signed."""

    key_id: str | None
    algorithms: frozenset[str]
    public: Any


class KeySet:
    """As one document has it."""

    def __init__(self, keys: list[Key]) -> None:
        self.keys = keys

    def __len__(self) -> int:
        return len(self.keys)

    def knows(self, key_id: str | None) -> bool:
        return key_id is None or any(key.key_id == key_id for key in self.keys)

    def refusal(self, signature: Signature) -> str | None:
        """Why a signature is not good, or None if it is."""
        algorithm, key_id, signed, made = signature
        named = [key for key in self.keys if key_id is None or key.key_id == key_id]
        if not named:
            return f"it is signed with the key {(key_id or '')[:SHOWN_MAX]!r}, which is not known"
        fitting = [key for key in named if algorithm in key.algorithms]
        if not fitting:
            return f"its key does not sign with {algorithm}"
        checker = _algorithm(algorithm)
        if any(checker.verify(signed, key.public, made) for key in fitting[:TRIED_MAX]):
            return None
        return "its signature is wrong"


def read_key_set(data: bytes, where: str) -> KeySet:
    """The keys of a document that can be used; what else stands there is passed over."""
    try:
        found = json.loads(data)
        listed = found["keys"]
        if not isinstance(listed, list) or len(listed) > KEYS_MAX:
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise OAuthError(f"{where} holds no set of keys: it is JSON of the form {{'keys': [...]}}") from None
    keys = [key for each in listed if isinstance(each, dict) and (key := _key(each)) is not None]
    if not keys:
        raise OAuthError(f"{where} holds no public key that can check a signature")
    return KeySet(keys)


def _key(jwk: Mapping[str, Any]) -> Key | None:
    allowed = _algorithms(jwk)
    said = jwk.get("alg")
    if said is not None:
        allowed &= {said}
    if not allowed or jwk.get("use", "sig") != "sig" or "verify" not in jwk.get("key_ops", ["verify"]):
        return None
    public = _public(jwk, next(iter(allowed)))
    key_id = jwk.get("kid")
    return None if public is None else Key(key_id if isinstance(key_id, str) else None, allowed, public)


def _algorithms(jwk: Mapping[str, Any]) -> frozenset[str]:
    kind, curve = jwk.get("kty"), jwk.get("crv")
    if kind == "RSA":
        return _RSA
    if kind in ("EC", "OKP") and isinstance(curve, str) and (kind == "OKP") == curve.startswith("Ed"):
        return _OF_CURVES.get(curve, frozenset())
    return frozenset()


def _public(jwk: Mapping[str, Any], algorithm: str) -> Any:
    """Only the public part is read, whatever else somebody has put there."""
    checker = _algorithm(algorithm)
    from jwt.exceptions import InvalidKeyError

    parts = {name: jwk[name] for name in ("kty", "n", "e", "crv", "x", "y") if name in jwk}
    try:
        public = checker.from_jwk(parts)
    except (InvalidKeyError, ValueError, TypeError, KeyError):
        return None
    return None if getattr(public, "key_size", RSA_BITS_MIN) < RSA_BITS_MIN and jwk["kty"] == "RSA" else public


def _algorithm(name: str) -> Any:
    return _checkers()[name]


@lru_cache(maxsize=1)
def _checkers() -> Mapping[str, Any]:
    try:
        from jwt.algorithms import get_default_algorithms
    except ImportError:
        raise OAuthError("signed tokens are checked by PyJWT: pip install 'penstock[security]'") from None
    return get_default_algorithms()
