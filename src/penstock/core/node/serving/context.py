"""Who asks: the principal, over which listener, from where, and by which name it goes.

A request that came in an envelope has the context of whoever sent it, not that of the broker that forwarded it.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Principal(NamedTuple):
    """Whom rules and quotas are about."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


class Proof(NamedTuple):
    """How somebody has proved who it is; who has to do so again does it in the same way."""

    principal: Principal
    mechanism: str
    is_passing: bool = False
    """Whether it ends, so that it has to be given again."""


ANONYMOUS: Final = Principal("User", "ANONYMOUS")
ITSELF: Final = Principal("Node", "itself")
"""A node that asks itself: no gate is meant for it, and nobody else can say so of himself."""


class RequestContext(NamedTuple):
    """One for all requests of a connection, as long as they give the same client id."""

    principal: Principal
    listener: str
    address: str
    client_id: str | None = None
    is_by_token: bool = False
    """Whether a delegation token says who it is."""
    is_forwarded: bool = False
    """Whether it came in an envelope, over a listener that says nothing of the client's."""
