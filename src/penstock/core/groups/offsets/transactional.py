"""TxnOffsetCommit, versions 0 to 5: the offsets of a group as a part of a producer's transaction.

What is checked and written is what an OffsetCommit does; the requests differ in their shape. Version 2 adds the leader
epoch, 3 says who of the group commits.
"""

from __future__ import annotations

from typing import Final

from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from penstock.core.wire.api.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

OUTSIDE_VERSION: Final = 8
"""The OffsetCommit that says as much: with names of topics, without a retention."""


def outside_of_transaction(request: TxnOffsetCommitRequest) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=request.group_id,
        generation_id_or_member_epoch=request.generation_id,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        topics=[_outside(topic) for topic in request.topics],
    )


def _outside(topic: TxnOffsetCommitRequestTopic) -> OffsetCommitRequestTopic:
    return OffsetCommitRequestTopic(
        name=topic.name,
        partitions=[
            OffsetCommitRequestPartition(
                partition_index=each.partition_index,
                committed_offset=each.committed_offset,
                committed_leader_epoch=each.committed_leader_epoch,
                committed_metadata=each.committed_metadata,
            )
            for each in topic.partitions
        ],
    )


def inside_of_transaction(response: OffsetCommitResponse) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(partition_index=each.partition_index, error_code=each.error_code)
                    for each in topic.partitions
                ],
            )
            for topic in response.topics
        ]
    )
