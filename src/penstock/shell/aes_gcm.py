"""AES-GCM with 256 bits, by the library that the extra `security` brings."""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from penstock.core.base.ports import Buffer


class AesGcm:
    """Implements `Aead`."""

    __slots__ = ("_decrypt", "seal")

    def __init__(self, secret: bytes) -> None:
        cipher = AESGCM(secret)
        self.seal = cipher.encrypt
        self._decrypt = cipher.decrypt

    def open(self, nonce: bytes, data: Buffer, bound: Buffer) -> bytes | None:
        try:
            return self._decrypt(nonce, data, bound)
        except InvalidTag:
            return None
