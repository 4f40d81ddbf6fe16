"""Certificates of the tests, made once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from penstock.tls.authority import Issued, as_pkcs12, issue, new_authority

STORE_PASSWORD = "store password"


@cache
def authority() -> Issued:
    return new_authority("authority of the tests")


@cache
def stranger() -> Issued:
    return new_authority("nobody's authority")


class Files(NamedTuple):
    """What an authority gave somebody, in the forms there are."""

    ca: str
    pem: str
    certificate: str
    key: str
    pkcs12: str
    trust12: str


def files(folder: Path, name: str, of: Issued | None = None) -> Files:
    """For whoever is at localhost."""
    root = of or authority()
    given = issue(root, name, ("localhost", "127.0.0.1"))
    folder.mkdir(parents=True, exist_ok=True)

    def put(ending: str, data: bytes) -> str:
        path = folder / f"{name}.{ending}"
        path.write_bytes(data)
        return str(path)

    return Files(
        ca=put("ca.pem", root.certificate.encode()),
        pem=put("pem", (given.key + given.certificate).encode()),
        certificate=put("crt", given.certificate.encode()),
        key=put("key", given.key.encode()),
        pkcs12=put("p12", as_pkcs12(given, root.certificate, STORE_PASSWORD)),
        trust12=put("trust.p12", as_pkcs12(given, root.certificate, STORE_PASSWORD)),
    )
