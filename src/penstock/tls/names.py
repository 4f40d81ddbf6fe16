"""The name in a certificate as Java writes it (RFC 2253): rules that map names to principals are written for that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_SHORT: Final = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}
_NUMBERED: Final = {
    "emailAddress": ("1.2.840.113549.1.9.1", 0x16),
    "serialNumber": ("2.5.4.5", 0x13),
    "title": ("2.5.4.12", 0x0C),
    "givenName": ("2.5.4.42", 0x0C),
    "surname": ("2.5.4.4", 0x0C),
}
"""What Java writes by number, with the value as it is encoded."""
_SHORT_FORM_MAX: Final = 127


def distinguished_name(certificate: Mapping[str, Any]) -> str:
    """Of what `SSLObject.getpeercert` gives: the subject, its last part first."""
    parts = ["+".join(_attribute(name, value) for name, value in part) for part in certificate.get("subject", ())]
    return ",".join(reversed(parts))


def _attribute(name: str, value: str) -> str:
    if name in _NUMBERED:
        number, tag = _NUMBERED[name]
        data = value.encode()
        if len(data) <= _SHORT_FORM_MAX:
            return f"{number}=#{tag:02x}{len(data):02x}{data.hex()}"
    return f"{_SHORT.get(name, name)}={_escaped(value)}"


def _escaped(value: str) -> str:
    text = "".join(f"\\{sign}" if sign in ',+"\\<>;' else sign for sign in value)
    if text.startswith(("#", " ")):
        text = f"\\{text}"
    return f"{text[:-1]}\\ " if len(text) > 1 and text.endswith(" ") else text
