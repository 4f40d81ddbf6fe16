"""Transactional batches are taken once the coordinator vouches for their transaction, and hold up nobody (KIP-890)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.node.membership.transaction_verifier import Transacting
from penstock.core.rsm.result import Marker, Transaction
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.api.produce import ProduceRequest
from tests.node.test_stage import LARGE, Workers, codes, offsets
from tests.node.world import Client, World, produce

PRODUCER = 7
V1, ABORTABLE, V2 = 10, 11, 12


class Coordinator:
    """Hears what a node asks, and answers when the test says so."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked: list[tuple[Transacting, str, int, Callable[[ErrorCode], None]]] = []
        verifier = world.node.cluster.transaction_verifier
        verifier.ask = lambda *question: self.asked.append(question)  # type: ignore[method-assign]  # no other broker

    def answer(self, code: ErrorCode = ErrorCode.NONE) -> None:
        """The oldest question."""
        *_, then = self.asked.pop(0)
        self.world.turn(lambda: then(code))


def batch(sequence: int, topic: str = "t", partition: int = 0, epoch: int = 0, **fields: Any) -> ProduceRequest:
    value = fields.pop("value", b"v")
    fields = {"producer_id": PRODUCER, "producer_epoch": epoch, "base_sequence": sequence, **fields}
    request = produce(topic, value, partition=partition, **{"transactional": True, **fields})
    request.transactional_id = "id"
    return request


def end(world: World, epoch: int, partition: int = 0) -> None:
    replica = world.node.replicas.get("t", partition)
    marker = Marker(Transaction(PRODUCER, epoch), committed=True, coordinator_epoch=0, transaction_version=1)
    world.turn(lambda: replica.end_transaction(marker, world.node.now_ms))


def a_world(**settings: str) -> tuple[World, Coordinator, Client]:
    world = World(settings={name.replace("_", "."): value for name, value in settings.items()})
    world.create("t", 2)
    world.create("c", 1, cleanup_policy="compact")
    return world, Coordinator(world), world.client()


@pytest.mark.parametrize(("version", "adds"), [(V1, False), (ABORTABLE, False), (V2, True)])
def test_the_first_batch_waits_for_the_coordinator_and_no_other_does(version: int, adds: bool) -> None:
    _, coordinator, client = a_world()
    client.send(batch(0), version)
    assert client.replies() == []
    ((who, topic, index, _),) = coordinator.asked
    assert (who, topic, index) == (Transacting("id", PRODUCER, 0, adds), "t", 0)
    coordinator.answer()
    assert offsets(client) == [0]
    for sequence in (1, 2):
        assert client.ask(batch(sequence), version).responses[0].partition_responses[0].base_offset == sequence
    assert coordinator.asked == []


def test_what_the_producer_sends_meanwhile_keeps_its_order_and_others_go_on() -> None:
    world, coordinator, client = a_world()
    for sequence in range(3):
        client.send(batch(sequence), V2)
    client.send(batch(0, partition=1), V2)
    other = world.client()
    assert other.ask(produce("t", b"other"), 9).responses[0].partition_responses[0].base_offset == 0
    assert [(topic, index) for _, topic, index, _ in coordinator.asked] == [("t", 0), ("t", 1)]
    coordinator.answer()
    assert offsets(client) == [1, 2, 3]
    coordinator.answer()
    assert offsets(client) == [0]


REFUSALS = [
    (ErrorCode.INVALID_TXN_STATE, V1, ErrorCode.INVALID_TXN_STATE),
    (ErrorCode.TRANSACTION_ABORTABLE, V1, ErrorCode.INVALID_TXN_STATE),
    (ErrorCode.TRANSACTION_ABORTABLE, ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
    (ErrorCode.CONCURRENT_TRANSACTIONS, ABORTABLE, ErrorCode.NOT_ENOUGH_REPLICAS),
    (ErrorCode.CONCURRENT_TRANSACTIONS, V2, ErrorCode.CONCURRENT_TRANSACTIONS),
    (ErrorCode.INVALID_PRODUCER_EPOCH, V2, ErrorCode.INVALID_PRODUCER_EPOCH),
    (ErrorCode.INVALID_PRODUCER_ID_MAPPING, V2, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
    *[
        (code, V2, ErrorCode.NOT_ENOUGH_REPLICAS)
        for code in (
            ErrorCode.NETWORK_EXCEPTION,
            ErrorCode.NOT_COORDINATOR,
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        )
    ],
]


@pytest.mark.parametrize(("said", "version", "told"), REFUSALS)
def test_what_is_not_vouched_for_is_refused_as_kafka_does_it(said: ErrorCode, version: int, told: ErrorCode) -> None:
    world, coordinator, client = a_world()
    client.send(batch(0), version)
    client.send(batch(1), version)
    coordinator.answer(said)
    assert codes(client) == [told, told]
    assert world.node.replicas.get("t", 0).log.end_offset == 0
    assert world.node.staging.bytes_staged == 0
    # It may come again, and is asked for again.
    client.send(batch(0), version)
    coordinator.answer()
    assert codes(client) == [0]


def test_where_the_first_one_failed_the_next_one_does_not_take_its_place() -> None:
    _, coordinator, client = a_world()
    client.send(batch(0), V1)
    coordinator.answer(ErrorCode.NOT_COORDINATOR)
    assert codes(client) == [ErrorCode.NOT_ENOUGH_REPLICAS]
    client.send(batch(1), V1)
    coordinator.answer()
    assert codes(client) == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]


@pytest.mark.parametrize(("version", "told"), [(ABORTABLE, 0), (V2, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)])
def test_a_producer_that_is_unknown_begins_at_0_where_each_transaction_has_an_epoch(version: int, told: int) -> None:
    _, coordinator, client = a_world()
    client.send(batch(5), version)
    coordinator.answer()
    assert codes(client) == [told]


def test_a_marker_that_comes_meanwhile_ended_what_is_vouched_for() -> None:
    world, coordinator, client = a_world()
    client.send(batch(0), V1)
    end(world, epoch=0)
    coordinator.answer()
    assert codes(client) == [ErrorCode.INVALID_TXN_STATE]


def test_the_marker_of_the_transaction_before_leaves_the_next_one_alone() -> None:
    world, coordinator, client = a_world()
    client.send(batch(0, epoch=1), V2)
    end(world, epoch=1)
    coordinator.answer()
    assert codes(client) == [0]


def test_after_a_marker_the_coordinator_is_asked_anew() -> None:
    world, coordinator, client = a_world()
    client.send(batch(0), V1)
    coordinator.answer()
    end(world, epoch=0)
    client.send(batch(1), V1)
    assert len(coordinator.asked) == 1
    coordinator.answer()
    assert codes(client) == [0, 0]


def test_a_producer_that_comes_back_fences_the_one_it_was() -> None:
    world, coordinator, client = a_world()
    client.send(batch(0), V2)
    client.send(batch(0, epoch=1), V2)
    assert codes(client) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    zombie = world.client()
    zombie.send(batch(1), V2)
    assert codes(zombie) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    coordinator.answer()
    assert codes(client) == []
    coordinator.answer()
    assert codes(client) == [0]


def test_it_may_have_to_be_read_after_that() -> None:
    world, coordinator, client = a_world()
    workers = Workers(world)
    client.send(batch(0, "c", key=b"k", value=LARGE), V2)
    coordinator.answer()
    client.send(batch(1, "c", key=b"k"), V2)
    assert coordinator.asked == []
    assert codes(client) == []
    workers.finish()
    assert offsets(client) == [0, 1]
    assert world.node.staging.bytes_staged == 0


def test_nothing_waits_in_a_partition_that_is_gone() -> None:
    world, coordinator, client = a_world()
    client.send(batch(0), V2)
    world.client().ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1000))
    assert codes(client) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    coordinator.answer()
    assert codes(client) == []


def test_who_never_hears_from_a_coordinator_is_forgotten() -> None:
    world, coordinator, client = a_world(
        producer_id_expiration_ms="60000", producer_id_expiration_check_interval_ms="1000"
    )
    client.send(batch(0), V1)
    world.pass_time(62_000)
    assert codes(client) == [ErrorCode.REQUEST_TIMED_OUT]
    assert not world.node.replicas.get("t", 0).verifications
    coordinator.answer()
    assert world.node.replicas.get("t", 0).log.end_offset == 0


def test_the_older_protocol_does_without_where_the_setting_says_so() -> None:
    _, coordinator, client = a_world(transaction_partition_verification_enable="false")
    client.send(batch(0), ABORTABLE)
    assert codes(client) == [0]
    client.send(batch(0, partition=1), V2)
    assert codes(client) == []
    assert len(coordinator.asked) == 1


def test_a_transaction_has_a_transactional_id_and_one_producer() -> None:
    _, coordinator, client = a_world()
    client.send(batch(0), V2)
    coordinator.answer()
    assert codes(client) == [0]
    nameless = batch(1)
    nameless.transactional_id = None
    client.send(nameless, V2)
    assert codes(client) == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
    several = batch(1)
    several.topic_data += batch(0, "c", producer_id=PRODUCER + 1).topic_data
    client.send(several, V2)
    assert codes(client) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2


def test_without_acknowledgement_a_refusal_closes_the_connection() -> None:
    _, coordinator, client = a_world()
    request = batch(0)
    request.acks = 0
    client.send(request, V2, answered=False)
    coordinator.answer(ErrorCode.INVALID_TXN_STATE)
    assert client.connection.closing
