"""ElectLeaders (43). Version 1 can ask for unclean elections and says errors for the whole."""

from __future__ import annotations

from penstock.core.apis.places import by_plan
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.elections import electing_everywhere, plan_elections
from penstock.core.node.controller.plans import Planned, Swept
from penstock.core.node.controller.term import Term
from penstock.core.node.serving.access import Operation, on_cluster
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

ERROR_SINCE = 1
"""The version whose answer has an error for the whole."""


def plan(term: Term, request: ElectLeadersRequest, version: int) -> Planned | Swept:
    """A request that names no partition means all of them, which may take some turns."""
    if request.topic_partitions is not None:
        return plan_elections(term.image, term.settings, request)
    sweep, answer = electing_everywhere(term.image, term.settings, request)
    return Swept([sweep], answer)


def refuse(request: ElectLeadersRequest, version: int, code: ErrorCode, message: str | None) -> ElectLeadersResponse:
    """Kafka says it of the whole and of each partition."""
    results = [
        ReplicaElectionResult(
            topic=topic.topic,
            partition_result=[
                PartitionResult(partition_id=index, error_code=code, error_message=message)
                for index in topic.partitions
            ],
        )
        for topic in request.topic_partitions or ()
    ]
    top = code if version >= ERROR_SINCE else 0
    return ElectLeadersResponse(error_code=top, replica_election_results=results)


API = Api(ElectLeadersRequest, range(3), by_plan(plan), on_cluster(Operation.ALTER), refuse=refuse)
