"""SCRAM (RFC 5802, RFC 7677): both sides prove that they know a password that neither sends.

The server keeps two keys that were made of the salted password; who steals them cannot log in with them. As in Kafka,
names and passwords are taken as UTF-8 as they are, and nothing binds to the channel.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Final, NamedTuple

from penstock.core.base.mechanisms import SCRAM_SHA_256, SCRAM_SHA_512
from penstock.core.sasl.mechanisms import AuthenticationFailed, decoded

ITERATIONS_MIN: Final = 4096
ITERATIONS_MAX: Final = 16_384
"""What Kafka allows; a client counts as far, so that no server can keep it busy for long."""
NOBODYS_SALT_BYTES: Final = 20
SHOWN_MAX: Final = 80
"""Characters of a name in the log."""
BY_TOKEN: Final = "tokenauth"
"""The extension that says that the name is that of a token."""
_HASHES: Final = {SCRAM_SHA_256: "sha256", SCRAM_SHA_512: "sha512"}
_GS2_HEADERS: Final = ("n,,", "y,,")


class Credential(NamedTuple):
    """What a server keeps of a password."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class Known(NamedTuple):
    """Who proves to know the password of a credential, and until when that is worth something. Behind a name may stand
    a token: then it is the token's owner."""

    credential: Credential
    user: str
    expires_ms: int | None = None


def salted(mechanism: str, password: str, salt: bytes, iterations: int) -> bytes:
    """The slow part: milliseconds, by intent."""
    return hashlib.pbkdf2_hmac(_HASHES[mechanism], password.encode(), salt, iterations)


def credential(mechanism: str, salted_password: bytes, salt: bytes, iterations: int) -> Credential:
    stored_key = _hash(mechanism, _mac(mechanism, salted_password, b"Client Key"))
    return Credential(salt, stored_key, _mac(mechanism, salted_password, b"Server Key"), iterations)


def made_up(mechanism: str, user: str, secret: bytes) -> Credential:
    """A credential for somebody who is not there, always the same one, so that asking does not tell who is."""
    salt = _mac(mechanism, secret, user.encode())
    return Credential(salt[:NOBODYS_SALT_BYTES], salt, salt, ITERATIONS_MIN)


class ScramServer:
    """Looks up the credential of whoever begins, challenges, and checks the proof."""

    def __init__(self, mechanism: str, nonce: str, find: Callable[[str, bool], Known | None], secret: bytes) -> None:
        """`find` is asked for the name of a user, or of a token. `secret` is nobody's but this process's, and makes up
        what is said to those who do not exist."""
        self._mechanism = mechanism
        self._nonce = nonce
        self._find = find
        self._secret = secret
        self._name = ""
        self._messages = ""
        self._binding = ""
        self._known: Known | None = None
        self._credential: Credential | None = None
        self.user: str | None = None
        self.expires_ms: int | None = None
        self.is_by_token = False

    def respond(self, token: bytes) -> bytes:
        text = decoded(token)
        return self._challenge(text) if self._credential is None else self._check(text, self._credential)

    def _challenge(self, first: str) -> bytes:
        header, bare = first[:3], first[3:]
        fields = bare.split(",")
        if header not in _GS2_HEADERS or len(fields) < 2:
            raise AuthenticationFailed("a first message that cannot be read, or asks for channel binding")
        self._name = _unescaped(_value(fields[0], "n"))
        self._nonce = _value(fields[1], "r") + self._nonce
        self.is_by_token = _asks_for_token(fields[2:])
        found = self._known = self._find(self._name, self.is_by_token)
        known = found.credential if found is not None else made_up(self._mechanism, self._name, self._secret)
        self._credential = known
        challenge = f"r={self._nonce},s={_text(known.salt)},i={known.iterations}"
        self._binding = _text(header.encode())
        self._messages = f"{bare},{challenge}"
        return challenge.encode()

    def _check(self, final: str, known: Credential) -> bytes:
        fields = final.split(",")
        if len(fields) != 3 or self.user is not None:
            raise AuthenticationFailed("a last message that cannot be read")
        binding, nonce, proof = (_value(field, name) for field, name in zip(fields, "crp", strict=True))
        if binding != self._binding or not hmac.compare_digest(nonce.encode(), self._nonce.encode()):
            raise AuthenticationFailed("an answer to another challenge")
        messages = f"{self._messages},c={binding},r={nonce}".encode()
        client_key = _xor(_bytes(proof), _mac(self._mechanism, known.stored_key, messages))
        is_right = hmac.compare_digest(_hash(self._mechanism, client_key), known.stored_key)
        if not is_right or self._known is None:
            raise AuthenticationFailed(f"wrong name or password for {self._name[:SHOWN_MAX]!r}")
        self.user, self.expires_ms = self._known.user, self._known.expires_ms
        return f"v={_text(_mac(self._mechanism, known.server_key, messages))}".encode()


class ScramClient:
    """Begins, answers the challenge, and checks that the server knows its credential."""

    def __init__(self, mechanism: str, user: str, password: str, nonce: str, *, by_token: bool = False) -> None:
        self._mechanism = mechanism
        self._password = password
        self._nonce = nonce
        self._bare = f"n={_escaped(user)},r={nonce}" + (f",{BY_TOKEN}=true" if by_token else "")
        self._signature: bytes | None = None
        self._has_begun = False
        self.is_complete = False

    def respond(self, token: bytes) -> bytes:
        if not self._has_begun:
            self._has_begun = True
            return f"n,,{self._bare}".encode()
        text = decoded(token)
        if self._signature is None:
            return self._prove(text)
        if not hmac.compare_digest(_bytes(_value(text, "v")), self._signature):
            raise AuthenticationFailed("the server does not know the password")
        self.is_complete = True
        return b""

    def _prove(self, challenge: str) -> bytes:
        fields = challenge.split(",")
        if len(fields) < 3:
            raise AuthenticationFailed("a challenge that cannot be read")
        nonce, salt, count = (_value(field, name) for field, name in zip(fields, "rsi", strict=False))
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise AuthenticationFailed("a challenge for somebody else")
        if not (count.isdecimal() and ITERATIONS_MIN <= int(count) <= ITERATIONS_MAX):
            raise AuthenticationFailed(f"{count} iterations, where {ITERATIONS_MIN} to {ITERATIONS_MAX} may be")
        mechanism = self._mechanism
        secret = salted(mechanism, self._password, _bytes(salt), int(count))
        final = f"c={_text(_GS2_HEADERS[0].encode())},r={nonce}"
        messages = f"{self._bare},{challenge},{final}".encode()
        client_key = _mac(mechanism, secret, b"Client Key")
        proof = _xor(client_key, _mac(mechanism, _hash(mechanism, client_key), messages))
        self._signature = _mac(mechanism, _mac(mechanism, secret, b"Server Key"), messages)
        return f"{final},p={_text(proof)}".encode()


def _asks_for_token(extensions: list[str]) -> bool:
    """Kafka's extension for delegation tokens (KIP-48). Others are passed over, but for one that must be known."""
    said = dict(field.partition("=")[::2] for field in extensions)
    if "m" in said or not all(said):
        raise AuthenticationFailed("a first message with an extension that is not known")
    return said.get(BY_TOKEN, "").lower() == "true"


def _mac(mechanism: str, key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, _HASHES[mechanism])


def _hash(mechanism: str, data: bytes) -> bytes:
    return hashlib.new(_HASHES[mechanism], data).digest()


def _xor(left: bytes, right: bytes) -> bytes:
    if len(left) != len(right):
        raise AuthenticationFailed("a proof of another length")
    return bytes(one ^ other for one, other in zip(left, right, strict=True))


def _value(field: str, name: str) -> str:
    if not field.startswith(f"{name}=") or len(field) < 3:
        raise AuthenticationFailed(f"a message without its {name}=")
    return field[2:]


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _bytes(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise AuthenticationFailed("a message that is not base64") from None


def _escaped(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def _unescaped(name: str) -> str:
    if name.count("=") != name.count("=2C") + name.count("=3D"):
        raise AuthenticationFailed("a name that is not escaped")
    return name.replace("=2C", ",").replace("=3D", "=")
