"""Room on the disks of brokers, where they tell it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.client.checkup.facts import Facts
from penstock.client.checkup.finding import Finding, Severity

FULL_SHARE: Final = 0.8
CRITICAL_SHARE: Final = 0.9


def filling_disks(facts: Facts) -> Iterator[Finding]:
    for folder in facts.log_dirs:
        # Old brokers say -1 instead.
        if folder.total_bytes <= 0 or folder.usable_bytes < 0:
            continue
        share = 1 - folder.usable_bytes / folder.total_bytes
        is_full = folder.broker in facts.health.full
        if share >= FULL_SHARE or is_full:
            severity = Severity.CRITICAL if is_full or share >= CRITICAL_SHARE else Severity.WARNING
            evidence = f"{folder.path} is {share:.0%} full" + (": it refuses producers" if is_full else "")
            fix = "penstock topic list  # and lower retention.bytes of the largest"
            yield Finding(severity, "disk", f"broker {folder.broker}", evidence, fix)
