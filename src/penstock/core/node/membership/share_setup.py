"""What this node asks share coordinators, who may be any broker: each gets its part, and all answer as one.

The topic that they are over is created when it is first needed. Whoever does not answer, or is not in charge, is asked
again, or its successor, until patience ends; then what is left has the last code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from penstock.core.base.errors import ErrorCode
from penstock.core.node.coordination.share_coordinators import PASSING, RETRY_MS, coordinator_of
from penstock.core.node.coordination.share_state import SHARE_STATE_TOPIC
from penstock.core.node.links.purposes import SHARE_SETUP
from penstock.core.node.membership.broker_channel import BrokerChannel
from penstock.core.node.membership.internal_topics import create_missing
from penstock.core.node.membership.ports import MemberHost
from penstock.core.share_state.answering import merge, split
from penstock.core.share_state.key import SharePartition
from penstock.core.wire.refusals import codes_in, refusal
from penstock.core.wire.schema import Request, Response

PATIENCE_MS: Final = 10_000
"""Clients of the groups are patient for thirty seconds."""
NOBODY: Final = -1

Then = Callable[[Response], None]


class ShareSetup:
    """All questions of a node."""

    def __init__(self, node: MemberHost, brokers: BrokerChannel) -> None:
        self._node = node
        self._brokers = brokers

    def ask(self, request: Request, then: Then) -> None:
        """`then` comes exactly once, in a later step of the loop."""
        _Question(self._node, self._brokers, request, then).begin()


class _Question:
    """One request, and what is still missing of its answer."""

    def __init__(self, node: MemberHost, brokers: BrokerChannel, request: Any, then: Then) -> None:
        self._node = node
        self._brokers = brokers
        self._request = request
        self._then = then
        self._end_ms = node.now_ms + PATIENCE_MS
        self._missing = 0
        self._answers: list[Response] = []

    def begin(self) -> None:
        if self._node.image.topic(SHARE_STATE_TOPIC) is None:
            create_missing(self._node, [SHARE_STATE_TOPIC], lambda code: self._send(self._request))
        else:
            self._send(self._request)

    def _send(self, request: Any) -> None:
        """Count all parts first: none is answered before the last one is out."""
        parts = split(request, self._coordinator)
        self._missing += len(parts)
        for broker_id, part in parts.items():
            if broker_id == NOBODY:
                self._heard(part, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            else:
                self._brokers.send(broker_id, SHARE_SETUP, part, partial(self._heard, part))
        if not parts:
            self._node.deadlines.soon(self._finish)

    def _coordinator(self, key: SharePartition) -> int:
        found = coordinator_of(self._node.image, key)
        return NOBODY if found is None else found

    def _heard(self, part: Any, answer: Response | ErrorCode) -> None:
        response = answer if isinstance(answer, Response) else refusal(part, _newest(part), answer)
        codes = {ErrorCode(each) for each in codes_in(response)}
        if codes & PASSING and self._node.now_ms < self._end_ms:
            again, settled = _parted(part, response)
            self._answers.append(settled)
            self._node.deadlines.at(self._node.now_ms + RETRY_MS, partial(self._again, again))
            return
        self._answers.append(response)
        self._done()

    def _again(self, part: Any) -> None:
        self._send(part)
        self._done()

    def _done(self) -> None:
        self._missing -= 1
        if not self._missing:
            self._node.deadlines.soon(self._finish)

    def _finish(self) -> None:
        self._then(merge(self._request, self._answers))


def _parted(part: Any, response: Any) -> tuple[Any, Response]:
    """What is to be asked again, and the rest of the answer."""
    passing = {
        (topic.topic_id, each.partition)
        for topic in response.results
        for each in topic.partitions
        if each.error_code in PASSING
    }
    again = type(part)(
        group_id=part.group_id,
        topics=[
            type(topic)(
                topic_id=topic.topic_id,
                partitions=[each for each in topic.partitions if (topic.topic_id, each.partition) in passing],
            )
            for topic in part.topics
            if any((topic.topic_id, each.partition) in passing for each in topic.partitions)
        ],
    )
    for topic in response.results:
        topic.partitions = [each for each in topic.partitions if (topic.topic_id, each.partition) not in passing]
    response.results = [topic for topic in response.results if topic.partitions]
    return again, response


def _newest(part: Request) -> int:
    return type(part).VERSIONS[-1]
