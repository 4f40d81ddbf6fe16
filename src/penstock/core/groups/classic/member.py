"""One member of a classic group: what it told us, what it was given, and how long it may stay silent."""

from __future__ import annotations

from collections.abc import Collection

from penstock.core.base.values import mutable

Protocols = tuple[tuple[str, bytes], ...]
"""(name, metadata) of each protocol a member supports, the preferred one first."""


@mutable
class Member:
    """A static member has an `instance_id` that outlives its member id."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    is_new: bool = False
    """True until its first join completes; it does not know its member id and cannot send heartbeats."""
    deadline_ms: int = 0
    """When the session ends unless the member is heard of."""
    alarm_ms: int | None = None
    """When the session's timer goes off; never later than `deadline_ms`, and often earlier (see `sessions`)."""

    @property
    def size_bytes(self) -> int:
        """What it says of itself, and is given."""
        said = sum(len(name) + len(metadata) for name, metadata in self.protocols)
        return said + len(self.assignment) + len(self.client_id) + len(self.instance_id or "")

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    def protocol_names(self) -> set[str]:
        return {name for name, _ in self.protocols}

    def metadata(self, protocol: str) -> bytes:
        return next(metadata for name, metadata in self.protocols if name == protocol)

    def vote(self, candidates: Collection[str]) -> str:
        """The first of its protocols that every member supports."""
        return next(name for name, _ in self.protocols if name in candidates)
