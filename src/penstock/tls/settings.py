"""What Kafka's `ssl.*` settings say, the same for a listener, for a node that dials, and for a client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from penstock.core.base.errors import PenstockError

PEM: Final = "PEM"
PKCS12: Final = "PKCS12"
JKS: Final = "JKS"


class TlsError(PenstockError):
    """Certificates that cannot be used: one line that says which and why, and no secret."""


class Store(NamedTuple):
    """A keystore or a truststore: a file, or PEM in the settings themselves."""

    kind: str
    location: str | None = None
    password: str | None = None
    certificates: str | None = None
    key: str | None = None
    key_password: str | None = None

    def __repr__(self) -> str:
        return f"Store({self.kind}, {self.location!r})"

    @property
    def is_empty(self) -> bool:
        return not (self.location or self.certificates or self.key)


class TlsSettings(NamedTuple):
    """Everything that a context is made of."""

    keys: Store
    trust: Store
    protocols: tuple[str, ...]
    client_auth: str = "none"
    checks_names: bool = True

    @property
    def files(self) -> tuple[str, ...]:
        """What may be renewed while it is in use."""
        return tuple(store.location for store in (self.keys, self.trust) if store.location)


def tls_settings(get: Callable[[str], Any]) -> TlsSettings:
    """`get` gives a setting's value; a secret may come as text or as a `Password`."""

    def text(name: str) -> str | None:
        value = get(name)
        return (value.reveal() if hasattr(value, "reveal") else value) or None

    keys = Store(
        text("ssl.keystore.type") or JKS,
        text("ssl.keystore.location"),
        text("ssl.keystore.password"),
        text("ssl.keystore.certificate.chain"),
        text("ssl.keystore.key"),
        text("ssl.key.password"),
    )
    trust = Store(
        text("ssl.truststore.type") or JKS,
        text("ssl.truststore.location"),
        text("ssl.truststore.password"),
        text("ssl.truststore.certificates"),
    )
    checks_names = text("ssl.endpoint.identification.algorithm") is not None
    return TlsSettings(keys, trust, tuple(get("ssl.enabled.protocols")), get("ssl.client.auth") or "none", checks_names)
