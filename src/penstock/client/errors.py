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

_HINTS: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "see `penstock topic list`, or create it with `penstock topic create NAME`",
    ErrorCode.TOPIC_ALREADY_EXISTS: "look at it with `penstock topic describe NAME`, or choose another name",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "a name has 1 to 249 of the characters a-z A-Z 0-9 . _ - and is not `.` or `..`",
    ErrorCode.INVALID_PARTITIONS: "the number of partitions is positive and can only grow",
    ErrorCode.INVALID_REPLICATION_FACTOR: "there cannot be more copies than brokers: see `penstock cluster info`",
    ErrorCode.OFFSET_OUT_OF_RANGE: "see which offsets exist with `penstock topic describe NAME`",
    ErrorCode.MESSAGE_TOO_LARGE: "raise the topic's max.message.bytes, or send smaller batches",
    ErrorCode.NOT_ENOUGH_REPLICAS: "too few in-sync replicas for acks=all: see `penstock topic describe NAME`",
    ErrorCode.GROUP_ID_NOT_FOUND: "list the groups with `penstock group list`",
    ErrorCode.NON_EMPTY_GROUP: "stop the group's members first: see `penstock group describe NAME`",
    ErrorCode.UNKNOWN_MEMBER_ID: "the group has members: stop them first, see `penstock group describe NAME`",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "stop the group's members first: see `penstock group describe NAME`",
    ErrorCode.INVALID_CONFIG: "check name and value; `penstock config describe` lists what can be set",
    ErrorCode.POLICY_VIOLATION: "the topic's settings forbid it: see `penstock config describe --topic NAME --all`",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "ask whoever runs the cluster for access to the topic",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "ask whoever runs the cluster for access to the group",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "ask whoever runs the cluster to do this",
}


class ClientError(PenstockError):
    """A request that failed; `hint` says what a person may do about it."""

    def __init__(self, message: str, *, code: ErrorCode | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint if hint is not None or code is None else _HINTS.get(code)

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed later without anybody's help."""
        return self.code in TRANSIENT


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
    """A broker took longer than it was given."""

    def __init__(self, address: str, what: str, seconds: float) -> None:
        super().__init__(
            f"{address} did not answer {what} within {seconds:g} s",
            code=ErrorCode.REQUEST_TIMED_OUT,
            hint="make sure that a broker listens there, or give it more time with --timeout",
        )


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
