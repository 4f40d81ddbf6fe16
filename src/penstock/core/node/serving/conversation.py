"""One conversation in SASL, and what a listener knows of those who may log in."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from functools import partial

from penstock.core.base.mechanisms import OAUTHBEARER, PLAIN, SCRAM_NUMBERS
from penstock.core.base.ports import Entropy
from penstock.core.base.settings.per_listener import ListenerSettings
from penstock.core.metadata.image import Image
from penstock.core.sasl.jwt import Verified
from penstock.core.sasl.mechanisms import NONCE_BYTES, MechanismServer
from penstock.core.sasl.oauthbearer import OAuthBearerServer
from penstock.core.sasl.plain import PlainServer
from penstock.core.sasl.scram import Credential, Known, ScramServer


class Credentials:
    """PLAIN's users stand in the settings of a listener, SCRAM's users and delegation tokens in the metadata; others
    bring a signed token."""

    def __init__(
        self,
        listener: ListenerSettings,
        image: Image,
        secret: bytes,
        check_token: Callable[[str], Verified],
        find_token: Callable[[str, str], Known | None],
    ) -> None:
        self._listener = listener
        self._image = image
        self.secret = secret
        self.check_token = check_token
        self._find_token = find_token

    def passwords(self) -> dict[str, str]:
        module = self._listener.login_module(PLAIN)
        return {} if module is None else module.users

    def find(self, mechanism: str, user: str, by_token: bool) -> Known | None:
        if by_token:
            return self._find_token(mechanism, user)
        record = self._image.access.credentials.get((user, SCRAM_NUMBERS[mechanism]))
        if record is None:
            return None
        return Known(Credential(record.salt, record.stored_key, record.server_key, record.iterations), user)


class Conversation:
    """The node's side."""

    def __init__(self, mechanism: str, known: Credentials, entropy: Entropy) -> None:
        self.mechanism = mechanism
        self._server = _server(mechanism, known, entropy)

    @property
    def user(self) -> str | None:
        """Who it is, once that is proved."""
        return self._server.user

    @property
    def expires_ms(self) -> int | None:
        """When the proof ends; None: it does not by itself."""
        return self._server.expires_ms

    @property
    def is_by_token(self) -> bool:
        return self._server.is_by_token

    def respond(self, token: bytes) -> bytes:
        return self._server.respond(token)


def _server(mechanism: str, known: Credentials, entropy: Entropy) -> MechanismServer:
    if mechanism == PLAIN:
        return PlainServer(known.passwords())
    if mechanism == OAUTHBEARER:
        return OAuthBearerServer(known.check_token)
    nonce = b64encode(entropy.bytes(NONCE_BYTES)).decode()
    return ScramServer(mechanism, nonce, partial(known.find, mechanism), known.secret)
