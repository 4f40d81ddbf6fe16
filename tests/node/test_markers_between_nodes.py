"""Markers between nodes: together for each broker, until every partition has its own, whoever dies meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.records.build import build_batch
from penstock.core.transactions.states import State
from penstock.core.wire.api.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from penstock.core.wire.api.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from penstock.core.wire.api.describe_transactions import DescribeTransactionsRequest
from penstock.core.wire.api.end_txn import EndTxnRequest
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from penstock.core.wire.api.write_txn_markers import WriteTxnMarkersRequest
from tests.settings_act.town import MACHINES, Town
from tests.settings_act.trial import Place, Trial

TOPIC = "accounts"
STATE = "__transaction_state"
PRODUCERS = 20


class Bank:
    """Three nodes: one coordinates, each of the two others leads a partition of the topic."""

    def __init__(self) -> None:
        self.town = Town(Trial("transaction.state.log.num.partitions", "1", Place.FILE)).begin()
        town = self.town
        town.wait(lambda: self._finds(MACHINES[0]))
        town.wait(lambda: self.leader(STATE, 0) > 0)
        self.coordinator = self.leader(STATE, 0)
        self.leaders = [each for each in MACHINES if each != self.coordinator]
        rows = [
            CreatableReplicaAssignment(partition_index=index, broker_ids=[first, second, self.coordinator])
            for index, (first, second) in enumerate((self.leaders, self.leaders[::-1]))
        ]
        wanted = CreatableTopic(name=TOPIC, num_partitions=-1, replication_factor=-1, assignments=rows)
        answer = town.ask(town.controller, CreateTopicsRequest(topics=[wanted], timeout_ms=10_000))
        assert answer.topics[0].error_code == 0
        town.wait(lambda: [self.leader(TOPIC, index) for index in (0, 1)] == self.leaders)

    def _finds(self, number: int) -> bool:
        asked = FindCoordinatorRequest(key_type=1, coordinator_keys=["tx"])
        return bool(self.town.ask(number, asked).coordinators[0].error_code == 0)

    def leader(self, topic: str, index: int) -> int:
        """Who serves as its leader; 0 while nobody does."""
        for number in MACHINES:
            if self.town.serves(number):
                replica = self.town.node(number).replicas.get(topic, index)
                if replica is not None and replica.leads:
                    return number
        return 0

    def write(self, name: str) -> tuple[int, int]:
        """A transaction with a record in each partition; gives its producer."""
        made = self._asked(InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000))
        producer = (made.producer_id, made.producer_epoch)
        identity = dict(zip(("id", "epoch"), producer, strict=True))
        topics = [AddPartitionsToTxnTopic(name=TOPIC, partitions=[0, 1])]
        named = {f"v3_and_below_producer_{key}": value for key, value in identity.items()}
        self._asked(
            AddPartitionsToTxnRequest(v3_and_below_transactional_id=name, v3_and_below_topics=topics, **named), 3
        )
        batch = build_batch(
            [(None, b"v", (), self.town.now_ms)],
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=0,
            transactional=True,
        )
        for index, leader in enumerate(self.leaders):
            row = PartitionProduceData(index=index, records=bytes(batch))
            data = TopicProduceData(name=TOPIC, partition_data=[row])
            request = ProduceRequest(transactional_id=name, acks=-1, timeout_ms=10_000, topic_data=[data])
            answer = self.town.ask(leader, request, newest_version=11)
            assert answer.responses[0].partition_responses[0].error_code == 0
        return producer

    def end(self, name: str, producer: tuple[int, int]) -> None:
        assert self._asked(ending(name, producer), 4).error_code == 0

    def _asked(self, request: Any, version: int | None = None) -> Any:
        return self.town.ask(self.coordinator, request, newest_version=version)

    def state(self, name: str) -> State:
        """As the coordinator's machine has it now."""
        return self.town.node(self.coordinator).coordinators.transactions.find(name).machine.table[name].state

    def is_over(self, *names: str) -> bool:
        """Whether the transactions have ended for whoever coordinates now, and for readers of committed records."""
        number = self.leader(STATE, 0)
        if not number:
            return False
        found = self.town.ask(number, DescribeTransactionsRequest(transactional_ids=list(names))).transaction_states
        return all(each.transaction_state == "CompleteCommit" for each in found) and all(map(self._is_stable, (0, 1)))

    def _is_stable(self, index: int) -> bool:
        leader = self.leader(TOPIC, index)
        replica = self.town.node(leader).replicas.get(TOPIC, index) if leader else None
        return replica is not None and replica.last_stable_offset == replica.high_watermark == replica.log.end_offset


def ending(name: str, producer: tuple[int, int]) -> EndTxnRequest:
    return EndTxnRequest(transactional_id=name, producer_id=producer[0], producer_epoch=producer[1], committed=True)


@pytest.fixture
def bank() -> Bank:
    return Bank()


def test_a_leader_that_dies_has_a_successor_who_is_told(bank: Bank) -> None:
    producer = bank.write("tx")
    bank.town.crash(bank.leaders[0])
    bank.end("tx", producer)
    assert not bank.is_over("tx"), "nobody leads the partition yet"
    bank.town.wait(lambda: bank.is_over("tx"))
    assert bank.leader(TOPIC, 0) != bank.leaders[0]


def test_what_comes_up_meanwhile_goes_out_together(bank: Bank) -> None:
    names = [f"tx-{number}" for number in range(PRODUCERS)]
    producers = [bank.write(name) for name in names]
    since_s = bank.town.now_s
    asked = [ending(name, producer) for name, producer in zip(names, producers, strict=True)]
    answers = [bank.town.send(bank.coordinator, each, 4) for each in asked]
    bank.town.wait(lambda: all(each.resolved for each in answers) and bank.is_over(*names))
    sizes = [len(each.request.markers) for each in bank.town.asked(WriteTxnMarkersRequest, since_s=since_s)]
    assert sum(sizes) == 2 * PRODUCERS, "each transaction has a marker at each of two leaders"
    assert max(sizes) > 1


@pytest.mark.parametrize(
    ("ms", "state"),
    [
        (0, State.PREPARE_COMMIT),
        (1, State.PREPARE_COMMIT),
        (2, State.PREPARE_COMMIT),
        (3, State.PREPARE_COMMIT),
        (10, State.COMPLETE_COMMIT),
    ],
)
def test_a_coordinator_that_dies_at_any_step_has_a_successor(bank: Bank, ms: int, state: State) -> None:
    producer = bank.write("tx")
    bank.end("tx", producer)
    bank.town.pass_time(ms / 1000)
    assert bank.state("tx") is state
    bank.town.crash(bank.coordinator)
    bank.town.wait(lambda: bank.is_over("tx"))
    assert bank.leader(STATE, 0) != bank.coordinator


def test_all_die_and_come_back(bank: Bank) -> None:
    producer = bank.write("tx")
    bank.end("tx", producer)
    for number in MACHINES:
        bank.town.crash(number)
    for number in MACHINES:
        bank.town.world.sites[number].boot()
    bank.town.wait(lambda: all(map(bank.town.serves, MACHINES)) and bank.is_over("tx"), within_s=60)
