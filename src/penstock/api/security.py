"""Kafka's own names for getting in, such as stand in the file of a Java client, in those of librdkafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.core.base.errors import PenstockError

_JAVAS: Final = frozenset(
    {
        "sasl.jaas.config",
        *("ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.certificates"),
        *("ssl.keystore.type", "ssl.keystore.key", "ssl.keystore.certificate.chain"),
        *("ssl.enabled.protocols", "sasl.login.callback.handler.class"),
    }
)
"""What librdkafka refuses; where one of these is given, all settings of security are meant in Kafka's way."""


def with_security(given: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration that librdkafka takes; one in its own words stays as it is."""
    if _JAVAS.isdisjoint(given):
        return dict(given)
    from penstock.client.librdkafka import librdkafka_security
    from penstock.client.security import SECURITY_SETTINGS

    own = {name: value for name, value in given.items() if name not in SECURITY_SETTINGS}
    try:
        security = librdkafka_security({name: str(given[name]) for name in SECURITY_SETTINGS if name in given})
    except PenstockError as failure:
        raise ValueError(". ".join(filter(None, (str(failure), getattr(failure, "hint", None))))) from None
    return security | own
