"""How a client says who it is, and how its connections are encrypted: Kafka's client settings as one value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from penstock.client.errors import ClientError
from penstock.core.base.endpoints import AUTHENTICATING, ENCRYPTING, SecurityProtocol
from penstock.core.base.mechanisms import MECHANISMS, OAUTHBEARER, SCRAM_NUMBERS
from penstock.core.base.settings.jaas import LoginModule, read_jaas
from penstock.core.base.settings.key import SettingError
from penstock.core.peer.login import Identity
from penstock.core.sasl.scram import BY_TOKEN
from penstock.oauth.errors import OAuthError
from penstock.oauth.fetching import path_of
from penstock.oauth.token_source import TokenSource, token_of
from penstock.tls.settings import TlsSettings, tls_settings

DEFAULTS: Final[Mapping[str, Any]] = {
    "ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
    "ssl.endpoint.identification.algorithm": "https",
}
SECURITY_SETTINGS: Final = (
    *("security.protocol", "sasl.mechanism", "sasl.jaas.config", "sasl.username", "sasl.password"),
    *("sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.client.credentials.client.id"),
    *("sasl.oauthbearer.client.credentials.client.secret", "sasl.oauthbearer.scope"),
    "sasl.login.callback.handler.class",
    *("ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.certificates"),
    *("ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.password", "ssl.keystore.key"),
    *("ssl.keystore.certificate.chain", "ssl.key.password", *DEFAULTS),
)
_HANDLERS: Final = "org.apache.kafka.common.security.oauthbearer"
LOGIN_HANDLER: Final = f"{_HANDLERS}.OAuthBearerLoginCallbackHandler"
LOGIN_HANDLER_BEFORE: Final = f"{_HANDLERS}.secured.OAuthBearerLoginCallbackHandler"
"""Its name before Kafka 4.0."""

_SECRET: Final = (".password", ".key", ".secret", ".jaas.config")
SECRETS: Final = frozenset(name for name in SECURITY_SETTINGS if name.endswith(_SECRET))


class Security(NamedTuple):
    """None of it is there on a plain connection."""

    identity: Identity | None = None
    tls: TlsSettings | None = None
    tokens: TokenSource | None = None

    @property
    def protocol(self) -> SecurityProtocol:
        authenticates = self.identity is not None or self.tokens is not None
        if self.tls is None:
            return SecurityProtocol.SASL_PLAINTEXT if authenticates else SecurityProtocol.PLAINTEXT
        return SecurityProtocol.SASL_SSL if authenticates else SecurityProtocol.SSL

    def who(self) -> Identity | None:
        """Who we say we are now: tokens end, and another one is got."""
        if self.tokens is None:
            return self.identity
        try:
            return Identity(OAUTHBEARER, "", token_of(self.tokens).token)
        except OAuthError as failure:
            raise ClientError(f"there is no token to get in with: {failure}") from None


OPEN: Final = Security()


class Entropy:
    """Chance from the system."""

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)


def security_of(settings: Mapping[str, str]) -> Security:
    """What a client's settings say; what is missing is said in one line."""
    name = settings.get("security.protocol", SecurityProtocol.PLAINTEXT.name).strip().upper()
    if name not in SecurityProtocol.__members__:
        raise ClientError(f"security.protocol is one of {', '.join(SecurityProtocol.__members__)}, not {name!r}")
    protocol = SecurityProtocol[name]
    tls = _tls(settings) if protocol in ENCRYPTING else None
    if protocol not in AUTHENTICATING:
        return Security(None, tls)
    if settings.get("sasl.mechanism") == OAUTHBEARER:
        return Security(None, tls, _tokens(settings))
    return Security(_identity(settings), tls)


def _tls(settings: Mapping[str, str]) -> TlsSettings:
    def get(name: str) -> Any:
        value = settings.get(name, DEFAULTS.get(name))
        return tuple(value.split(",")) if name == "ssl.enabled.protocols" and value else value

    return tls_settings(get)


def _identity(settings: Mapping[str, str]) -> Identity:
    mechanism = settings.get("sasl.mechanism", "GSSAPI")
    if mechanism not in MECHANISMS:
        kerberos = " (Kerberos is not supported)" if mechanism == "GSSAPI" else ""
        raise ClientError(f"sasl.mechanism is one of {', '.join(MECHANISMS)}, not {mechanism}{kerberos}")
    user, password = settings.get("sasl.username"), settings.get("sasl.password")
    is_token = False
    if user is None and (module := _module(settings)) is not None:
        user, password = module.login or (None, None)
        is_token = mechanism in SCRAM_NUMBERS and module.options.get(BY_TOKEN, "").lower() == "true"
    if user is None or password is None:
        raise ClientError(
            f"{mechanism} needs a name and a password",
            hint="set sasl.username and sasl.password, or sasl.jaas.config as for Java",
        )
    return Identity(mechanism, user, password, is_token)


def _tokens(settings: Mapping[str, str]) -> TokenSource:
    """In Kafka's words of before 4.1, in the options of JAAS, or in those of after."""
    handler = settings.get("sasl.login.callback.handler.class", LOGIN_HANDLER)
    if handler not in (LOGIN_HANDLER, LOGIN_HANDLER_BEFORE):
        raise ClientError(f"{handler} is a Java class that cannot be run", hint=f"{LOGIN_HANDLER} is what acts")
    url = settings.get("sasl.oauthbearer.token.endpoint.url")
    if not url:
        raise ClientError(
            "OAUTHBEARER needs a token",
            hint="set sasl.oauthbearer.token.endpoint.url to a file (file:///PATH) or to a provider (https://...)",
        )
    module = _module(settings)
    options = {} if module is None else module.options
    asked = "sasl.oauthbearer.client.credentials.client"
    found = TokenSource(
        url,
        settings.get(f"{asked}.id", options.get("clientId")),
        settings.get(f"{asked}.secret", options.get("clientSecret")),
        settings.get("sasl.oauthbearer.scope", options.get("scope")),
    )
    if path_of(url) is None and (found.client_id is None or found.client_secret is None):
        raise ClientError(f"{url} wants credentials of a client", hint=f"set {asked}.id and {asked}.secret")
    return found


def _module(settings: Mapping[str, str]) -> LoginModule | None:
    text = settings.get("sasl.jaas.config")
    try:
        return read_jaas(text) if text else None
    except SettingError as error:
        raise ClientError(f"sasl.jaas.config cannot be read: {error}") from None
