"""The audit trail: changes of the cluster, refusals and failed authentications, as records of a topic of its own.

It cannot be used to fill a disk: the topic keeps so many bytes, what waits to be written is bounded, and what is
refused again and again is counted. A node that cannot write it goes on serving, and the trail says how much it lacks.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.image import NO_LEADER
from penstock.core.node.membership.broker_channel import BrokerChannel
from penstock.core.node.membership.internal_topics import AUDIT_TOPIC, create_missing
from penstock.core.node.membership.ports import Asking
from penstock.core.records.build import build_batch
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from penstock.core.wire.refusals import codes_in
from penstock.core.wire.schema import Response

ENABLED: Final = "penstock.audit.enable"
PURPOSE: Final = "audit"
WAITING_MAX: Final = 2_000
"""Events that are not written yet; what comes beyond is lost, and counted."""
BATCH_MAX: Final = 500
REPEATED_MAX: Final = 1_000
"""Kinds of refusals that are counted at one time."""
REPEATED_MS: Final = 60_000
AGAIN_MS: Final = 1_000
LEADER_ACK: Final = 1
TIMEOUT_MS: Final = 10_000

Event = dict[str, Any]


class AuditTrail:
    """Of one node: it writes what happened there."""

    def __init__(self, node: Asking, brokers: BrokerChannel) -> None:
        self._node = node
        self._brokers = brokers
        self._waiting: deque[tuple[int, Event]] = deque()
        self._repeated: dict[str, int] = {}
        self._lost = 0
        self._is_writing = False

    @property
    def is_on(self) -> bool:
        return bool(self._node.settings[ENABLED])

    def note(self, event: Mapping[str, Any]) -> None:
        """Something has happened that was to be kept when it was asked for: who switches the trail off is on it."""
        if len(self._waiting) >= WAITING_MAX:
            self._lost += 1
            return
        self._waiting.append((self._node.now_ms, dict(event)))
        if not self._is_writing:
            self._is_writing = True
            self._node.deadlines.soon(self._write)

    def refused(self, event: Mapping[str, Any]) -> None:
        """The same of what was not allowed: the first time at once, then how often it came within a minute."""
        if not self.is_on:
            return
        key = json.dumps(event, sort_keys=True)
        if key in self._repeated:
            self._repeated[key] += 1
        elif len(self._repeated) >= REPEATED_MAX:
            self._lost += 1
        else:
            self._repeated[key] = 0
            self.note(event)
            self._node.deadlines.at(self._node.now_ms + REPEATED_MS, lambda: self._sum_up(key))

    def _sum_up(self, key: str) -> None:
        if times := self._repeated.pop(key):
            self.note({**json.loads(key), "times": times})

    # Writing

    def _write(self) -> None:
        """What waits goes to the topic's leader, one batch after the other."""
        if not self._waiting:
            self._is_writing = False
            return
        image = self._node.image
        topic = image.topic(AUDIT_TOPIC)
        if topic is None:
            create_missing(self._node, [AUDIT_TOPIC], lambda code: self._again())
            return
        leader = topic.partition(0).leader
        if leader == NO_LEADER:
            self._again()
            return
        events = [self._waiting[number] for number in range(min(len(self._waiting), BATCH_MAX))]
        self._brokers.send(leader, PURPOSE, self._request(events), lambda answer: self._written(len(events), answer))

    def _request(self, events: list[tuple[int, Event]]) -> ProduceRequest:
        batch = build_batch([(None, self._line(at_ms, event), (), at_ms) for at_ms, event in events])
        data = PartitionProduceData(index=0, records=memoryview(bytearray(batch)))
        topic = TopicProduceData(name=AUDIT_TOPIC, partition_data=[data])
        if (known := self._node.image.topic(AUDIT_TOPIC)) is not None:
            topic.topic_id = known.id
        return ProduceRequest(acks=LEADER_ACK, timeout_ms=TIMEOUT_MS, topic_data=[topic])

    def _line(self, at_ms: int, event: Event) -> bytes:
        time = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return json.dumps({"time": time, "node": self._node.node_id, **event}).encode()

    def _written(self, count: int, answer: Response | ErrorCode) -> None:
        failure = answer if isinstance(answer, ErrorCode) else _failure(answer)
        if failure:
            name = ErrorCode(failure).name
            self._node.log("warning", "audit", f"the audit trail cannot be written: {name}", kind="audit")
            self._again()
            return
        for _ in range(count):
            self._waiting.popleft()
        if self._lost:
            lost, self._lost = self._lost, 0
            self._waiting.append((self._node.now_ms, {"event": "lost", "times": lost}))
        self._write()

    def _again(self) -> None:
        self._node.deadlines.at(self._node.now_ms + AGAIN_MS, self._write)


def _failure(answer: Response) -> int:
    assert isinstance(answer, ProduceResponse), "an API has one kind of answer"
    return next((code for code in codes_in(answer) if code), 0)
