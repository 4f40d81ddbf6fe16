"""Tenants, as one setting of the cluster names them: `name:prefix:partitions`, with the most partitions that may be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Tenant(NamedTuple):
    """Whoever owns all topics that begin in some way, and how many partitions these may have together."""

    name: str
    prefix: str
    partitions_max: int

    @property
    def text(self) -> str:
        return f"{self.name}:{self.prefix}:{self.partitions_max}"


def read_tenant(text: str) -> Tenant | None:
    """None: that is no tenant."""
    name, _, rest = text.strip().partition(":")
    prefix, _, count = rest.partition(":")
    if not name or not prefix or not count.isdecimal():
        return None
    return Tenant(name, prefix, int(count))


def tenants_of(texts: Iterable[str]) -> tuple[Tenant, ...]:
    """Of a list that was checked."""
    return tuple(found for text in texts if (found := read_tenant(text)) is not None)


def problem_with(texts: Iterable[str]) -> str | None:
    """What is wrong with a list of tenants; whose prefix begins another one's would own its topics as well."""
    known: list[Tenant] = []
    for text in texts:
        tenant = read_tenant(text)
        if tenant is None:
            return f"{text!r} is not of the form name:prefix:partitions"
        for other in known:
            if other.name == tenant.name:
                return f"tenant {tenant.name} is there twice"
            if other.prefix.startswith(tenant.prefix) or tenant.prefix.startswith(other.prefix):
                return f"topics of {tenant.name} would also be {other.name}'s: {tenant.prefix!r} and {other.prefix!r}"
        known.append(tenant)
    return None
