"""Whoever makes tokens, and whoever forges them."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64encode
from functools import cache
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import get_default_algorithms

NOW_S: Final = 1_800_000_000
CLAIMS: Final[dict[str, Any]] = {"sub": "alice", "iss": "https://idp", "aud": "kafka", "iat": NOW_S, "exp": NOW_S + 600}
CURVES: Final = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}


def packed(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def private_key(algorithm: str, name: str = "one", bits: int = 2048) -> Any:
    """The same one for the same name."""
    return _made(algorithm, name, bits)


@cache
def _made(algorithm: str, name: str, bits: int) -> Any:
    if algorithm in CURVES:
        return ec.generate_private_key(CURVES[algorithm]())
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(65537, bits)


def jwk(algorithm: str, name: str = "one", bits: int = 2048, **changes: Any) -> dict[str, Any]:
    """The public half, as a set lists it."""
    kind = "RS256" if algorithm[:2] in ("RS", "PS") else algorithm
    public = private_key(kind, name, bits).public_key()
    found = json.loads(get_default_algorithms()[kind].to_jwk(public))
    whole = {**found, "kid": name, "alg": algorithm, "use": "sig", **changes}
    return {key: value for key, value in whole.items() if value is not None}


def jwks(*keys: dict[str, Any]) -> bytes:
    return json.dumps({"keys": list(keys)}).encode()


def mint(claims: dict[str, Any] | None = None, algorithm: str = "RS256", name: str = "one", **header: Any) -> str:
    """A token as its maker makes it; None takes something away from its header."""
    kind = "RS256" if algorithm[:2] in ("RS", "PS") else algorithm
    signed = unsigned(claims, **{"alg": algorithm, "kid": name, **header})
    signature = get_default_algorithms()[algorithm].sign(signed.encode(), private_key(kind, name))
    return f"{signed}.{packed(signature)}"


def unsigned(claims: dict[str, Any] | None = None, **header: Any) -> str:
    head = {key: value for key, value in header.items() if value is not None}
    body = {key: value for key, value in (CLAIMS if claims is None else claims).items() if value is not None}
    return f"{packed(json.dumps(head).encode())}.{packed(json.dumps(body).encode())}"


def confused(name: str = "one") -> str:
    """Signed with the text of a public key as if that were a shared secret."""
    public = private_key("RS256", name).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    signed = unsigned(alg="HS256", kid=name)
    return f"{signed}.{packed(hmac.digest(public, signed.encode(), 'sha256'))}"
