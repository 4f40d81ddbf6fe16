"""What an administrative request gets when it cannot be answered: not the controller, not in time, not allowed.

Most responses have one place for an error. Where each thing asked for has its own, each gets it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from penstock.core.wire.api.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from penstock.core.wire.api.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from penstock.core.wire.api.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from penstock.core.wire.api.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from penstock.core.wire.api.incremental_alter_configs import (
    AlterConfigsResourceResponse as IncrementalOutcome,
)
from penstock.core.wire.api.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from penstock.core.wire.registry import response_class
from penstock.core.wire.schema import Request, Response, Struct

Refusal = Callable[[Any, int, int, str | None], Response]

TOPIC_IDS_SINCE = 6
"""The version of DeleteTopics that takes ids."""
ELECTION_ERROR_SINCE = 1
"""The version of ElectLeaders whose answer has an error for the whole."""


def refused(request: Request, version: int, code: ErrorCode, message: str | None = None) -> Response:
    """The response to a controller's request that says `code` and nothing else."""
    special = _SPECIAL.get(type(request))
    if special is not None:
        return special(request, version, int(code), message)
    # Every other response has its error at the top, which the declarations cannot tell a type checker.
    answer: Any = response_class(request.KEY)()
    answer.error_code = int(code)
    if hasattr(answer, "error_message"):
        answer.error_message = message
    found: Response = answer
    return found


def says(message: Struct, code: ErrorCode) -> bool:
    """Whether a response has an error anywhere."""
    for name in _telling_fields(type(message)):
        value = getattr(message, name)
        told = value == code if name == "error_code" else any(says(item, code) for item in value or ())
        if told:
            return True
    return False


@cache
def _telling_fields(kind: type[Struct]) -> tuple[str, ...]:
    """The fields in which a message, or a struct of it, can have an error."""
    fields = kind.SPEC.fields
    return tuple(each.name for each in fields if each.name == "error_code" or (each.element and each.element.struct))


def _create_topics(request: CreateTopicsRequest, version: int, code: int, message: str | None) -> Response:
    names = dict.fromkeys(topic.name for topic in request.topics)
    results = [CreatableTopicResult(name=name, error_code=code, error_message=message) for name in names]
    return CreateTopicsResponse(topics=results)


def _delete_topics(request: DeleteTopicsRequest, version: int, code: int, message: str | None) -> Response:
    if version >= TOPIC_IDS_SINCE:
        pairs = [(topic.name, topic.topic_id) for topic in request.topics]
        results = [
            DeletableTopicResult(name=name, topic_id=topic_id, error_code=code, error_message=message)
            for name, topic_id in pairs
        ]
    else:
        results = [DeletableTopicResult(name=name, error_code=code) for name in request.topic_names]
    return DeleteTopicsResponse(responses=results)


def _create_partitions(request: CreatePartitionsRequest, version: int, code: int, message: str | None) -> Response:
    names = dict.fromkeys(topic.name for topic in request.topics)
    results = [CreatePartitionsTopicResult(name=name, error_code=code, error_message=message) for name in names]
    return CreatePartitionsResponse(results=results)


def _altering(response: type[Response], outcome: Callable[..., object]) -> Refusal:
    """Both ways to alter settings answer for each resource, in words of their own."""

    def refuse(request: Any, version: int, code: int, message: str | None) -> Response:
        outcomes = [
            outcome(
                error_code=code,
                error_message=message,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
            for each in request.resources
        ]
        return response(responses=outcomes)

    return refuse


def _elect_leaders(request: ElectLeadersRequest, version: int, code: int, message: str | None) -> Response:
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
    top = code if version >= ELECTION_ERROR_SINCE else 0
    return ElectLeadersResponse(error_code=top, replica_election_results=results)


_SPECIAL: dict[type[Request], Refusal] = {
    CreateTopicsRequest: _create_topics,
    DeleteTopicsRequest: _delete_topics,
    CreatePartitionsRequest: _create_partitions,
    AlterConfigsRequest: _altering(AlterConfigsResponse, AlterConfigsResourceResponse),
    IncrementalAlterConfigsRequest: _altering(IncrementalAlterConfigsResponse, IncrementalOutcome),
    ElectLeadersRequest: _elect_leaders,
}
