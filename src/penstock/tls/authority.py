"""An authority of one's own, and the certificates it gives: for a laptop and for tests, not for a company."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.tls.settings import TlsError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

DAYS: Final = 825
"""The longest that common clients believe a server's certificate."""
_SKEW: Final = timedelta(minutes=5)


class Issued(NamedTuple):
    """A certificate and its key, as PEM."""

    certificate: str
    key: str


def new_authority(name: str, days: int = DAYS) -> Issued:
    """One that vouches for itself."""
    _need_cryptography()
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(name, name, days).public_key(key.public_key())
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    return _signed(builder, key, key)


def issue(authority: Issued, name: str, hosts: Sequence[str] = (), days: int = DAYS) -> Issued:
    """A certificate for a server that is reached at `hosts`, and for whoever calls one: nodes do both."""
    _need_cryptography()
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509.oid import ExtendedKeyUsageOID

    issuer = x509.load_pem_x509_certificate(authority.certificate.encode())
    issuer_key = load_pem_private_key(authority.key.encode(), None)
    assert isinstance(issuer_key, ec.EllipticCurvePrivateKey), "an authority of ours has a key of this kind"
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(name, None, days).issuer_name(issuer.subject).public_key(key.public_key())
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    builder = builder.add_extension(identifier, critical=False)
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([_host(each) for each in hosts]), critical=False)
    return _signed(builder, key, issuer_key)


def as_pkcs12(issued: Issued, authority: str, password: str) -> bytes:
    """The same as a store that Java reads."""
    _need_cryptography()
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key
    from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

    key = load_pem_private_key(issued.key.encode(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey), "what we issue has a key of this kind"
    certificate, root = (x509.load_pem_x509_certificate(each.encode()) for each in (issued.certificate, authority))
    return serialize_key_and_certificates(b"own", key, certificate, [root], BestAvailableEncryption(password.encode()))


def _need_cryptography() -> None:
    try:
        import cryptography  # noqa: F401  # whether it is there
    except ImportError:
        raise TlsError("making certificates needs cryptography: pip install 'penstock[security]'") from None


def _builder(name: str, issuer: str | None, days: int) -> x509.CertificateBuilder:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - _SKEW).not_valid_after(now + timedelta(days=days))
    builder = builder.subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
    if issuer is not None:
        builder = builder.issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
    return builder


def _host(text: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _signed(
    builder: x509.CertificateBuilder, key: EllipticCurvePrivateKey, issuer_key: EllipticCurvePrivateKey
) -> Issued:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    certificate = builder.sign(issuer_key, SHA256())
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Issued(certificate.public_bytes(Encoding.PEM).decode(), text.decode())
