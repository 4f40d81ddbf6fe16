"""What connections to other nodes are for. Each purpose has a connection of its own, so that nobody waits behind it.

Answers leave a connection in order: what waits for many records to be committed must not stand before a heartbeat.
"""

from typing import Final

RAFT: Final = "raft"
FETCHING: Final = "raft-fetch"
CONTROL: Final = "control"
FORWARD: Final = "forward"
ALTER: Final = "alter"
ASSIGN: Final = "assign"
"""A controller that is too old for the question hangs up."""
TO_CONTROLLERS: Final = frozenset({RAFT, FETCHING, CONTROL, FORWARD, ALTER, ASSIGN})

REPLICATE: Final = "replicate"
VERIFY: Final = "verify"
"""A leader asks the coordinator whether a transaction is open."""
MARKERS: Final = "markers"
"""A coordinator tells leaders how transactions have ended."""
ENDS: Final = "ends"
"""A coordinator wants to know how far its groups are behind."""
SCHEMAS: Final = "schemas"
"""Every broker reads the registry's topic."""
DEAD_LETTERS: Final = "dead-letters"
"""Records that did not fit go to whoever leads the topic of dead letters."""
SHARE_SETUP: Final = "share-setup"
"""A group coordinator sets up, or gives up, what share coordinators keep."""
SHARE_STATE: Final = "share-state"
"""A leader reads and writes what is kept of share groups."""
TO_BROKERS: Final = frozenset({SHARE_SETUP, SHARE_STATE, REPLICATE, VERIFY, MARKERS, SCHEMAS, DEAD_LETTERS, ENDS})
