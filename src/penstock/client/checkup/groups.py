"""Groups that do not get on: further behind at each look, or always busy sharing out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from penstock.client.checkup.facts import Facts, GroupLook
from penstock.client.checkup.finding import Finding, Severity

LAG_MIN: Final = 1_000
REBALANCING: Final = frozenset({"preparingrebalance", "completingrebalance", "assigning", "reconciling"})
LOOKS_MIN: Final = 3


def behind(facts: Facts) -> Iterator[Finding]:
    for name, looks in facts.groups.items():
        first, last = looks[0], looks[-1]
        if first.lag is None or last.lag is None or last.lag < LAG_MIN or last.lag <= first.lag:
            continue
        how = f"it read {last.committed - first.committed} records, and {last.lag - first.lag} more than that came"
        who = f"{len(last.members)} members" if last.members else "no members"
        evidence = f"its lag grew from {first.lag} to {last.lag} with {who}: {how}"
        yield Finding(Severity.WARNING, "lag", f"group {name}", evidence, f"penstock group describe {name}")


def restless(facts: Facts) -> Iterator[Finding]:
    """In most of the looks it was sharing out, or its members were others than before."""
    for name, looks in facts.groups.items():
        if len(looks) < LOOKS_MIN:
            continue
        busy = _busy(looks)
        if busy > len(looks) / 2:
            evidence = f"it was rebalancing, or had other members, at {busy} of {len(looks)} looks"
            yield Finding(Severity.WARNING, "rebalances", f"group {name}", evidence, f"penstock group describe {name}")


def _busy(looks: Sequence[GroupLook]) -> int:
    before = looks[0]
    busy = int(_is_rebalancing(before))
    for look in looks[1:]:
        busy += _is_rebalancing(look) or look.members != before.members
        before = look
    return busy


def _is_rebalancing(look: GroupLook) -> bool:
    return look.state.replace("_", "").lower() in REBALANCING
