"""Log levels, which clients may read and change as "broker loggers"."""

from __future__ import annotations

LEVELS = ("FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE")
DEFAULT_LEVEL = "INFO"
ROOT = "root"
COMPONENTS = (
    "access",
    "audit",
    "controller",
    "coordinator",
    "disk",
    "housekeeping",
    "membership",
    "network",
    "node",
    "quorum",
    "replication",
    "schemas",
    "scrub",
    "settings",
    "sharing",
    "storage",
)
"""The parts of a node that say something; each is a logger of its own below the root."""

SEVERITY = {"error": "ERROR", "warning": "WARN", "info": "INFO", "debug": "DEBUG"}
"""How our notes are called there."""


def is_loud_enough(note: str, level: str) -> bool:
    """Whether a note of this kind is written at this level."""
    return LEVELS.index(SEVERITY[note]) <= LEVELS.index(level)
