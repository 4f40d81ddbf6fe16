"""AlterPartitionReassignments and ListPartitionReassignments: replicas that move, and who asks about them."""

from __future__ import annotations

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.image import Image, PartitionImage, TopicImage
from penstock.core.metadata.partition_change import Election, PartitionChange
from penstock.core.metadata.placement import check_assignment
from penstock.core.metadata.reassignment import begun, reverted
from penstock.core.metadata.rules import TopicRules, rules_for
from penstock.core.wire.api.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from penstock.core.wire.api.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import PartitionChangeRecord


def plan_reassignments(
    image: Image, settings: BrokerSettings, request: AlterPartitionReassignmentsRequest
) -> tuple[list[StoredRecord], AlterPartitionReassignmentsResponse]:
    """Decide about each partition for itself; a partition that is named twice moves as it was named first."""
    records: list[StoredRecord] = []
    answers: list[ReassignableTopicResponse] = []
    seen: set[tuple[str, int]] = set()
    for wanted in request.topics:
        found = []
        for partition in wanted.partitions:
            try:
                if (wanted.name, partition.partition_index) in seen:
                    raise ApiError(ErrorCode.INVALID_REQUEST, "The partition is named more than once.")
                seen.add((wanted.name, partition.partition_index))
                record = _plan(image, settings, wanted.name, partition, request.allow_replication_factor_change)
                records += [] if record is None else [record]
                found.append(_answer(partition.partition_index, ErrorCode.NONE, None))
            except ApiError as error:
                found.append(_answer(partition.partition_index, error.code, error.message))
        answers.append(ReassignableTopicResponse(name=wanted.name, partitions=found))
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change, error_message=None, responses=answers
    )
    return records, response


def _answer(index: int, code: ErrorCode, message: str | None) -> ReassignablePartitionResponse:
    return ReassignablePartitionResponse(partition_index=index, error_code=code, error_message=message)


def _plan(
    image: Image, settings: BrokerSettings, name: str, wanted: ReassignablePartition, may_resize: bool
) -> PartitionChangeRecord | None:
    topic = image.topic(name)
    partition = None if topic is None else topic.find(wanted.partition_index)
    if topic is None or partition is None:
        what = f"topic {name!r}" if topic is None else f"partition {name}-{wanted.partition_index}"
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no {what}.")
    rules = rules_for(image, settings, topic)
    if wanted.replicas is None:
        change = _cancelled(rules, partition)
    else:
        change = _moved(rules, partition, tuple(wanted.replicas), may_resize)
    return change.record(topic.id, wanted.partition_index)


def _cancelled(rules: TopicRules, partition: PartitionImage) -> PartitionChange:
    if not partition.is_reassigning:
        raise ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
    replicas, isr, is_unclean = reverted(partition)
    if is_unclean and not rules.unclean:
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Going back would need an unclean election, which is not allowed."
        )
    change = PartitionChange(rules, partition)
    change.replicas, change.isr = replicas, isr
    change.adding = change.removing = ()
    return change


def _moved(rules: TopicRules, partition: PartitionImage, target: tuple[int, ...], may_resize: bool) -> PartitionChange:
    check_assignment(target, rules.image.brokers, None)
    if not may_resize and len(target) != (factor := _final_factor(partition)):
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor would change from {factor} to {len(target)}, which the request forbids.",
        )
    move = begun(partition, target)
    # Moving is not a reason to lose anything, whatever the topic allows.
    change = PartitionChange(rules, partition, Election.ONLINE)
    change.replicas, change.adding, change.removing = move
    return change


def _final_factor(partition: PartitionImage) -> int:
    """How many replicas there are once what moves has moved."""
    return len(set(partition.replicas) - set(partition.standing.removing))


def list_reassignments(image: Image, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
    """All partitions that move, or those of the named ones that do."""
    found: list[OngoingTopicReassignment] = []
    if request.topics is not None:
        for wanted in request.topics:
            topic = image.topic(wanted.name)
            if topic is not None:
                found += _described(topic, wanted.partition_indexes)
    elif image.tally.reassigning:
        for topic in image.topics.values():
            found += _described(topic, topic.reassigning())
    return ListPartitionReassignmentsResponse(error_message=None, topics=found)


def _described(topic: TopicImage, indexes: list[int]) -> list[OngoingTopicReassignment]:
    pairs = [(index, topic.find(index)) for index in indexes]
    moving = [
        OngoingPartitionReassignment(
            partition_index=index,
            replicas=list(partition.replicas),
            adding_replicas=list(partition.standing.adding),
            removing_replicas=list(partition.standing.removing),
        )
        for index, partition in pairs
        if partition is not None and partition.is_reassigning
    ]
    return [OngoingTopicReassignment(name=topic.name, partitions=moving)] if moving else []
