"""All checks, the worst first in what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from penstock.client.checkup import disks, groups, layout, records, settings
from penstock.client.checkup.facts import Facts
from penstock.client.checkup.finding import Finding, Severity

CHECKS: Final[tuple[Callable[[Facts], Iterator[Finding]], ...]] = (
    layout.brokers_away,
    layout.offline_partitions,
    layout.under_replicated,
    layout.unreachable_listeners,
    disks.filling_disks,
    settings.fighting_settings,
    settings.few_copies,
    layout.uneven_partitions,
    layout.uneven_leaders,
    layout.too_many_partitions,
    records.hot_keys,
    records.careless_producers,
    records.clocks,
    groups.behind,
    groups.restless,
)


def diagnose(facts: Facts) -> list[Finding]:
    found = [finding for check in CHECKS for finding in check(facts)]
    return sorted(found, key=lambda each: each.severity is not Severity.CRITICAL)
