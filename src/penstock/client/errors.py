"""What can go wrong for a client, in words that help: the code's name, what it means here, what to do next."""

from collections.abc import Mapping
from typing import Final

from penstock.core.base.errors import RETRIABLE, ErrorCode, PenstockError

# Retrying is a promise that waiting helps. A name that nobody created, or bytes that are broken, do not get better.
TRANSIENT: Final = RETRIABLE - {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.ELECTION_NOT_NEEDED,
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
}

TOPIC_UNKNOWN: Final = frozenset(
    {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INCONSISTENT_TOPIC_ID}
)

_NAME_A_BROKER: Final = "name a broker's address with --bootstrap, as `penstock status` shows it"

GREETING: Final = "ApiVersions"
_IS_IT_A_BROKER: Final = "make sure that a broker listens there, or give it more time with --timeout"

_HINTS: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "see `penstock topic list`, or create it with `penstock topic create NAME`",
    ErrorCode.TOPIC_ALREADY_EXISTS: "look at it with `penstock topic describe NAME`, or choose another name",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "a name has 1 to 249 of the characters a-z A-Z 0-9 . _ - and is not `.` or `..`",
    ErrorCode.INVALID_PARTITIONS: "the number of partitions is positive and can only grow",
    ErrorCode.INVALID_REPLICATION_FACTOR: "there cannot be more copies than brokers: see `penstock cluster info`",
    ErrorCode.REQUEST_TIMED_OUT: "see `penstock cluster health`, or give it more time with --timeout",
    ErrorCode.OFFSET_OUT_OF_RANGE: "see which offsets exist with `penstock topic describe NAME`",
    ErrorCode.MESSAGE_TOO_LARGE: "raise the topic's max.message.bytes, or send smaller batches",
    ErrorCode.NOT_ENOUGH_REPLICAS: "too few in-sync replicas for acks=all: see `penstock topic describe NAME`",
    ErrorCode.GROUP_ID_NOT_FOUND: "list the groups with `penstock group list`",
    ErrorCode.NON_EMPTY_GROUP: "stop the group's members first: see `penstock group describe NAME`",
    ErrorCode.UNKNOWN_MEMBER_ID: "the group has members: stop them first, see `penstock group describe NAME`",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "stop the group's members first: see `penstock group describe NAME`",
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: "list them with `penstock txn list`",
    ErrorCode.PRODUCER_FENCED: "another producer has begun with this transactional id: give each one its own",
    ErrorCode.MISMATCHED_ENDPOINT_TYPE: _NAME_A_BROKER,
    ErrorCode.INVALID_CONFIG: "check name and value; `penstock config describe` lists what can be set",
    ErrorCode.POLICY_VIOLATION: "a setting of the topic or a policy forbids it: see `penstock config describe`",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "ask whoever runs the cluster for access to the topic",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "ask whoever runs the cluster for access to the group",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "ask whoever runs the cluster for access to the transactional id",
    ErrorCode.SECURITY_DISABLED: "set authorizer.class.name on all nodes: see `Who may do what` in docs/operations.md",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "ask whoever runs the cluster to do this",
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: "set delegation.token.secret.key, the same, on all nodes",
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "log in with SASL or a certificate, and not with a token",
    ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH: "only its owner and its renewers may: see `penstock token list`",
    ErrorCode.DELEGATION_TOKEN_EXPIRED: "make another one with `penstock token create`",
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: (
        "tokens for others take `penstock acl add --user NAME --operation create-tokens --principal YOU`"
    ),
}
# One code says several things; what a broker adds to it tells them apart.
_HINTS_BY_DETAIL: Final = {
    "collides with": "metrics write `.` and `_` alike, so names differ in more than that: choose another",
    "A request may create at most": "ask for fewer, and then add more with `penstock topic alter NAME --partitions N`",
}


class ClientError(PenstockError):
    """A request that failed; `hint` says what a person may do about it."""

    def __init__(self, message: str, *, code: ErrorCode | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint if hint is not None or code is None else _hint(code, message)

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed later without anybody's help."""
        return self.code in TRANSIENT

    @property
    def is_absence(self) -> bool:
        """Whether somebody is not there, or does not answer in time: who can do without goes on."""
        return self.is_transient or self.code == ErrorCode.BROKER_NOT_AVAILABLE


class Unreachable(ClientError):
    """Nobody answers at an address, or the connection to it broke."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            f"no broker answers at {address} ({reason})",
            hint="start one with `penstock up`, or name another with --bootstrap (or PENSTOCK_BOOTSTRAP)",
        )
        self.address = address

    @property
    def is_transient(self) -> bool:
        return True


class TimedOut(ClientError):
    """A broker took longer than it was given. Whoever has not even said what it serves may be none."""

    def __init__(self, address: str, what: str, seconds: float) -> None:
        super().__init__(
            f"{address} did not answer {what} within {round(seconds, 1):g} s",
            code=ErrorCode.REQUEST_TIMED_OUT,
            hint=_IS_IT_A_BROKER if what == GREETING else None,
        )


class ControllersOnly(ClientError):
    """Who answers at an address is a controller, which knows nothing of what brokers serve."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"{address} is where a controller listens", code=ErrorCode.UNSUPPORTED_VERSION, hint=_NAME_A_BROKER
        )


def _hint(code: ErrorCode, message: str) -> str | None:
    by_detail = (hint for detail, hint in _HINTS_BY_DETAIL.items() if detail in message)
    return next(by_detail, _HINTS.get(code))


def check(code: int, about: str, detail: str | None = None) -> None:
    """Raise what an error code in a reply means for the thing it is about."""
    if code == ErrorCode.NONE:
        return
    known = code if code in ErrorCode._value2member_map_ else ErrorCode.UNKNOWN_SERVER_ERROR
    error = ErrorCode(known)
    name = error.name if known == code else f"error code {code}"
    # Brokers often repeat nothing but the code's name, which is said already.
    said = f": {detail}" if detail and detail != error.name else ""
    raise ClientError(f"{about}: {name}{said}", code=error)


def check_leader(code: int, about: str, detail: str | None = None) -> None:
    """The same for what the leader of a partition says. One that does not know the topic has not heard of it yet, or
    it is gone: whoever forgets what was known of the topic, and asks again, hears which."""
    check(ErrorCode.LEADER_NOT_AVAILABLE if code in TOPIC_UNKNOWN else code, about, detail)
