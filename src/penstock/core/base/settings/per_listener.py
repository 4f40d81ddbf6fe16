"""Settings of one listener: `listener.name.NAME.KEY` goes before `KEY`, and `listener.name.NAME.MECHANISM.KEY` before
both. Names are written in small letters, as in Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.core.base.settings.jaas import LoginModule, read_jaas

JAAS: Final = "sasl.jaas.config"
CALLBACK: Final = "sasl.server.callback.handler.class"
JWKS: Final = "sasl.oauthbearer.jwks.endpoint"
PER_MECHANISM: Final = frozenset(
    {
        JAAS,
        CALLBACK,
        "connections.max.reauth.ms",
        *(f"{JWKS}.{name}" for name in ("url", "refresh.ms", "retry.backoff.ms", "retry.backoff.max.ms")),
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.scope.claim.name",
        "sasl.oauthbearer.sub.claim.name",
    }
)
PER_LISTENER: Final = PER_MECHANISM | {
    "sasl.enabled.mechanisms",
    "sasl.mechanism.inter.broker.protocol",
    "sasl.server.max.receive.size",
    "ssl.client.auth",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.principal.mapping.rules",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
}
"""What acts for one listener; of anything else all listeners share one value."""


class ListenerSettings:
    """The values of all settings, as one listener has them."""

    __slots__ = ("_prefix", "_values")

    def __init__(self, values: Mapping[str, Any], name: str) -> None:
        self._values = values
        self._prefix = f"listener.name.{name.lower()}."

    def __getitem__(self, key: str) -> Any:
        own = self._prefix + key
        return self._values[own] if own in self._values else self._values[key]

    def of_mechanism(self, mechanism: str, key: str) -> Any:
        own = self.name_of(mechanism, key)
        return self._values[own] if own in self._values else self[key]

    def name_of(self, mechanism: str, key: str) -> str:
        """How the setting is written that is for this listener and mechanism."""
        return f"{self._prefix}{mechanism.lower()}.{key}"

    def login_module(self, mechanism: str) -> LoginModule | None:
        """What JAAS says of a mechanism. It is always said for one listener: a text for all is not looked at."""
        text = self._values.get(self.name_of(mechanism, JAAS))
        return None if text is None else read_jaas(text.reveal())
