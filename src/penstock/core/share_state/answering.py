"""Requests about many share partitions: cut into one part per machine, answered part by part, and put together again.

The five APIs have the same shape: a group, and in it topics with partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from penstock.core.share_state import deciding
from penstock.core.share_state.key import SharePartition
from penstock.core.share_state.turn import Refused, Turn
from penstock.core.wire.api import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from penstock.core.wire.schema import Request, Response


class Rule(NamedTuple):
    """How one of the APIs is answered."""

    decide: Callable[[Turn, SharePartition, Any], Any]
    response: Callable[..., Any]
    topic: Callable[..., Any]
    partition: Callable[..., Any]


RULES: Final[dict[int, Rule]] = {
    initialize_share_group_state.InitializeShareGroupStateRequest.KEY: Rule(
        deciding.initialize,
        initialize_share_group_state.InitializeShareGroupStateResponse,
        initialize_share_group_state.InitializeStateResult,
        initialize_share_group_state.PartitionResult,
    ),
    read_share_group_state.ReadShareGroupStateRequest.KEY: Rule(
        deciding.read,
        read_share_group_state.ReadShareGroupStateResponse,
        read_share_group_state.ReadStateResult,
        read_share_group_state.PartitionResult,
    ),
    write_share_group_state.WriteShareGroupStateRequest.KEY: Rule(
        deciding.write,
        write_share_group_state.WriteShareGroupStateResponse,
        write_share_group_state.WriteStateResult,
        write_share_group_state.PartitionResult,
    ),
    delete_share_group_state.DeleteShareGroupStateRequest.KEY: Rule(
        deciding.delete,
        delete_share_group_state.DeleteShareGroupStateResponse,
        delete_share_group_state.DeleteStateResult,
        delete_share_group_state.PartitionResult,
    ),
    read_share_group_state_summary.ReadShareGroupStateSummaryRequest.KEY: Rule(
        deciding.read_summary,
        read_share_group_state_summary.ReadShareGroupStateSummaryResponse,
        read_share_group_state_summary.ReadStateSummaryResult,
        read_share_group_state_summary.PartitionResult,
    ),
}


def split(request: Any, index_of: Callable[[SharePartition], int]) -> dict[int, Any]:
    """A request of the same API for each machine that is in charge of something in it. Like Kafka, nobody is asked
    where there is no group, or a topic without partitions."""
    parts: dict[int, Any] = {}
    if not request.group_id.strip() or not all(topic.partitions for topic in request.topics):
        return parts
    for topic in request.topics:
        for asked in topic.partitions:
            index = index_of(SharePartition(request.group_id, topic.topic_id, asked.partition))
            part = parts.get(index)
            if part is None:
                part = parts[index] = type(request)(group_id=request.group_id, topics=[])
            if not part.topics or part.topics[-1].topic_id != topic.topic_id:
                part.topics.append(type(topic)(topic_id=topic.topic_id, partitions=[]))
            part.topics[-1].partitions.append(asked)
    return parts


def answer(turn: Turn, request: Any) -> Response:
    """What a machine says to its part."""
    rule = RULES[request.KEY]
    results = []
    for topic in request.topics:
        partitions = [
            _of_one(turn, rule, SharePartition(request.group_id, topic.topic_id, asked.partition), asked)
            for asked in topic.partitions
        ]
        results.append(rule.topic(topic_id=topic.topic_id, partitions=partitions))
    response: Response = rule.response(results=results)
    return response


def merge(request: Request, answers: Iterable[Any]) -> Response:
    """One answer, with each topic in it once."""
    rule = RULES[request.KEY]
    topics: dict[bytes, Any] = {}
    for each in answers:
        for topic in each.results:
            known = topics.setdefault(topic.topic_id, topic)
            if known is not topic:
                known.partitions += topic.partitions
    response: Response = rule.response(results=list(topics.values()))
    return response


def _of_one(turn: Turn, rule: Rule, key: SharePartition, asked: Any) -> Any:
    try:
        return rule.decide(turn, key, asked)
    except Refused as refused:
        return rule.partition(partition=key.partition, error_code=refused.code, error_message=refused.message)
