"""A client's security settings in the words of librdkafka, which knows neither JAAS nor Java's stores."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from penstock.client.errors import ClientError
from penstock.client.security import security_of
from penstock.core.base.endpoints import SecurityProtocol
from penstock.core.base.mechanisms import OAUTHBEARER
from penstock.oauth.token_source import TokenSource, token_of
from penstock.tls.stores import key_pair, trusted


def librdkafka_security(settings: Mapping[str, str]) -> dict[str, Any]:
    """What stands in stores is handed over as PEM, and tokens by a function that it calls when it needs one."""
    identity, tls, tokens = security_of(settings)
    found: dict[str, Any] = {
        "security.protocol": settings.get("security.protocol", SecurityProtocol.PLAINTEXT.name).strip().upper()
    }
    if identity is not None:
        if identity.is_token:
            raise ClientError(
                "librdkafka cannot show a delegation token",
                hint="give it a name and a password, or a signed token (OAUTHBEARER)",
            )
        found |= {"sasl.mechanism": identity.mechanism}
        found |= {"sasl.username": identity.user, "sasl.password": identity.password}
    if tokens is not None:
        found |= {"sasl.mechanism": OAUTHBEARER, "oauth_cb": partial(shown, tokens)}
    if tls is not None:
        found["ssl.endpoint.identification.algorithm"] = "https" if tls.checks_names else "none"
        if certificates := trusted(tls.trust):
            found["ssl.ca.pem"] = certificates
        if pair := key_pair(tls.keys):
            found |= {"ssl.certificate.pem": pair.certificates, "ssl.key.pem": pair.key}
            found |= {"ssl.key.password": pair.password} if pair.password else {}
    return found


def shown(tokens: TokenSource, config: str) -> tuple[str, float]:
    """A token, and when it ends; librdkafka asks again before that."""
    found = token_of(tokens)
    return found.token, found.expires_s
