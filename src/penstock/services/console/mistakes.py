"""What a person did that cannot be done, and how failures of the cluster look over HTTP."""

from __future__ import annotations

from penstock.client.errors import ClientError, Unreachable
from penstock.core.base.errors import ErrorCode

_MISSING = frozenset(
    {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND}
)


class Mistake(Exception):
    """Says what is wrong, and what to do."""

    def __init__(self, message: str, hint: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.status = status


def mistake_of(failure: ClientError) -> Mistake:
    """A failure of the cluster, or of what was asked of it."""
    hint = failure.hint
    if isinstance(failure, Unreachable):
        hint = "the page comes back by itself when a broker does"
    return Mistake(str(failure), hint, _status(failure))


def _status(failure: ClientError) -> int:
    if failure.code is not None and failure.code.name.endswith("AUTHORIZATION_FAILED"):
        return 403
    if failure.code in _MISSING:
        return 404
    return 503 if failure.is_absence else 400
