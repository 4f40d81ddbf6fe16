"""TxnOffsetCommit: offsets of a group as a part of a producer's transaction, from the commit to what readers see."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.delete_groups import DeleteGroupsRequest
from penstock.core.wire.api.list_groups import ListGroupsRequest
from penstock.core.wire.api.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from penstock.core.wire.api.txn_offset_commit import TxnOffsetCommitRequest
from tests.node.test_coordinators import code_of, commit, committed, ready, stable
from tests.node.transactional import Transactional
from tests.node.world import World

NONE = ErrorCode.NONE
UNSTABLE = (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
SETTINGS = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}
MINUTE_MS = 60_000


def producing(**settings: str) -> tuple[World, Transactional]:
    world = World({**SETTINGS, **settings})
    world.create("t", 2)
    producer = Transactional(world, client=ready(world))
    producer.find()
    assert producer.begin() is NONE
    return world, producer


def groups(world: World) -> list[str]:
    return [each.group_id for each in world.client().ask(ListGroupsRequest()).groups]


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("ends_in_commit", [True, False])
def test_offsets_count_when_their_transaction_is_committed(ends_in_commit: bool, version: int) -> None:
    world, producer = producing()
    assert code_of(producer.client.ask(commit("g", 1), 8)) == 0
    if version < 5:
        assert producer.add_offsets("g") is NONE
    assert producer.commit_offsets("g", "t", {0: 5, 1: 7}, version) == [NONE, NONE]
    assert stable(producer.client, 9, 0, 1) == [UNSTABLE, UNSTABLE]
    assert stable(producer.client, 9, 0, 1, require=False) == [(1, 0), (-1, 0)]
    assert producer.end(ends_in_commit, 5 if version == 5 else 4) is NONE
    world.run_due()
    assert stable(producer.client, 9, 0, 1) == ([(5, 0), (7, 0)] if ends_in_commit else [(1, 0), (-1, 0)])


@pytest.mark.parametrize("clean", [True, False])
def test_they_survive_the_coordinator(clean: bool) -> None:
    world, producer = producing()
    assert producer.commit_offsets("g", "t", {0: 5}) == [NONE]
    world.restart(clean)
    producer.client = world.client()
    assert stable(producer.client, 9, 0) == [UNSTABLE]
    assert groups(world) == ["g"]
    assert producer.commit_offsets("g", "t", {0: 6}) == [NONE], "the log knows of the transaction"
    assert producer.end(True, 5) is NONE
    world.run_due()
    assert stable(producer.client, 9, 0) == [(6, 0)]


def test_nobody_vouches_for_a_transaction_without_the_group() -> None:
    world, producer = producing()
    assert producer.commit_offsets("g", "t", {0: 5}, 4) == [ErrorCode.TRANSACTION_ABORTABLE]
    assert producer.commit_offsets("g", "t", {0: 5}, 3) == [ErrorCode.INVALID_TXN_STATE]
    assert stable(producer.client, 9, 0) == [(-1, 0)]
    assert groups(world) == []


def test_without_verification_old_producers_are_believed() -> None:
    _, producer = producing(**{"transaction.partition.verification.enable": "false"})
    assert producer.commit_offsets("g", "t", {0: 5}, 3) == [NONE]
    assert stable(producer.client, 9, 0) == [UNSTABLE]


@pytest.mark.parametrize("version", [3, 5])
def test_a_fenced_producer_commits_nothing(version: int) -> None:
    world, first = producing()
    assert first.commit_offsets("g", "t", {0: 5}) == [NONE]
    second = Transactional(world)
    assert second.begin() is ErrorCode.CONCURRENT_TRANSACTIONS
    world.run_due()
    assert second.begin() is NONE
    assert first.commit_offsets("g", "t", {0: 9}, version) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert stable(first.client, 9, 0) == [(-1, 0)]


def test_the_group_says_who_may_commit() -> None:
    _, producer = producing()
    assert producer.commit_offsets("g", "t", {0: 5}, generation_id=3, member_id="m") == [ErrorCode.ILLEGAL_GENERATION]
    assert producer.commit_offsets("g", "t", {0: 5}) == [NONE]
    assert producer.commit_offsets("g", "t", {0: 5}, generation_id=3, member_id="m") == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_what_does_not_exist_is_refused_for_itself() -> None:
    _, producer = producing()
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert producer.commit_offsets("g", "t", {0: 5, 9: 5}) == [NONE, unknown]
    assert producer.commit_offsets("g", "nowhere", {0: 5}) == [unknown]
    assert producer.commit_offsets("", "t", {0: 5, 9: 5}) == [ErrorCode.INVALID_GROUP_ID, unknown]
    large = TxnOffsetCommitRequest(transactional_id="tx", group_id="g")
    assert producer.client.ask(large).topics == []


def test_expiry_spares_what_is_pending() -> None:
    world, producer = producing(
        **{"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"},
    )
    assert producer.begin(timeout_ms=15 * MINUTE_MS) is NONE
    assert code_of(producer.client.ask(commit("g", 1), 8)) == 0
    assert code_of(producer.client.ask(commit("other", 1), 8)) == 0
    assert producer.commit_offsets("g", "t", {0: 5}) == [NONE]
    assert producer.commit_offsets("only", "t", {0: 5}) == [NONE]
    world.pass_time(3 * MINUTE_MS)
    assert groups(world) == ["g", "only"]
    assert stable(producer.client, 9, 0, require=False) == [(1, 0)]
    assert producer.end(False, 5) is NONE
    world.pass_time(3 * MINUTE_MS)
    assert groups(world) == []


def _delete_offset(client: Any) -> int:
    partitions = [OffsetDeleteRequestPartition(partition_index=0)]
    topics = [OffsetDeleteRequestTopic(name="t", partitions=partitions)]
    answer = client.ask(OffsetDeleteRequest(group_id="g", topics=topics))
    return int(answer.error_code or answer.topics[0].partitions[0].error_code)


def _delete_group(client: Any) -> int:
    return int(client.ask(DeleteGroupsRequest(groups_names=["g"])).results[0].error_code)


@pytest.mark.parametrize("delete", [_delete_offset, _delete_group])
def test_what_is_pending_can_be_deleted(delete: Any) -> None:
    world, producer = producing()
    assert producer.commit_offsets("g", "t", {0: 5}) == [NONE]
    assert delete(producer.client) == 0
    assert stable(producer.client, 9, 0) == [(-1, 0)]
    assert producer.end(True, 5) is NONE
    world.run_due()
    assert committed(producer.client, "g") == -1


def test_an_old_producer_does_not_hear_of_loading() -> None:
    world, producer = producing()
    world.node.coordinators.groups.find("g").driver = None
    assert producer.add_offsets("g") is NONE
    assert producer.commit_offsets("g", "t", {0: 5}, 2) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    assert producer.commit_offsets("g", "t", {0: 5}, 1) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
