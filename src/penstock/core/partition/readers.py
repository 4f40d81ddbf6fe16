"""Who reads a partition: how far each may see is `Partition.visible_end`, and nobody else's decision."""

from __future__ import annotations

from enum import Enum
from typing import Final

ISOLATION_COMMITTED: Final = 1
"""What a request says that wants only what is decided."""


class Reader(Enum):
    """A kind of reader. A request cannot name one: what it says is looked at by `reader_of`, and by who it is."""

    UNCOMMITTED = "consumer"
    COMMITTED = "read_committed consumer"
    REPLICA = "replica"


UNCOMMITTED: Final = Reader.UNCOMMITTED
COMMITTED: Final = Reader.COMMITTED
REPLICA: Final = Reader.REPLICA


def reader_of(isolation: int) -> Reader:
    """A consumer at an isolation level; one that nobody knows is none."""
    return COMMITTED if isolation == ISOLATION_COMMITTED else UNCOMMITTED
