"""Keystores and truststores as PEM: from PEM files, PEM in settings, PKCS12; JKS is told how to become that."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from penstock.tls.settings import JKS, PEM, PKCS12, Store, TlsError

STORE_BYTES_MAX: Final = 16 << 20
_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----\s*(.*?)\s*-----END \1-----", re.DOTALL)
_JKS_MAGIC: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
_LINE: Final = 64


class KeyPair(NamedTuple):
    """A certificate with its chain, and its key; the key may need a password."""

    certificates: str
    key: str
    password: str | None


def key_pair(store: Store) -> KeyPair | None:
    """What a node or a client shows of itself; None if it shows nothing."""
    if store.is_empty:
        return None
    if store.location and _kind(store, data := _read(store.location)) == PKCS12:
        return _from_pkcs12(store, data)
    text = _text(store, f"{store.key or ''}\n{store.certificates or ''}")
    blocks = _blocks(text)
    keys = [block for kind, block in blocks if kind.endswith("PRIVATE KEY")]
    certificates = [block for kind, block in blocks if kind == "CERTIFICATE"]
    if len(keys) != 1 or not certificates:
        raise TlsError(f"{_where(store)} has {len(keys)} keys and {len(certificates)} certificates: one key is needed")
    return KeyPair("\n".join(certificates), keys[0], store.key_password)


def trusted(store: Store) -> str | None:
    """The certificates that are trusted; None leaves it to the system."""
    if store.is_empty:
        return None
    if store.location and _kind(store, data := _read(store.location)) == PKCS12:
        text = _trusted_in_pkcs12(store, data)
    else:
        text = _text(store, store.certificates or "")
    certificates = [block for kind, block in _blocks(text) if kind == "CERTIFICATE"]
    if not certificates:
        raise TlsError(f"{_where(store)} has no certificate")
    return "\n".join(certificates)


def _where(store: Store) -> str:
    return store.location or "what the settings hold as PEM"


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(STORE_BYTES_MAX)
    except OSError as failure:
        raise TlsError(f"cannot read {path}: {failure.strerror}") from None


def _text(store: Store, own: str) -> str:
    return _read(store.location).decode(errors="replace") if store.location else own


def _kind(store: Store, data: bytes) -> str:
    """What a file is. Java takes PKCS12 where JKS was said, and so do we; PEM has to be called by its name."""
    path = store.location
    if data.startswith(_JKS_MAGIC):
        raise TlsError(
            f"{path} is a JKS store, which only Java reads: keytool -importkeystore -srckeystore {path} "
            f"-destkeystore {path}.p12 -deststoretype PKCS12, and use that one with the type PKCS12"
        )
    if store.kind == PEM:
        return PEM
    if store.kind not in (PKCS12, JKS):
        raise TlsError(f"the type {store.kind} of {path} is not known: it is PEM or PKCS12")
    if data.startswith(b"-----BEGIN"):
        raise TlsError(f"{path} is PEM, and said to be {store.kind}: set its type to PEM")
    return PKCS12


def _blocks(text: str) -> list[tuple[str, str]]:
    """The blocks of a text. In settings their lines are often lost, so they are broken anew."""
    return [
        (kind, f"-----BEGIN {kind}-----\n{_lines(body)}\n-----END {kind}-----") for kind, body in _BLOCK.findall(text)
    ]


def _lines(body: str) -> str:
    if ":" in body:
        return body  # A key of old, with headers.
    packed = "".join(body.split())
    return "\n".join(packed[at : at + _LINE] for at in range(0, len(packed), _LINE))


def _from_pkcs12(store: Store, data: bytes) -> KeyPair:
    found = _pkcs12(store, data)
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    if found.key is None or found.cert is None:
        raise TlsError(f"{store.location} has no key with its certificate")
    chain = [found.cert.certificate, *(each.certificate for each in found.additional_certs)]
    key = found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return KeyPair("".join(each.public_bytes(Encoding.PEM).decode() for each in chain), key, None)


def _trusted_in_pkcs12(store: Store, data: bytes) -> str:
    found = _pkcs12(store, data)
    from cryptography.hazmat.primitives.serialization import Encoding

    certificates = [each.certificate for each in found.additional_certs]
    certificates += [found.cert.certificate] if found.cert is not None else []
    return "\n".join(each.public_bytes(Encoding.PEM).decode() for each in certificates)


def _pkcs12(store: Store, data: bytes):  # type: ignore[no-untyped-def]  # its type is the package's that may be missing
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError:
        raise TlsError(
            f"{store.location}: reading PKCS12 needs cryptography: pip install 'penstock[security]', or use PEM"
        ) from None
    try:
        return load_pkcs12(data, (store.password or "").encode())
    except ValueError:
        raise TlsError(f"{store.location} cannot be opened: it is no PKCS12, or its password is another one") from None
