"""How leaders ask share coordinators: gathered by group, each partition once, and again where it may help."""

from __future__ import annotations

from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.node.sharing.persister import PATIENCE_MS, Written
from penstock.core.share_state.key import SharePartition as Key
from penstock.core.sharing.change import StateBatch
from penstock.core.sharing.states import ACKNOWLEDGED
from penstock.core.wire.api import write_share_group_state as writing
from tests.node import sharing

TOPIC_ID = bytes(range(16))


class Brokers:
    """Takes what a persister sends, and answers when the test says so."""

    def __init__(self) -> None:
        self.world = sharing.begun()
        self.sent: list[tuple[Any, Any]] = []
        self.world.node.cluster.brokers.send = self.send  # type: ignore[method-assign]  # nobody is there to be asked
        self.persister = self.world.node.sharing._persister
        self.heard: list[tuple[str, int, ErrorCode]] = []

    def send(self, broker_id: int, purpose: str, request: Any, then: Any, timeout_ms: int | None = None) -> None:
        assert broker_id == self.world.node.node_id
        self.sent.append((request, then))

    def write(self, group: str, partition: int, start_offset: int = 0) -> None:
        written = Written(1, 0, start_offset, 1, [StateBatch(start_offset, start_offset, ACKNOWLEDGED, 1)])

        def then(result: Any, code: ErrorCode) -> None:
            self.heard.append((group, partition, code))

        self.world.turn(lambda: self.persister.write(Key(group, TOPIC_ID, partition), written, then))

    def asked(self) -> list[tuple[str, list[tuple[int, int]]]]:
        """Group, and partitions with their start offsets, of each request that waits."""
        return [
            (request.group_id, [(each.partition, each.start_offset) for each in request.topics[0].partitions])
            for request, _ in self.sent
        ]

    def answer(self, code: ErrorCode = ErrorCode.NONE) -> None:
        request, then = self.sent.pop(0)
        results = [
            writing.PartitionResult(partition=each.partition, error_code=code) for each in request.topics[0].partitions
        ]
        topic = writing.WriteStateResult(topic_id=TOPIC_ID, partitions=results)
        self.world.turn(lambda: then(writing.WriteShareGroupStateResponse(results=[topic])))


def test_what_comes_while_one_is_asked_is_the_next_request() -> None:
    brokers = Brokers()
    for partition, start_offset in ((0, 1), (1, 2), (2, 3), (1, 4)):
        brokers.write("g", partition, start_offset)
    brokers.write("other", 0)
    assert brokers.asked() == [("g", [(0, 1)]), ("other", [(0, 0)])]
    brokers.answer()
    assert brokers.asked() == [("other", [(0, 0)]), ("g", [(1, 2), (2, 3)])]
    brokers.answer()
    brokers.answer()
    assert brokers.asked() == [("g", [(1, 4)])], "a request names each partition once"
    assert {code for *_, code in brokers.heard} == {ErrorCode.NONE}


def test_who_is_not_in_charge_is_asked_again() -> None:
    brokers = Brokers()
    brokers.write("g", 0)
    brokers.answer(ErrorCode.NOT_COORDINATOR)
    assert (brokers.asked(), brokers.heard) == ([], [])
    brokers.world.pass_time(100)
    brokers.answer()
    assert brokers.heard == [("g", 0, ErrorCode.NONE)]


def test_patience_ends() -> None:
    brokers = Brokers()
    brokers.write("g", 0)
    for _ in range(PATIENCE_MS // 100 + 1):
        if brokers.sent:
            _, then = brokers.sent.pop()
            brokers.world.turn(lambda then=then: then(ErrorCode.NETWORK_EXCEPTION))  # type: ignore[misc]
        brokers.world.pass_time(100)
    assert brokers.heard == [("g", 0, ErrorCode.NETWORK_EXCEPTION)]


def test_who_is_fenced_is_not_asked_again() -> None:
    brokers = Brokers()
    brokers.write("g", 0)
    brokers.answer(ErrorCode.FENCED_LEADER_EPOCH)
    brokers.world.pass_time(PATIENCE_MS)
    assert (brokers.asked(), brokers.heard) == ([], [("g", 0, ErrorCode.FENCED_LEADER_EPOCH)])
