"""CreatePartitions (37). Versions 0 to 3: add partitions to topics."""

from __future__ import annotations

from penstock.core.apis.mutations import STRICT_GROWTH_SINCE, by_charged_plan
from penstock.core.metadata.topic_requests import Charge, plan_more_partitions
from penstock.core.node.controller.plans import Planned
from penstock.core.node.controller.term import Term
from penstock.core.node.serving.access import Operation, on_topics
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.create_partitions import CreatePartitionsRequest


def plan(term: Term, request: CreatePartitionsRequest, version: int, charge: Charge) -> Planned:
    return plan_more_partitions(term.image, term.settings, request, charge)


API = Api(
    CreatePartitionsRequest,
    range(4),
    by_charged_plan(plan, STRICT_GROWTH_SINCE),
    on_topics(Operation.ALTER, "topics.name"),
)
