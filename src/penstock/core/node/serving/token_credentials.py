"""What SCRAM needs to check delegation tokens: made of a token's HMAC when it is first shown, since the metadata has
none.

Making one takes milliseconds, by SCRAM's intent; it is kept as long as the token is there.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from typing import Final

from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.delegation_tokens import Tokens, has_ended, hmac_of, parted, secret_of
from penstock.core.sasl.scram import ITERATIONS_MIN, NOBODYS_SALT_BYTES, Credential, Known, credential, salted

KEPT_MAX: Final = 10_000


class TokenCredentials:
    """Of the tokens that clients have shown to this node."""

    def __init__(self, own_secret: bytes) -> None:
        self._own_secret = own_secret
        self._kept: dict[tuple[str, str, bytes], Credential] = {}

    def find(self, tokens: Tokens, settings: BrokerSettings, now_ms: int, mechanism: str, name: str) -> Known | None:
        """Whose token has this name, if it has not ended."""
        secret, record = secret_of(settings), tokens.get(name)
        if not secret or record is None or has_ended(record, now_ms):
            return None
        kept = self._credential(mechanism, name, secret)
        return Known(kept, parted(record.owner)[1], min(record.expiration_timestamp, record.max_timestamp))

    def _credential(self, mechanism: str, name: str, secret: bytes) -> Credential:
        key = mechanism, name, secret
        if (found := self._kept.get(key)) is not None:
            return found
        while len(self._kept) >= KEPT_MAX:
            del self._kept[next(iter(self._kept))]
        salt = hmac.digest(self._own_secret, f"{mechanism} {name}".encode(), "sha256")[:NOBODYS_SALT_BYTES]
        password = b64encode(hmac_of(secret, name)).decode()
        made = credential(mechanism, salted(mechanism, password, salt, ITERATIONS_MIN), salt, ITERATIONS_MIN)
        self._kept[key] = made
        return made
