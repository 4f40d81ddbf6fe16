"""When certificates expire: the one date that is read out of their DER, for which no library is needed."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64
from datetime import UTC, datetime
from typing import Final

_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)
_SEQUENCE: Final = 0x30
_VERSION: Final = 0xA0
_UTC_TIME: Final = 0x17
_FIELDS_BEFORE_VALIDITY: Final = 3
"""Serial number, algorithm and issuer."""


def earliest_expiry_s(pem: str) -> int | None:
    """When the first of some certificates expires, in seconds since 1970; None where none can be read."""
    found = [at for body in _CERTIFICATE.findall(pem) if (at := _expiry_s(body)) is not None]
    return min(found, default=None)


def _expiry_s(body: str) -> int | None:
    try:
        return _not_after(b64decode("".join(body.split())))
    except (NotBase64, ValueError, IndexError):
        return None


def _not_after(der: bytes) -> int:
    """Certificate and its first part are sequences; the validity is a sequence of two times in it."""
    _, start, _ = _element(der, 0, _SEQUENCE)
    _, at, _ = _element(der, start, _SEQUENCE)
    if der[at] == _VERSION:
        at = _element(der, at)[2]
    for _ in range(_FIELDS_BEFORE_VALIDITY):
        at = _element(der, at)[2]
    _, not_before, _ = _element(der, at, _SEQUENCE)
    kind, start, end = _element(der, _element(der, not_before)[2])
    text = der[start:end].decode("ascii")
    if kind == _UTC_TIME:
        # As RFC 5280 reads two digits of a year.
        text = ("20" if int(text[:2]) < 50 else "19") + text
    return int(datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp())


def _element(der: bytes, at: int, wanted: int | None = None) -> tuple[int, int, int]:
    """The tag of what stands somewhere, where its contents begin, and where they end."""
    tag, size, start = der[at], der[at + 1], at + 2
    if wanted is not None and tag != wanted:
        raise ValueError(f"{tag:#x} stands where {wanted:#x} should")
    if size & 0x80:
        count = size & 0x7F
        size, start = int.from_bytes(der[start : start + count]), start + count
    return tag, start, start + size
