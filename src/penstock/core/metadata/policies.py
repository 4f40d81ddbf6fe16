"""What new topics and partitions must be like: names, copies, counts, and how many a tenant may have.

A policy is about people: the topics that nodes themselves make are not held to it.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.patterns.pattern import Pattern
from penstock.core.base.settings import BrokerSettings
from penstock.core.base.settings.tenants import Tenant, tenants_of
from penstock.core.base.steps import at_once
from penstock.core.metadata.image import Image

TENANTS: Final = "penstock.tenants"
NAME: Final = "penstock.policy.topic.name.pattern"
PARTITIONS_MAX: Final = "penstock.policy.topic.partitions.max"
COPIES_MIN: Final = "penstock.policy.replication.factor.min"
INTERNAL: Final = "__"


class Policies:
    """Those of one request, which counts what it has been allowed so far."""

    def __init__(self, image: Image, settings: BrokerSettings) -> None:
        self._image = image
        self._settings = settings
        self._tenants = tenants_of(settings[TENANTS])
        self._taken: Counter[str] = Counter()

    def check_new(self, name: str, partitions: int, copies: int) -> None:
        """Refuse a topic that somebody wants."""
        if name.startswith(INTERNAL):
            return
        pattern, least = self._settings[NAME], self._settings[COPIES_MIN]
        if pattern and not at_once(_compiled(pattern).matches(name)):
            raise _violation(f"The name of a topic must be of the form {pattern} here ({NAME}).")
        if copies < least:
            raise _violation(f"A topic has at least {least} replicas here ({COPIES_MIN}).")
        self.check_more(name, 0, partitions)

    def check_more(self, name: str, present: int, added: int) -> None:
        """Refuse more partitions of a topic than it, or its tenant, may have; count them otherwise."""
        most = self._settings[PARTITIONS_MAX]
        if present + added > most and not name.startswith(INTERNAL):
            raise _violation(f"A topic has at most {most} partitions here ({PARTITIONS_MAX}).")
        tenant = next((each for each in self._tenants if name.startswith(each.prefix)), None)
        if tenant is None:
            return
        if tenant.name not in self._taken:
            self._taken[tenant.name] = partitions_of(self._image, tenant)
        left = tenant.partitions_max - self._taken[tenant.name]
        if added > left:
            raise _violation(
                f"Tenant {tenant.name} may have {tenant.partitions_max} partitions: {max(left, 0)} are left."
            )
        self._taken[tenant.name] += added


def partitions_of(image: Image, tenant: Tenant) -> int:
    """How many the topics of a tenant have."""
    return sum(len(topic) for name, topic in image.topics.items() if name.startswith(tenant.prefix))


@lru_cache(maxsize=4)
def _compiled(pattern: str) -> Pattern:
    return Pattern(pattern)


def _violation(message: str) -> ApiError:
    return ApiError(ErrorCode.POLICY_VIOLATION, message)
