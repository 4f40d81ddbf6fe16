"""Contexts of the standard library's `ssl`, made of stores. Only TLS 1.2 and 1.3 are ever spoken."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import NamedTemporaryFile
from typing import Final

from penstock.tls.settings import TlsError, TlsSettings
from penstock.tls.stores import KeyPair, key_pair, trusted

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_VERIFYING: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """For whoever is called."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _limit(context, settings)
    pair = key_pair(settings.keys)
    if pair is None:
        raise TlsError("a listener that encrypts needs a certificate: set ssl.keystore.location, or ssl.keystore.key")
    _show(context, pair, settings)
    # A second handshake would cost the node more than it costs its client.
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.verify_mode = _VERIFYING[settings.client_auth]
    if context.verify_mode is not ssl.CERT_NONE:
        _trust(context, settings, ssl.Purpose.CLIENT_AUTH)
    return context


def client_context(settings: TlsSettings) -> ssl.SSLContext:
    """For whoever calls."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _limit(context, settings)
    context.check_hostname = settings.checks_names
    _trust(context, settings, ssl.Purpose.SERVER_AUTH)
    pair = key_pair(settings.keys)
    if pair is not None:
        _show(context, pair, settings)
    return context


def _limit(context: ssl.SSLContext, settings: TlsSettings) -> None:
    unknown = [name for name in settings.protocols if name not in _VERSIONS]
    versions = [_VERSIONS[name] for name in settings.protocols if name in _VERSIONS]
    if unknown or not versions:
        raise TlsError(
            f"ssl.enabled.protocols has {', '.join(unknown) or 'nothing'}: only TLSv1.2 and TLSv1.3 are spoken"
        )
    context.minimum_version, context.maximum_version = min(versions), max(versions)


def _show(context: ssl.SSLContext, pair: KeyPair, settings: TlsSettings) -> None:
    password = pair.password or ""
    with _as_file(f"{pair.key}\n{pair.certificates}\n") as path:
        try:
            # A password is always given: without one OpenSSL would ask whoever sits at the terminal.
            context.load_cert_chain(path, password=lambda: password)
        except ssl.SSLError as failure:
            where = settings.keys.location or "ssl.keystore.key"
            why = (
                "its password (ssl.key.password) is another one, or missing"
                if _is_password(failure)
                else _reason(failure)
            )
            raise TlsError(f"the certificate and key of {where} cannot be used: {why}") from None


def _trust(context: ssl.SSLContext, settings: TlsSettings, purpose: ssl.Purpose) -> None:
    certificates = trusted(settings.trust)
    if certificates is None:
        context.load_default_certs(purpose)
        return
    try:
        context.load_verify_locations(cadata=certificates)
    except ssl.SSLError as failure:
        where = settings.trust.location or "ssl.truststore.certificates"
        raise TlsError(f"the certificates of {where} cannot be used: {_reason(failure)}") from None


def _is_password(failure: ssl.SSLError) -> bool:
    return failure.reason in (None, "BAD_DECRYPT", "BAD_PASSWORD_READ", "PKCS12_CIPHERFINAL_ERROR", "EMPTY_PASSWORD")


def _reason(failure: ssl.SSLError) -> str:
    return (failure.reason or str(failure)).lower().replace("_", " ")


@contextmanager
def _as_file(text: str) -> Iterator[str]:
    """OpenSSL reads keys from files only. Where the system can, the file is one that no folder knows."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("key", os.MFD_CLOEXEC)
        try:
            os.write(fd, text.encode())
            yield f"/proc/self/fd/{fd}"
        finally:
            os.close(fd)
        return
    with NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(text)
        file.flush()
        yield file.name
