"""A request on its way into a shard, with all that is known of who sent it."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from penstock.core.rsm.result import Reply
from penstock.core.wire import Message

R = TypeVar("R", bound=Message)


class Asked(NamedTuple, Generic[R]):
    """One request."""

    request: R
    version: int
    reply: Reply
    group_id: str | None = None
    """None where it is about several groups."""
    client_id: str = ""
    client_host: str = ""
