"""The expiry date of certificates, beside the library that makes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from penstock.tls.expiry import earliest_expiry_s
from tests.tls.certificates import files


def certificate(until: datetime) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x" * 60)])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = builder.not_valid_before(until - timedelta(days=1)).not_valid_after(until).sign(key, hashes.SHA256())
    return made.public_bytes(Encoding.PEM).decode()


# Years from 2050 on are written another way.
@pytest.mark.parametrize("year", [1999, 2026, 2049, 2050, 2400])
def test_the_date_is_that_of_the_certificate(year: int) -> None:
    until = datetime(year, 3, 4, 5, 6, 7, tzinfo=UTC)
    assert earliest_expiry_s(certificate(until)) == int(until.timestamp())


def test_the_first_of_a_chain_counts() -> None:
    dates = [datetime(year, 1, 1, tzinfo=UTC) for year in (2031, 2029, 2030)]
    assert earliest_expiry_s("".join(map(certificate, dates))) == int(dates[1].timestamp())


def test_what_is_no_certificate_has_no_date(tmp_path: Path) -> None:
    whole = certificate(datetime(2030, 1, 1, tzinfo=UTC))
    lines = whole.splitlines()
    assert earliest_expiry_s("") is None
    assert earliest_expiry_s("\n".join([lines[0], "!!!!", lines[-1]])) is None
    for cut in range(4, 80, 4):
        text = "\n".join([lines[0], "".join(lines[1:-1])[:cut], lines[-1]])
        assert earliest_expiry_s(text) is None
    made = files(tmp_path, "node")
    assert earliest_expiry_s(Path(made.certificate).read_text()) is not None
