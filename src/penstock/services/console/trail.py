"""Every action that somebody asked for: who, from where, what, on what, and how it ended; a line of JSON each.

What a record holds and what a password is are not a part of it.
"""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from collections.abc import Mapping
from typing import Final, NamedTuple

KEPT_MAX: Final = 1_000
SHOWN_MAX: Final = 200
UNSAID: Final = frozenset({"csrf", "password", "key", "value", "headers"})
log = logging.getLogger("penstock.console.audit")


class Deed(NamedTuple):
    at: float
    user: str
    host: str
    action: str
    fields: dict[str, str]
    outcome: str


class Trail:
    """The last ones are kept, to be looked at."""

    def __init__(self) -> None:
        self.deeds: deque[Deed] = deque(maxlen=KEPT_MAX)

    def note(self, user: str, host: str, action: str, fields: Mapping[str, str], outcome: str) -> None:
        said = {name: value[:SHOWN_MAX] for name, value in fields.items() if name not in UNSAID and value}
        deed = Deed(time.time(), user or "ANONYMOUS", host, action, said, outcome[:SHOWN_MAX])
        self.deeds.appendleft(deed)
        log.info("%s", json.dumps({"event": "console"} | deed._asdict()))
