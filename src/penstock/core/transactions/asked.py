"""A request on its way into a machine."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from penstock.core.base.errors import ErrorCode
from penstock.core.rsm.result import Reply
from penstock.core.wire import Message

R = TypeVar("R", bound=Message)


class Asked(NamedTuple, Generic[R]):
    """One request. Those about several transactions are cut into one for each."""

    request: R
    version: int
    reply: Reply


def told(code: ErrorCode, version: int, fencing_version: int) -> ErrorCode:
    """Clients older than the version of a request that knows PRODUCER_FENCED hear what they have always heard."""
    is_too_old = code is ErrorCode.PRODUCER_FENCED and version < fencing_version
    return ErrorCode.INVALID_PRODUCER_EPOCH if is_too_old else code
