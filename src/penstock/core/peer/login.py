"""Saying who we are on a connection that has been greeted: which request comes next, until the other side is satisfied.

The driver asks what `next` gives, and gives it the answer. Nothing else may be asked meanwhile.
"""

from __future__ import annotations

from base64 import b64encode
from typing import NamedTuple

from penstock.core.base.mechanisms import OAUTHBEARER, PLAIN
from penstock.core.base.ports import Entropy
from penstock.core.peer.errors import PeerError
from penstock.core.sasl.mechanisms import NONCE_BYTES, AuthenticationFailed, MechanismClient
from penstock.core.sasl.oauthbearer import OAuthBearerClient
from penstock.core.sasl.plain import PlainClient
from penstock.core.sasl.scram import ScramClient
from penstock.core.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from penstock.core.wire.api.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from penstock.core.wire.schema import Request, Response


class LoginRefused(PeerError):
    """The other side does not let us in; asking again with the same password changes nothing."""


class Identity(NamedTuple):
    """Who we say we are, and how. Where somebody else has made a token for us, the token is the password."""

    mechanism: str
    user: str
    password: str
    is_token: bool = False
    """Whether the name is that of a delegation token, and the password what proves it."""

    def __repr__(self) -> str:
        return f"Identity({self.mechanism}, {self.user!r})"


class Login:
    """One conversation."""

    def __init__(self, identity: Identity, entropy: Entropy) -> None:
        self._identity = identity
        self._client = _client(identity, entropy)
        self._has_begun = False

    def begin(self) -> Request:
        return SaslHandshakeRequest(mechanism=self._identity.mechanism)

    def next(self, answer: Response) -> Request | None:
        """What to ask after an answer; None when there is nothing left to prove."""
        if isinstance(answer, SaslHandshakeResponse):
            if answer.error_code:
                offered = ", ".join(answer.mechanisms) or "none"
                raise LoginRefused(f"it does not offer {self._identity.mechanism}, only {offered}")
            return self._say(b"")
        assert isinstance(answer, SaslAuthenticateResponse)
        if answer.error_code:
            raise LoginRefused(answer.error_message or f"it does not let us in: error {answer.error_code}")
        # What comes behind the last proof is empty, and needs no answer.
        return None if self._client.is_complete else self._say(bytes(answer.auth_bytes))

    def _say(self, token: bytes) -> Request | None:
        try:
            said = self._client.respond(token)
        except AuthenticationFailed as failure:
            raise LoginRefused(f"it cannot be trusted: {failure}") from None
        is_first, self._has_begun = not self._has_begun, True
        return SaslAuthenticateRequest(auth_bytes=said) if is_first or not self._client.is_complete else None


def _client(identity: Identity, entropy: Entropy) -> MechanismClient:
    mechanism, user, password, is_token = identity
    if mechanism == PLAIN:
        return PlainClient(user, password)
    if mechanism == OAUTHBEARER:
        return OAuthBearerClient(password)
    nonce = b64encode(entropy.bytes(NONCE_BYTES)).decode()
    return ScramClient(mechanism, user, password, nonce, by_token=is_token)
