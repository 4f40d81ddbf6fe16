"""Epochs after which there are hardly any left, told to every voter."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.log.names import METADATA_TOPIC
from penstock.core.wire.api.begin_quorum_epoch import BeginQuorumEpochRequest
from penstock.core.wire.api.begin_quorum_epoch import RequestPartitionData as BegunPartition
from penstock.core.wire.api.begin_quorum_epoch import RequestTopicData as BegunTopic
from penstock.core.wire.api.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RequestPartitionData,
    RequestTopicData,
)
from penstock.core.wire.api.end_quorum_epoch import EndQuorumEpochRequest
from penstock.core.wire.api.end_quorum_epoch import RequestPartitionData as EndedPartition
from penstock.core.wire.api.end_quorum_epoch import RequestTopicData as EndedTopic
from penstock.core.wire.api.vote import RequestPartitionData as VotedPartition
from penstock.core.wire.api.vote import RequestTopicData as VotedTopic
from penstock.core.wire.api.vote import VoteRequest
from penstock.core.wire.schema import Request
from tests.robustness.good_client import TIMEOUT_S
from tests.robustness.hostile.target import Case, Target, frame_of

EPOCHS = (2**31 - 1, 2**31 - 2, 2**30)
STRANGER = 99
EPOCH_MAX = 1_000
"""No cluster of tests has had more elections than that."""


def asked(voter: int, epoch: int) -> Sequence[tuple[Request, int]]:
    """Requests, each with its version."""
    pre, real = (
        VotedPartition(
            partition_index=0,
            replica_epoch=epoch,
            replica_id=voter,
            last_offset_epoch=epoch - 1,
            last_offset=2**40,
            pre_vote=is_pre,
        )
        for is_pre in (True, False)
    )
    begun = BegunPartition(partition_index=0, leader_id=voter, leader_epoch=epoch)
    ended = EndedPartition(partition_index=0, leader_id=voter, leader_epoch=epoch)
    return (
        (VoteRequest(topics=[VotedTopic(topic_name=METADATA_TOPIC, partitions=[pre])]), 2),
        (VoteRequest(topics=[VotedTopic(topic_name=METADATA_TOPIC, partitions=[real])]), 1),
        (BeginQuorumEpochRequest(topics=[BegunTopic(topic_name=METADATA_TOPIC, partitions=[begun])]), 0),
        (EndQuorumEpochRequest(topics=[EndedTopic(topic_name=METADATA_TOPIC, partitions=[ended])]), 0),
    )


def last_epochs(target: Target) -> None:
    for address in target.controllers:
        for voter in (1, 2, 3, STRANGER):
            for epoch in EPOCHS:
                for request, version in asked(voter, epoch):
                    with target.connect(address) as peer:
                        assert peer.send(frame_of(request, version))
                        peer.answer()
    assert epoch_of(target) < EPOCH_MAX


def epoch_of(target: Target) -> int:
    link = target.link()
    request = DescribeQuorumRequest(
        topics=[RequestTopicData(topic_name=METADATA_TOPIC, partitions=[RequestPartitionData(partition_index=0)])]
    )
    found = link.call(request, DescribeQuorumResponse, TIMEOUT_S)
    link.close()
    assert found.error_code == 0
    partition = found.topics[0].partitions[0]
    assert partition.error_code == 0
    return partition.leader_epoch


QUORUM_CASES: dict[str, Case] = {"votes of the last epochs": last_epochs}
