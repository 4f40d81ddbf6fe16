"""One member of a streams group, as its records say it is. A change makes another value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.core.base.values import frozen
from penstock.core.groups.consumer.member import MemberState as MemberState
from penstock.core.groups.streams.tasks import NO_TASKS, Roles, Task

Epochs = Mapping[Task, int]
NO_EPOCHS: Final[Epochs] = {}


@frozen
class StreamsMember:
    """What it says of itself, and how far it has come towards the target assignment."""

    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    """Its threads are members of their own; no two of them have the same task."""
    endpoint: tuple[str, int] | None = None
    """Where others may ask it for its state."""
    tags: tuple[tuple[str, str], ...] = ()
    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Roles = NO_TASKS
    revoking: Roles = NO_TASKS
    """Pending revocation: its own until it says otherwise."""
    since: Epochs = NO_EPOCHS
    """In the epoch of which target it got each active task."""

    @property
    def said(self) -> tuple[object, ...]:
        """What is in its record of metadata."""
        return (
            self.rack_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.topology_epoch,
            self.process_id,
            self.endpoint,
            self.tags,
        )

    @property
    def size_bytes(self) -> int:
        texts = (self.client_id, self.client_host, self.rack_id, self.process_id, *(self.endpoint or ())[:1])
        said = sum(len(str(each or "")) for each in texts) + sum(len(key) + len(value) for key, value in self.tags)
        return said + self.assigned.size_bytes

    def is_at(self, target_epoch: int) -> bool:
        """Whether it has all that the target of this epoch says."""
        return self.state is MemberState.STABLE and self.epoch == target_epoch
