"""What stands between a request and its handler: an authenticator, an authorizer, a quota manager.

`Dispatcher` asks them in this order, for what came in an Envelope as well. What they are by default lets everything
pass; whoever brings another one puts it into `Node.gates`, and changes no API.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from penstock.core.base.errors import ErrorCode
from penstock.core.node.controller.ports import MutationQuota
from penstock.core.node.serving.access import Operation, Resource, Touches
from penstock.core.node.serving.context import ANONYMOUS, Principal, Proof, RequestContext
from penstock.core.node.serving.conversation import Conversation

ALREADY: Final = "SaslAuthenticate request received after successful authentication"


class Speaker(Protocol):
    """A connection, as far as it says whose it is."""

    conversation: Conversation | None
    proof: Proof | None

    @property
    def context(self) -> RequestContext: ...

    @property
    def is_authenticated(self) -> bool: ...

    @property
    def port(self) -> int: ...

    def authenticate(self, principal: Principal, *, by_token: bool = False) -> None: ...

    def expire_in(self, lifetime_ms: int) -> None: ...


class Handshake(NamedTuple):
    """Whether a mechanism may be used, and which may."""

    code: ErrorCode
    mechanisms: tuple[str, ...] = ()


class Authenticated(NamedTuple):
    """What comes of a client's token: another one to answer, or an error."""

    code: ErrorCode = ErrorCode.NONE
    message: str | None = None
    token: bytes = b""
    lifetime_ms: int = 0


class Authenticator(Protocol):
    """Who is at the other end of a connection."""

    def principal(self, listener: str, address: str, certified: str | None) -> Principal | None:
        """Asked once, when the connection opens; `certified` is the name in its certificate. None: that is not known
        yet. Then only APIs that say `before_authentication` are served, until `Connection.authenticate` is called."""
        ...

    def frame_bytes_max(self, listener: str) -> int:
        """How large a request may be as long as that is not known."""
        ...

    def begin(self, speaker: Speaker, mechanism: str) -> Handshake:
        """A client wants to authenticate in some way."""
        ...

    def respond(self, speaker: Speaker, token: bytes) -> Authenticated:
        """It says something in that way."""
        ...


class Authorizer(Protocol):
    """Who may do what."""

    def allows(self, context: RequestContext, operation: Operation, resource: Resource, name: str) -> bool:
        """`name` is that of the topic, the group, the transactional id; CLUSTER_NAME for the cluster."""
        ...

    def allows_some(self, context: RequestContext, operation: Operation, resource: Resource) -> bool:
        """Whether there is a name for which it would be allowed."""
        ...

    @property
    def edition(self) -> object:
        """Another one as soon as any answer may be another one."""
        ...


class Asked(Protocol):
    """The API that is asked, as far as a quota may depend on it."""

    @property
    def key(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def touches(self) -> tuple[Touches, ...]: ...


class QuotaManager(Protocol):
    """How much somebody may ask for."""

    def throttle_ms(self, context: RequestContext, api: Asked, size_bytes: int) -> int:
        """Count requests of so many bytes; gives how long their client is to rest, 0 if all is well. It is told so, and
        not listened to for as long. A request of many elements may come twice, first to be put off."""
        ...

    def turn_took(self, elapsed_us: int) -> None:
        """A turn ends that served whoever was asked about since the last one."""
        ...

    def fetched_ms(self, context: RequestContext, size_bytes: int) -> int:
        """A client is given so many bytes of records; gives how long it is to rest after them."""
        ...

    def fetch_bytes_max(self, context: RequestContext, bytes_max: int) -> int:
        """How many bytes an answer may have."""
        ...

    def mutation_quota(self, context: RequestContext) -> MutationQuota | None:
        """What limits the changes of the cluster that a client asks for, if anything does."""
        ...


class Anonymous:
    """Everybody is the same, and known."""

    def principal(self, listener: str, address: str, certified: str | None) -> Principal | None:
        return ANONYMOUS

    def frame_bytes_max(self, listener: str) -> int:
        return 0

    def begin(self, speaker: Speaker, mechanism: str) -> Handshake:
        return Handshake(ErrorCode.ILLEGAL_SASL_STATE)

    def respond(self, speaker: Speaker, token: bytes) -> Authenticated:
        return Authenticated(ErrorCode.ILLEGAL_SASL_STATE, ALREADY)


class AllowAll:
    """Everybody may do everything."""

    def allows(self, context: RequestContext, operation: Operation, resource: Resource, name: str) -> bool:
        return True

    def allows_some(self, context: RequestContext, operation: Operation, resource: Resource) -> bool:
        return True

    @property
    def edition(self) -> object:
        return None


class Unlimited:
    """Nobody is slowed down."""

    def throttle_ms(self, context: RequestContext, api: Asked, size_bytes: int) -> int:
        return 0

    def turn_took(self, elapsed_us: int) -> None:
        """Nobody counts it."""

    def fetched_ms(self, context: RequestContext, size_bytes: int) -> int:
        return 0

    def fetch_bytes_max(self, context: RequestContext, bytes_max: int) -> int:
        return bytes_max

    def mutation_quota(self, context: RequestContext) -> MutationQuota | None:
        return None


UNLIMITED: Final = Unlimited()


ALLOW_ALL: Final = AllowAll()
"""Who has this one need not ask it."""


class Gates(NamedTuple):
    """One of each."""

    authenticator: Authenticator = Anonymous()
    authorizer: Authorizer = ALLOW_ALL
    quotas: QuotaManager = UNLIMITED


OPEN: Final = Gates()
"""What lets everything pass; the fast path does not even ask."""
