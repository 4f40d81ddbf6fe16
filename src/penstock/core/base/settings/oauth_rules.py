"""What a listener that takes signed tokens asks of its settings: a place with keys, and nothing that trusts anybody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.core.base.endpoints import Endpoint
from penstock.core.base.mechanisms import OAUTHBEARER
from penstock.core.base.settings.per_listener import CALLBACK, JWKS, ListenerSettings

Broken = Iterator[tuple[str, str]]
_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
VALIDATOR: Final = f"{_PACKAGE}.OAuthBearerValidatorCallbackHandler"
SCHEMES: Final = ("file", "http", "https")


def oauth_rules(endpoint: Endpoint, own: ListenerSettings) -> Broken:
    yield from callback_rules(own, OAUTHBEARER)
    key = f"{JWKS}.url"
    url = own.of_mechanism(OAUTHBEARER, key)
    if url is None:
        yield (
            key,
            f"listener {endpoint.name} offers OAUTHBEARER and has no keys to check tokens with: set {key} to the JWKS "
            "of whoever makes them (file://, http:// or https://); tokens without a signature are never taken",
        )
    elif not _is_place(url):
        yield key, f"{url} is no place to read keys from: write file:///PATH, http://HOST/PATH or https://HOST/PATH"
    for name in ("refresh.ms", "retry.backoff.ms", "retry.backoff.max.ms"):
        if own.of_mechanism(OAUTHBEARER, f"{JWKS}.{name}") <= 0:
            yield f"{JWKS}.{name}", f"{JWKS}.{name} is a time, of at least 1 ms"
    if own.of_mechanism(OAUTHBEARER, "sasl.oauthbearer.clock.skew.seconds") < 0:
        yield "sasl.oauthbearer.clock.skew.seconds", "clocks differ by at least 0 s"


def callback_rules(own: ListenerSettings, mechanism: str) -> Broken:
    """Files that were written for Kafka name the class that checks signatures; any other would check something else."""
    given = own.of_mechanism(mechanism, CALLBACK)
    if given and not (mechanism == OAUTHBEARER and given == VALIDATOR):
        allowed = f"; for OAUTHBEARER it may be {VALIDATOR}, which is what acts" if mechanism == OAUTHBEARER else ""
        yield CALLBACK, f"{given} is a Java class that cannot be run{allowed}"


def _is_place(url: str) -> bool:
    scheme, separator, rest = url.partition("://")
    host, _, path = rest.partition("/")
    if not separator or scheme not in SCHEMES:
        return False
    return host in ("", "localhost") and bool(path) if scheme == "file" else bool(host)
