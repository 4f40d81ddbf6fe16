"""Whether a producer may append to a partition: one answer for the general and for the fast path.

The fast path keeps the order of `Dispatcher` by it: who asks is known, it authorizes here, and throttles once the batch
is in the log.
"""

from __future__ import annotations

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource
from penstock.core.node.serving.audited import refusal_of
from penstock.core.node.serving.context import RequestContext
from penstock.core.node.serving.gates import OPEN
from penstock.core.partition.partition import ACKS_ALL, Partition

ACKS = frozenset((ACKS_ALL, 0, 1))


def refusal(
    node: Node, context: RequestContext, partition: Partition, acks: int, transactional_id: str | None
) -> ApiError | None:
    """Why not, or None. What the partition itself refuses (not the leader, too few in sync) it says at the append."""
    if acks not in ACKS:
        return ApiError(ErrorCode.INVALID_REQUIRED_ACKS)
    if node.gates is not OPEN and (code := forbidden(node, context, partition.topic, transactional_id)) is not None:
        if node.audits:
            node.audit_refusal(refusal_of(context, "Produce", transactional_id or partition.topic, code))
        return ApiError(code)
    if partition.internal:
        return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{partition.topic} is written by the broker alone")
    if partition.acks_all_only and acks != ACKS_ALL:
        return ApiError(
            ErrorCode.INVALID_REQUIRED_ACKS, f"{partition.topic} takes acks=all only (penstock.acks.required)"
        )
    if node.disk_full:
        return ApiError(
            ErrorCode.KAFKA_STORAGE_ERROR, "the disk is almost full; delete topics or records, or add space"
        )
    return None


def forbidden(node: Node, context: RequestContext, topic: str, transactional_id: str | None) -> ErrorCode | None:
    """Why a client may not write to a topic, whether it is there or not."""
    if node.gates is OPEN:
        return None
    authorizer = node.gates.authorizer
    if transactional_id is not None and not authorizer.allows(
        context, Operation.WRITE, Resource.TRANSACTIONAL_ID, transactional_id
    ):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if not authorizer.allows(context, Operation.WRITE, Resource.TOPIC, topic):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return None
