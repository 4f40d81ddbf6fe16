"""What a controller is asked beside the life of brokers: answered once it is committed, refused as Kafka does."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.apis.table import load_apis
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata import sweep as sweeping
from penstock.core.metadata.features import ELR_VERSION, METADATA_VERSION
from penstock.core.metadata.producer_ids import PRODUCER_IDS_PER_BLOCK
from penstock.core.node.controller.controller import Controller
from penstock.core.node.controller.opening import opening_records
from penstock.core.node.controller.ports import ControllerContext
from penstock.core.wire.api.allocate_producer_ids import AllocateProducerIdsRequest
from penstock.core.wire.api.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from penstock.core.wire.api.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from penstock.core.wire.api.controller_registration import ControllerRegistrationRequest, Feature
from penstock.core.wire.api.elect_leaders import ElectLeadersRequest, TopicPartitions
from penstock.core.wire.api.list_partition_reassignments import ListPartitionReassignmentsRequest
from penstock.core.wire.api.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from penstock.core.wire.schema import Response
from penstock.core.wire.stored.cluster_metadata import AbortTransactionRecord, BeginTransactionRecord, NoOpRecord
from tests.metadata.cluster import CLUSTER_ID, SETTINGS, Cluster, topic_id
from tests.node.controller.world import World, cluster


def alteration(world: World, isr: list[int], **changes: Any) -> AlterPartitionRequest:
    partition = world.partition()
    values: dict[str, Any] = {
        "partition_index": 0,
        "leader_epoch": partition.leader_epoch,
        "partition_epoch": partition.partition_epoch,
        "new_isr_with_epochs": [
            BrokerState(broker_id=each, broker_epoch=world.committed.brokers[each].epoch) for each in isr
        ],
    }
    data = RequestPartitionData(**{**values, **changes})
    return AlterPartitionRequest(
        broker_id=partition.leader,
        broker_epoch=world.committed.brokers[partition.leader].epoch,
        topics=[RequestTopicData(topic_id=topic_id("t"), partitions=[data])],
    )


def test_an_in_sync_set_is_told_once_it_is_committed() -> None:
    world = cluster(1, 2, 3)
    world.create("t", [2, 3])
    answers: list[Any] = []
    world.machines[1].controller.handle(alteration(world, [2]), 3, answers.append)
    assert answers == [], "it was told before it was committed"
    world.run(20)
    assert answers[0].topics[0].partitions[0].isr == [2]
    assert world.partition().isr == (2,)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"leader_epoch": 9}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": -1}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"new_isr_with_epochs": [BrokerState(broker_id=3)]}, ErrorCode.INVALID_REQUEST),
        ({"partition_index": 9}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_in_sync_sets_that_cannot_be(changes: dict[str, Any], code: ErrorCode) -> None:
    world = cluster(1, 2, 3)
    world.create("t", [2, 3])
    answer = world.ask(alteration(world, [2], **changes))
    assert answer.topics[0].partitions[0].error_code == code


def test_a_broker_of_another_life_changes_nothing() -> None:
    world = cluster(1, 2, 3)
    world.create("t", [2, 3])
    request = alteration(world, [2])
    request.broker_epoch -= 1
    assert world.ask(request).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_what_was_not_committed_when_the_lead_was_lost_is_answered_so() -> None:
    world = cluster(1, 2, 3)
    world.create("t", [2, 3])
    answers: list[Response] = []
    world.machines[1].controller.handle(alteration(world, [2]), 3, answers.append)
    world.elect(3)
    assert [getattr(each, "error_code", 0) for each in answers] == [ErrorCode.NOT_CONTROLLER]
    assert world.partition().isr == (2, 3)


def test_an_answer_without_records_waits_for_what_it_rests_on() -> None:
    world = cluster(1, 2, 3)
    world.create("t", [2, 3])
    controller, answers = world.machines[1].controller, []
    controller.handle(alteration(world, [2]), 3, lambda answer: None)
    list_all = ListPartitionReassignmentsRequest(topics=None)
    controller.handle(list_all, 0, answers.append)
    assert answers == []
    world.run(20)
    assert len(answers) == 1


def test_producer_ids_are_never_given_twice() -> None:
    world = cluster(1, 2, 3)
    given: set[int] = set()
    for leader in (1, 2, 3):
        world.elect(leader)
        for broker_id in (1, 2, 3):
            epoch = world.committed.brokers[broker_id].epoch
            answer = world.ask(AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch))
            block = set(range(answer.producer_id_start, answer.producer_id_start + answer.producer_id_len))
            assert len(block) == PRODUCER_IDS_PER_BLOCK
            assert not block & given
            given |= block
    stale = world.ask(AllocateProducerIdsRequest(broker_id=2, broker_epoch=0))
    assert stale.error_code == ErrorCode.STALE_BROKER_EPOCH


def test_preferred_leaders_are_elected_by_name_and_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "CHANGES_PER_TURN_MAX", 2)
    world = cluster(1, 2, 3)
    world.create("t", *[[2, 3]] * 5, min_insync_replicas="1")
    world.pause(2, 3_000)
    world.run_until(lambda: world.committed.tally.leading == {3: 5}, 10_000)
    world.run_until(lambda: not world.fenced(), 10_000)
    for index in range(5):
        world.ask(alteration_of(world, index, [3, 2]))
    named = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="t", partitions=[0, 9])])
    found = world.ask(named).replica_election_results[0].partition_result
    assert [each.error_code for each in found] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert world.committed.tally.leading == {2: 1, 3: 4}
    found = world.ask(ElectLeadersRequest(topic_partitions=None)).replica_election_results[0].partition_result
    assert sorted(each.partition_id for each in found) == [1, 2, 3, 4]
    assert world.committed.tally.leading == {2: 5}


def alteration_of(world: World, index: int, isr: list[int]) -> AlterPartitionRequest:
    partition = world.partition(index=index)
    changes = {"leader_epoch": partition.leader_epoch, "partition_epoch": partition.partition_epoch}
    return alteration(world, isr, partition_index=index, **changes)


def test_leaders_go_back_by_themselves_unless_that_is_turned_off() -> None:
    for enabled in ("true", "false"):
        settings = {"leader.imbalance.check.interval.seconds": "5", "auto.leader.rebalance.enable": enabled}
        world = cluster(1, 2, 3, **settings)
        world.create("t", [2, 3], min_insync_replicas="1")
        world.pause(2, 2_000)
        world.run_until(lambda world=world: world.partition().leader == 3, 10_000)  # type: ignore[misc]  # bound now
        world.run_until(lambda world=world: not world.fenced(), 10_000)  # type: ignore[misc]  # bound now
        world.ask(alteration(world, [3, 2]))
        world.run(6_000)
        assert world.partition().leader == (2 if enabled == "true" else 3)


def test_an_unclean_leader_is_elected_only_where_the_topic_wants_that() -> None:
    """Nobody who was in sync comes back, and nobody is eligible."""
    for enabled in ("true", "false"):
        world = cluster(1, 2, 3, **{"unclean.leader.election.interval.ms": "1000"})
        world.create("t", [2, 3], min_insync_replicas="1")
        world.ask(alteration(world, [2]))
        world.kill(2)
        world.run_until(lambda world=world: world.fenced() == [2], 10_000)  # type: ignore[misc]  # bound now
        assert world.partition().leader == -1
        world.configure("t", unclean_leader_election_enable=enabled)
        world.run(3_000)
        assert world.partition().leader == (3 if enabled == "true" else -1)


def test_replicas_move() -> None:
    world = cluster(1, 2, 3)
    world.create("t", [2, 3])
    wanted = ReassignablePartition(partition_index=0, replicas=[3, 1])
    move = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name="t", partitions=[wanted])])
    assert world.ask(move).responses[0].partitions[0].error_code == 0
    listed = world.ask(ListPartitionReassignmentsRequest(topics=None)).topics[0].partitions[0]
    assert (listed.adding_replicas, listed.removing_replicas) == ([1], [2])
    answer = world.ask(alteration(world, [3, 1, 2]))
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NEW_LEADER_ELECTED
    assert world.partition().replicas == (3, 1)
    assert world.ask(ListPartitionReassignmentsRequest(topics=None)).topics == []


def test_features_need_every_controller() -> None:
    world = cluster(1, 2, 3)
    lower = UpdateFeaturesRequest(
        feature_updates=[FeatureUpdateKey(feature=ELR_VERSION, max_version_level=0, upgrade_type=2)]
    )
    machine = world.machines[1]
    around = ControllerContext(1, CLUSTER_ID, voters=lambda: (1, 2))
    machine.controller = Controller(machine, machine.ledger, around, load_apis())
    machine.controller.lead()
    refused = world.ask(lower)
    assert refused.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "Controller 2 has not registered" in refused.error_message
    registration = ControllerRegistrationRequest(
        controller_id=2,
        features=[
            Feature(name=METADATA_VERSION, min_supported_version=7, max_supported_version=30),
            Feature(name=ELR_VERSION, min_supported_version=0, max_supported_version=1),
        ],
    )
    assert world.ask(registration).error_code == 0
    assert world.ask(lower).error_code == 0
    assert ELR_VERSION not in world.committed.features


def test_a_term_begins_with_what_the_log_lacks() -> None:
    empty, old = Cluster(elr=False), Cluster([1, 2])
    assert opening_records(old.image, SETTINGS) == []
    old.apply([BeginTransactionRecord(), NoOpRecord()])
    assert [type(each) for each in opening_records(old.image, SETTINGS)] == [AbortTransactionRecord]
    assert opening_records(empty.image, SETTINGS) == [], "a cluster that has begun without a feature stays without"
