"""What share partitions keep lies with share coordinators, who may be any broker: asked here, and told.

Questions of one group for one coordinator are gathered while it is asked: one request goes at a time, and names each
partition once. Whoever does not answer, or is not in charge, is asked again, or its successor, until patience ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from penstock.core.base.errors import ErrorCode
from penstock.core.node.coordination.share_coordinators import PASSING, RETRY_MS, coordinator_of
from penstock.core.node.links.purposes import SHARE_STATE
from penstock.core.node.sharing.ports import SharingHost
from penstock.core.share_state.key import SharePartition as Key
from penstock.core.sharing.change import StateBatch
from penstock.core.wire.api import read_share_group_state as reading
from penstock.core.wire.api import write_share_group_state as writing
from penstock.core.wire.schema import Response

PATIENCE_MS: Final = 15_000
ANSWER_MS: Final = 6_000
"""A coordinator that hangs is waited for no longer: by then another may be in charge, and a write that is repeated
changes nothing. It answers in five seconds itself where its log does not get on."""


class Written(NamedTuple):
    """What is to be stored of a share partition, by whom, and what that one knows of its standing."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    complete_count: int
    batches: list[StateBatch]


Result = reading.PartitionResult | writing.PartitionResult
Then = Callable[[Any, ErrorCode], None]
"""Gets the partition's part of an answer, or None, and the code."""
Lane = tuple[int, bool, str]
"""Broker, whether it is told something, and the group: what one request can say."""


class _Question(NamedTuple):
    key: Key
    asked: reading.PartitionData | writing.PartitionData
    end_ms: int
    then: Then

    @property
    def writes(self) -> bool:
        return isinstance(self.asked, writing.PartitionData)

    @property
    def place(self) -> tuple[bytes, int]:
        return self.key.topic_id, self.key.partition


class Persister:
    """All questions of a node to share coordinators. `then` comes exactly once, in a later step of the loop."""

    def __init__(self, node: SharingHost) -> None:
        self._node = node
        self._queues: dict[Lane, deque[_Question]] = {}
        self._busy: set[Lane] = set()

    def read(self, key: Key, leader_epoch: int, then: Then) -> None:
        asked = reading.PartitionData(partition=key.partition, leader_epoch=leader_epoch)
        self._ask(_Question(key, asked, self._node.now_ms + PATIENCE_MS, then))

    def write(self, key: Key, written: Written, then: Then) -> None:
        batches = [
            writing.StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)
            for first, last, state, count in written.batches
        ]
        asked = writing.PartitionData(
            partition=key.partition,
            state_epoch=written.state_epoch,
            leader_epoch=written.leader_epoch,
            start_offset=written.start_offset,
            delivery_complete_count=written.complete_count,
            state_batches=batches,
        )
        self._ask(_Question(key, asked, self._node.now_ms + PATIENCE_MS, then))

    def _ask(self, question: _Question) -> None:
        coordinator = coordinator_of(self._node.image, question.key)
        if coordinator is None:
            self._again(question, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        lane = coordinator, question.writes, question.key.group_id
        self._queues.setdefault(lane, deque()).append(question)
        self._pump(lane)

    def _pump(self, lane: Lane) -> None:
        if lane in self._busy or lane not in self._queues:
            return
        questions, left = _once_each(self._queues.pop(lane))
        if left:
            self._queues[lane] = left
        self._busy.add(lane)
        broker_id, writes, group_id = lane
        request = _request(group_id, questions, writes)
        then = partial(self._heard, lane, questions)
        self._node.cluster.brokers.send(broker_id, SHARE_STATE, request, then, ANSWER_MS)

    def _heard(self, lane: Lane, questions: list[_Question], answer: Response | ErrorCode) -> None:
        self._busy.discard(lane)
        results = _read(answer)
        lost = answer if isinstance(answer, ErrorCode) else ErrorCode.NETWORK_EXCEPTION
        for question in questions:
            result = results.get(question.place)
            code = lost if result is None else ErrorCode(result.error_code)
            if code in PASSING:
                self._again(question, code)
            else:
                question.then(result, code)
        self._pump(lane)

    def _again(self, question: _Question, code: ErrorCode) -> None:
        node = self._node
        if node.now_ms < question.end_ms:
            node.deadlines.at(node.now_ms + RETRY_MS, partial(self._ask, question))
        else:
            node.deadlines.soon(partial(question.then, None, code))


def _once_each(questions: deque[_Question]) -> tuple[list[_Question], deque[_Question]]:
    """Those that one request can ask, and the others: it speaks of each partition once."""
    asked: dict[tuple[bytes, int], _Question] = {}
    left = deque[_Question]()
    for question in questions:
        if asked.setdefault(question.place, question) is not question:
            left.append(question)
    return list(asked.values()), left


def _request(
    group_id: str, questions: list[_Question], writes: bool
) -> reading.ReadShareGroupStateRequest | writing.WriteShareGroupStateRequest:
    by_topic: dict[bytes, list[Any]] = {}
    for question in questions:
        by_topic.setdefault(question.key.topic_id, []).append(question.asked)
    if writes:
        told = [writing.WriteStateData(topic_id=topic_id, partitions=some) for topic_id, some in by_topic.items()]
        return writing.WriteShareGroupStateRequest(group_id=group_id, topics=told)
    asked = [reading.ReadStateData(topic_id=topic_id, partitions=some) for topic_id, some in by_topic.items()]
    return reading.ReadShareGroupStateRequest(group_id=group_id, topics=asked)


def _read(answer: Response | ErrorCode) -> dict[tuple[bytes, int], Result]:
    if not isinstance(answer, reading.ReadShareGroupStateResponse | writing.WriteShareGroupStateResponse):
        return {}
    return {(topic.topic_id, each.partition): each for topic in answer.results for each in topic.partitions}
