"""The states of a record in a share group, by the numbers that are stored, and what an acknowledgement makes of it.

AVAILABLE -> ACQUIRED -> ACKNOWLEDGED   it was accepted
                      -> ARCHIVED       rejected, a gap, or delivered as often as it may be
                      -> AVAILABLE      released, or its lock has run out
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class State(IntEnum):
    """Kafka stores all of them but ACQUIRED."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4


AVAILABLE: Final = State.AVAILABLE
ACQUIRED: Final = State.ACQUIRED
ACKNOWLEDGED: Final = State.ACKNOWLEDGED
ARCHIVED: Final = State.ARCHIVED

TERMINAL: Final = frozenset({ACKNOWLEDGED, ARCHIVED})
"""Nobody gets such a record any more."""

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
"""The types of acknowledgement. A gap is an offset at which the client found no record."""

OUTCOMES: Final = {GAP: ARCHIVED, ACCEPT: ACKNOWLEDGED, RELEASE: AVAILABLE, REJECT: ARCHIVED}


def outcome_of(wanted: State, delivery_count: int, deliveries_max: int) -> State:
    """A record is offered again only while it may be delivered once more."""
    return ARCHIVED if wanted is AVAILABLE and delivery_count >= deliveries_max else wanted
