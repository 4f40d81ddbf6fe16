"""One member of a share group, as its records say it is. A change makes another value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.core.base.values import frozen

Partitions = Mapping[bytes, frozenset[int]]
"""By topic id."""
NOTHING: Final[Partitions] = {}
STABLE: Final = 0
"""The only state there is: nothing has to be given up before somebody else may read it, too."""


@frozen
class ShareMember:
    """What it says of itself, and what it has been given."""

    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    epoch: int = 0
    previous_epoch: int = 0
    assigned: Partitions = NOTHING

    @property
    def size_bytes(self) -> int:
        said = sum(len(each or "") for each in (*self.topics, self.client_id, self.rack_id))
        return said + sum(16 + 8 * len(each) for each in self.assigned.values())
