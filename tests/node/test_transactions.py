"""The transaction coordinator on one node: from the first question for it to what readers see."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.node.coordination.transactions import TRANSACTIONS_TOPIC
from penstock.core.partition.partition import Partition
from penstock.core.wire.api.list_transactions import ListTransactionsRequest
from penstock.core.wire.api.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.node.transactional import Transactional
from tests.node.world import World

NONE = ErrorCode.NONE
SETTINGS = {"transaction.state.log.num.partitions": "2"}


@pytest.fixture
def world() -> World:
    world = World(SETTINGS)
    world.create("t", 2)
    return world


def transactional(world: World, name: str = "tx") -> Transactional:
    producer = Transactional(world, name)
    assert producer.find().coordinators[0].error_code == 0
    assert producer.begin() is NONE
    return producer


def replica(world: World, index: int = 0) -> Partition:
    partition = world.node.replicas.get("t", index)
    assert partition is not None
    return partition


def test_the_first_question_creates_the_topic(world: World) -> None:
    found = Transactional(world).find().coordinators[0]
    assert (found.error_code, found.node_id, found.port) == (0, 1, 9092)
    topic = world.node.image.topic(TRANSACTIONS_TOPIC)
    assert topic is not None
    assert len(topic) == 2
    config = world.node.image.config(2, TRANSACTIONS_TOPIC)
    assert config == {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "1",
        "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    }


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_ends_in_every_partition(world: World, committed: bool, version: int) -> None:
    producer = transactional(world)
    assert producer.add("t", 0, 1) == [NONE, NONE]
    for index in (0, 1):
        producer.write("t", b"v", index)
    assert producer.state() == "Ongoing"
    assert [replica(world, index).last_stable_offset for index in (0, 1)] == [0, 0]
    assert producer.end(committed, version) is NONE
    world.run_due()
    assert producer.state() == ("CompleteCommit" if committed else "CompleteAbort")
    assert [replica(world, index).last_stable_offset for index in (0, 1)] == [2, 2]
    assert producer.producer.epoch == (0 if version < 5 else 1)
    assert producer.add("t", 0) == [NONE]
    producer.write("t", b"w")
    assert producer.end(True, version) is NONE
    world.run_due()
    assert replica(world).last_stable_offset == 4


def test_a_new_incarnation_fences_the_one_before(world: World) -> None:
    first = transactional(world)
    assert first.add("t", 0) == [NONE]
    first.write("t", b"v")
    second = Transactional(world)
    assert second.begin() is ErrorCode.CONCURRENT_TRANSACTIONS
    world.run_due()
    assert second.begin() is NONE
    assert second.producer.epoch == first.producer.epoch + 2
    assert first.end() is ErrorCode.PRODUCER_FENCED
    assert first.end(version=1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert replica(world).last_stable_offset == 2


def test_what_takes_too_long_is_aborted(world: World) -> None:
    producer = transactional(world)
    assert producer.begin(timeout_ms=5_000) is NONE
    assert producer.add("t", 0) == [NONE]
    producer.write("t", b"v")
    world.pass_time(21_000)
    assert producer.state() == "CompleteAbort"
    assert replica(world).last_stable_offset == 2
    assert producer.end() is ErrorCode.PRODUCER_FENCED


def test_ids_that_nobody_uses_are_forgotten() -> None:
    expiring = {
        "transactional.id.expiration.ms": "5000",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "1000",
    }
    world = World({**SETTINGS, **expiring})
    world.create("t")
    producer = transactional(world)
    world.pass_time(4_000)
    assert producer.state() == "Empty"
    world.pass_time(3_000)
    assert producer.described().error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert producer.add("t", 0) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]


@pytest.mark.parametrize("clean", [True, False])
def test_a_restart_changes_nothing(world: World, clean: bool) -> None:
    producer = transactional(world)
    assert producer.add("t", 0) == [NONE]
    producer.write("t", b"v")
    world.restart(clean)
    producer.client = world.client()
    assert producer.state() == "Ongoing"
    assert producer.end() is NONE
    world.run_due()
    assert producer.state() == "CompleteCommit"


def test_what_was_decided_is_finished_by_the_next_process(world: World) -> None:
    producer = transactional(world)
    assert producer.add("t", 0) == [NONE]
    producer.write("t", b"v")
    assert producer.end() is NONE
    assert producer.state() == "PrepareCommit", "its marker is sent in a turn of its own"
    world.restart(clean=False)
    world.run_due()
    producer.client = world.client()
    assert producer.state() == "CompleteCommit"
    assert replica(world).last_stable_offset == 2


def test_a_deleted_topic_holds_nothing_up(world: World) -> None:
    from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState

    producer = transactional(world)
    assert producer.add("t", 0) == [NONE]
    world.client().ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1000))
    assert producer.end() is NONE
    world.run_due()
    assert producer.state() == "CompleteCommit"


def test_partitions_that_do_not_exist_are_not_added(world: World) -> None:
    producer = transactional(world)
    assert producer.add("t", 0, 7) == [ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert producer.state() == "Empty"


def test_leaders_may_ask_whether_something_belongs_to_a_transaction(world: World) -> None:
    producer = transactional(world)
    assert producer.verify("t", 0) == [ErrorCode.TRANSACTION_ABORTABLE]
    assert producer.add("t", 1, version=5) == [NONE]
    assert producer.verify("t", 0, 1) == [ErrorCode.TRANSACTION_ABORTABLE, NONE]


def test_offsets_of_a_group_belong_to_a_transaction(world: World) -> None:
    producer = transactional(world)
    producer.client.ask(producer_group_question(), 5)
    assert producer.add_offsets("g") is NONE
    assert [each.topic for each in producer.described().topics] == ["__consumer_offsets"]
    assert producer.end() is NONE
    world.run_due()
    assert producer.state() == "CompleteCommit"


def producer_group_question() -> object:
    from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest

    return FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])


def test_ids_are_listed_by_state_producer_and_duration(world: World) -> None:
    open_one, at_rest = transactional(world, "open"), transactional(world, "rest")
    assert open_one.add("t", 0) == [NONE]
    world.pass_time(5_000)

    def listed(version: int = 1, **fields: object) -> list[str]:
        answer = world.client().ask(ListTransactionsRequest(**fields), version)
        assert answer.error_code == 0
        return sorted(each.transactional_id for each in answer.transaction_states)

    assert listed() == ["open", "rest"]
    assert listed(state_filters=["Ongoing", "Nonsense"]) == ["open"]
    assert listed(state_filters=["Nonsense"]) == []
    assert listed(producer_id_filters=[at_rest.producer.id]) == ["rest"]
    assert listed(state_filters=["Ongoing"], duration_filter=4_999) == ["open"]
    assert listed(state_filters=["Ongoing"], duration_filter=5_000) == []
    answer = world.client().ask(ListTransactionsRequest(state_filters=["Nonsense"]), 1)
    assert answer.unknown_state_filters == ["Nonsense"]


def test_the_version_goes_down_and_up_with_a_transaction_open(world: World) -> None:
    def agree(level: int) -> None:
        update = FeatureUpdateKey(
            feature="transaction.version", max_version_level=level, upgrade_type=2 if level < 2 else 1
        )
        assert world.client().ask(UpdateFeaturesRequest(feature_updates=[update], timeout_ms=1000), 2).error_code == 0

    producer = transactional(world)
    for level, version in ((0, 5), (2, 4), (1, 5), (2, 5)):
        assert producer.add("t", 0) == [NONE]
        producer.write("t", b"v")
        agree(level)
        assert producer.end(True, version) is NONE
        world.run_due()
        assert producer.state() == "CompleteCommit"
    world.restart(clean=False)
    producer.client = world.client()
    assert producer.state() == "CompleteCommit"
