"""Changes of topics under a quota: `controller_mutation_rate`, in partitions that come or go a second.

From a version on clients know THROTTLING_QUOTA_EXCEEDED, and are refused topic by topic. Older ones are served, and
rest afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.core.apis.places import by_controller
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.metadata.topic_requests import Charge, free
from penstock.core.node.controller.active import ActiveController
from penstock.core.node.controller.plans import Planned, planned
from penstock.core.node.controller.ports import Asked, MutationQuota
from penstock.core.node.controller.term import Term
from penstock.core.node.node import Node
from penstock.core.node.serving.api import Handling

STRICT_CREATION_SINCE: Final = 6
STRICT_DELETION_SINCE: Final = 5
STRICT_GROWTH_SINCE: Final = 3

ChargedPlan = Callable[[Term, Any, int, Charge], Planned | Steps[Planned]]


def by_charged_plan(plan: ChargedPlan, strict_since: int) -> Handling[Node]:
    """The active controller carries out what a plan says, as far as the client's quota goes."""

    def decide(active: ActiveController, asked: Asked) -> None:
        charge: Charge = free
        if asked.quota is not None and not getattr(asked.request, "validate_only", False):
            charge = _charging(asked.quota, strict=asked.version >= strict_since)
        planned(lambda term, request, version: plan(term, request, version, charge))(active, asked)

    return by_controller(decide)


def _charging(quota: MutationQuota, *, strict: bool) -> Charge:
    """A request that takes several turns may be planned more than once, and is charged once."""
    known: dict[str, bool] = {}

    def charge(topic: str, partitions: int) -> None:
        if topic not in known:
            known[topic] = quota.take(partitions, strict=strict)
        if not known[topic]:
            raise ApiError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded.")

    return charge
