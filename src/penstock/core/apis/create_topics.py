"""CreateTopics (19). Versions 2 to 7: 5 answers with settings and counts, 7 with topic ids."""

from __future__ import annotations

from penstock.core.apis.mutations import STRICT_CREATION_SINCE, by_charged_plan
from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.base.steps import at_once
from penstock.core.metadata.topic_requests import Charge, Created, creation_holds, planning_creation
from penstock.core.node.controller.term import Term
from penstock.core.node.serving.access import Operation, Resource, Touches
from penstock.core.node.serving.api import Api
from penstock.core.node.serving.authorizing import Question, by_touches
from penstock.core.wire.api.create_topics import CreateTopicsRequest, CreateTopicsResponse
from penstock.core.wire.schema import Response

AT_ONCE_MAX = 500
"""Partitions that are planned within one turn; a request for more takes some."""

HIDDEN = -1


def plan(term: Term, request: CreateTopicsRequest, version: int, charge: Charge) -> Created | Steps[Created]:
    if sum(max(topic.num_partitions, len(topic.assignments)) for topic in request.topics) <= AT_ONCE_MAX:
        return at_once(planning_creation(term.image, term.settings, request, term.host.new_id, charge))
    return _slowly(term, request, charge)


def _slowly(term: Term, request: CreateTopicsRequest, charge: Charge) -> Steps[Created]:
    """Plan with pauses, and again where what was planned does not fit what has come meanwhile."""
    while True:
        image = term.image
        records, response = yield from planning_creation(image, term.settings, request, term.host.new_id, charge)
        if creation_holds(image, term.image, response):
            return records, response


CREATE = Touches(Operation.CREATE, Resource.TOPIC, "topics.name", unless=Touches(Operation.CREATE, Resource.CLUSTER))
_by_names = by_touches((CREATE,))


def authorize(question: Question) -> Response | None:
    """Who may create a topic but not look at its settings is not told what they became."""

    def hide(answer: CreateTopicsResponse) -> None:
        for topic in answer.topics:
            if not topic.error_code and not question.may(Operation.DESCRIBE_CONFIGS, Resource.TOPIC, topic.name):
                topic.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                topic.num_partitions = topic.replication_factor = HIDDEN
                topic.configs = []

    refused = _by_names(question)
    question.after.append(hide)
    return refused


API = Api(
    CreateTopicsRequest,
    range(2, 8),
    by_charged_plan(plan, STRICT_CREATION_SINCE),
    (CREATE, Touches(Operation.DESCRIBE_CONFIGS, Resource.TOPIC)),
    authorize=authorize,
)
