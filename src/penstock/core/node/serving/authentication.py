"""Who is at the other end of a connection: by its listener, by its certificate, or by a conversation in SASL.

Until that is known only ApiVersions and the two requests of SASL are served, few of them, small ones, and not for long.
Whoever fails learns it late, and only that it failed; why is in the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, Protocol

from penstock.core.base.endpoints import AUTHENTICATING
from penstock.core.base.errors import ErrorCode
from penstock.core.base.mechanisms import OAUTHBEARER
from penstock.core.base.ports import Entropy, SigningKeys
from penstock.core.base.settings import BrokerSettings
from penstock.core.base.settings.principal_rules import mapped, read_principal_rules
from penstock.core.metadata.image import Image
from penstock.core.node.host import Clock
from penstock.core.node.observing.metrics import Metrics
from penstock.core.node.serving.audited import who
from penstock.core.node.serving.context import ANONYMOUS, Principal, Proof
from penstock.core.node.serving.conversation import Conversation, Credentials
from penstock.core.node.serving.gates import ALREADY, OPEN, Anonymous, Authenticated, Authenticator, Handshake, Speaker
from penstock.core.node.serving.token_credentials import TokenCredentials
from penstock.core.sasl.jwt import Expected, Verified, read_token, verified
from penstock.core.sasl.mechanisms import AuthenticationFailed

SECRET_BYTES: Final = 32
NOT_YET: Final = "SaslAuthenticate request received without SASL handshake"


class AuthenticationHost(Clock, Protocol):
    """The node that is asked."""

    @property
    def settings(self) -> BrokerSettings: ...

    @property
    def image(self) -> Image: ...

    @property
    def entropy(self) -> Entropy: ...

    @property
    def signing_keys(self) -> SigningKeys: ...

    @property
    def metrics(self) -> Metrics: ...

    def log(self, level: str, component: str, text: str, kind: str = "") -> None: ...

    def audit_refusal(self, event: Mapping[str, Any]) -> None: ...


class Authentication(Anonymous):
    """Of a node with listeners that are not plain."""

    def __init__(self, node: AuthenticationHost) -> None:
        self._node = node
        self._protocols = node.settings.listeners.protocols
        self._secret = node.entropy.bytes(SECRET_BYTES)
        self._tokens = TokenCredentials(self._secret)

    def principal(self, listener: str, address: str, certified: str | None) -> Principal | None:
        if self._protocols.get(listener) in AUTHENTICATING:
            return None
        return ANONYMOUS if certified is None else self._certified(listener, address, certified)

    def frame_bytes_max(self, listener: str) -> int:
        size: int = self._node.settings.of_listener(listener)["sasl.server.max.receive.size"]
        return size

    def begin(self, speaker: Speaker, mechanism: str) -> Handshake:
        own = self._node.settings.of_listener(speaker.context.listener)
        offered: tuple[str, ...] = own["sasl.enabled.mechanisms"]
        if not self._may_begin(speaker, mechanism):
            return Handshake(ErrorCode.ILLEGAL_SASL_STATE)
        if mechanism not in offered:
            self._log(speaker, f"wants the mechanism {mechanism[:40]!r}, which is not offered")
            return Handshake(ErrorCode.UNSUPPORTED_SASL_MECHANISM, offered)
        tokens = partial(self._tokens.find, self._node.image.access.tokens, self._node.settings, self._node.now_ms)
        check = partial(self._checked, speaker.context.listener)
        known = Credentials(own, self._node.image, self._secret, check, tokens)
        speaker.conversation = Conversation(mechanism, known, self._node.entropy)
        return Handshake(ErrorCode.NONE, offered)

    def respond(self, speaker: Speaker, token: bytes) -> Authenticated:
        conversation = speaker.conversation
        if conversation is None:
            return Authenticated(ErrorCode.ILLEGAL_SASL_STATE, ALREADY if speaker.is_authenticated else NOT_YET)
        try:
            answer = conversation.respond(token)
            user = conversation.user
            return Authenticated(token=answer) if user is None else self._prove(speaker, conversation, user, answer)
        except AuthenticationFailed as failure:
            speaker.conversation = None
            self._node.metrics.authentication_failures[speaker.context.listener] += 1
            self._log(speaker, f"failed to authenticate with {conversation.mechanism}: {failure}")
            during = "authentication" if speaker.proof is None else "re-authentication"
            why = f"Authentication failed during {during} due to invalid credentials with SASL mechanism "
            return Authenticated(ErrorCode.SASL_AUTHENTICATION_FAILED, failure.told or why + conversation.mechanism)

    def _certified(self, listener: str, address: str, certified: str) -> Principal | None:
        """Whom a certificate's name stands for; nobody, if no rule fits."""
        rules = read_principal_rules(self._node.settings.of_listener(listener)["ssl.principal.mapping.rules"])
        name = mapped(rules, certified)
        if name is None:
            self._node.metrics.authentication_failures[listener] += 1
            what = f"{address} at {listener} shows a certificate that no rule of ssl.principal.mapping.rules fits"
            self._node.log("warning", "network", f"{what}: {certified}", kind="authentication")
        return None if name is None else Principal("User", name)

    def _may_begin(self, speaker: Speaker, mechanism: str) -> bool:
        """Who is known proves it again only where sessions end, and only in the same way."""
        if speaker.conversation is not None:
            return False
        proof = speaker.proof
        if proof is None:
            return self._protocols.get(speaker.context.listener) in AUTHENTICATING and not speaker.is_authenticated
        return mechanism == proof.mechanism and proof.is_passing

    def _prove(self, speaker: Speaker, conversation: Conversation, user: str, answer: bytes) -> Authenticated:
        principal, mechanism = Principal("User", user), conversation.mechanism
        before = speaker.proof
        if before is not None and before.principal != principal:
            raise AuthenticationFailed(f"{before.principal} comes back as {principal}")
        lifetime_ms = self._lifetime_ms(speaker, conversation)
        speaker.conversation = None
        speaker.proof = Proof(principal, mechanism, lifetime_ms is not None)
        speaker.authenticate(principal, by_token=conversation.is_by_token)
        if lifetime_ms is not None:
            speaker.expire_in(lifetime_ms)
        return Authenticated(token=answer, lifetime_ms=lifetime_ms or 0)

    def _lifetime_ms(self, speaker: Speaker, conversation: Conversation) -> int | None:
        """How long the session is; None: as long as the connection. A proof that ends by itself may make it shorter."""
        own = self._node.settings.of_listener(speaker.context.listener)
        longest_ms: int = own.of_mechanism(conversation.mechanism, "connections.max.reauth.ms")
        limits_ms = [longest_ms] if longest_ms > 0 else []
        if conversation.expires_ms is not None:
            limits_ms.append(max(conversation.expires_ms - self._node.now_ms, 0))
        return min(limits_ms, default=None)

    def _checked(self, listener: str, text: str) -> Verified:
        """Whom a token is about, by the settings of its listener."""
        token = read_token(text)
        why = self._node.signing_keys.refusal(listener, token.signature)
        if why is not None:
            raise AuthenticationFailed(f"a token that is not good: {why}")
        return verified(token.claims, _expected(self._node.settings, listener), self._node.now_ms)

    def _log(self, speaker: Speaker, what: str) -> None:
        where = f"{speaker.context.address}:{speaker.port} at {speaker.context.listener}"
        self._node.log("warning", "network", f"{where} {what}", kind="authentication")
        self._node.audit_refusal({"event": "authentication", **who(speaker.context), "result": what})


def authenticator_of(node: AuthenticationHost) -> Authenticator:
    """Whether anybody has to say who it is depends on the listeners."""
    listeners = node.settings.listeners
    if all(each.protocol == 0 for each in (*listeners.broker, *listeners.controller)):
        return OPEN.authenticator
    return Authentication(node)


def _expected(settings: BrokerSettings, listener: str) -> Expected:
    """What tokens must say at a listener."""
    values = settings.of_listener(listener)
    names = ("expected.audience", "expected.issuer", "clock.skew.seconds", "scope.claim.name", "sub.claim.name")
    return Expected(*(values.of_mechanism(OAUTHBEARER, f"sasl.oauthbearer.{name}") for name in names))
