"""Something that is wrong, or will be: what was seen, and what to do."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Severity(Enum):
    """Records are at risk, or cannot be written or read; or that may come."""

    CRITICAL = "critical"
    WARNING = "warning"


class Finding(NamedTuple):
    """`check` is its name, which stays; `about` is the thing; the fix is a command."""

    severity: Severity
    check: str
    about: str
    evidence: str
    fix: str
