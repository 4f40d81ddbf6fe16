"""A member that speaks the consumer protocol: it says what it has, and does what it is told.

It gives up at once what it is told to give up, and says so with its next heartbeat. When an answer was lost,
it says all of itself, so that it is told all that is its own.
"""

from __future__ import annotations

from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
)
from penstock.sim.clients.client import Client, Disconnected
from penstock.sim.clients.member import RETRIABLE, Rejoin
from penstock.sim.events import Partition
from penstock.sim.live_groups.fate import Fate, Left
from penstock.sim.live_groups.holdings import Holdings
from penstock.sim.live_groups.plan import GROUP, REBALANCE_MS, LiveGroupPlan
from penstock.sim.script import Script

GONE: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND})
STALE: Final = ErrorCode.STALE_MEMBER_EPOCH
JOIN: Final = 0
LEAVE: Final = -1


class Heartbeater:
    """One process."""

    def __init__(
        self, client: Client, plan: LiveGroupPlan, holdings: Holdings, fate: Fate, topic_id: bytes, member_id: str
    ) -> None:
        self._client = client
        self._plan = plan
        self._holdings = holdings
        self._fate = fate
        self._topic_id = topic_id
        self._member_id = member_id
        self._epoch = JOIN
        self._is_lost = True
        self._said: list[int] | None = None

    def live(self) -> Script[None]:
        """Until it dies, or leaves."""
        while True:
            try:
                yield from self._step()
                yield from self._fate.step()
            except (Rejoin, Disconnected):
                self._is_lost = True
                yield from self._client.back_off()
            except Left:
                yield from self._leave()
                return

    def _step(self) -> Script[None]:
        if self._is_lost:
            self._check((yield from self._client.find_coordinator(GROUP)))
        if self._is_lost or self._epoch == JOIN or not self._fate.forgets():
            yield from self._beat()
        if self._epoch != JOIN:
            code = yield from self._holdings.go_on(self._member_id, self._epoch)
            if code != STALE:
                self._check(code)

    def _beat(self) -> Script[None]:
        held = sorted(each.number for each in self._holdings.positions)
        tells_all = self._is_lost or self._epoch == JOIN
        said = held if tells_all or held != self._said else None
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=self._member_id,
            member_epoch=self._epoch,
            rebalance_timeout_ms=REBALANCE_MS if tells_all else -1,
            subscribed_topic_names=[self._plan.topic.name] if tells_all else None,
            topic_partitions=None if said is None else self._said_of(said),
        )
        sent_ms = self._holdings.now_ms
        reply = yield from self._client.call_coordinator(request, ConsumerGroupHeartbeatResponse)
        self._check(reply.error_code)
        if reply.error_code == ErrorCode.NONE:
            self._is_lost, self._said = False, held
            self._take(reply, sent_ms)

    def _take(self, reply: ConsumerGroupHeartbeatResponse, sent_ms: int) -> None:
        self._epoch = reply.member_epoch
        if reply.assignment is not None:
            told = [
                Partition(self._plan.topic.name, number)
                for topic in reply.assignment.topic_partitions
                for number in topic.partitions
            ]
            self._holdings.be(told, self._epoch, sent_ms, is_classic=False)
        self._holdings.heard(sent_ms)

    def _said_of(self, numbers: list[int]) -> list[RequestTopicPartitions]:
        return [RequestTopicPartitions(topic_id=self._topic_id, partitions=numbers)] if numbers else []

    def _check(self, error_code: int) -> None:
        """Whoever is no member any more has nothing, and joins again."""
        code = ErrorCode(error_code)
        if code is ErrorCode.NONE:
            return
        if code in GONE:
            self._holdings.keep()
            self._epoch, self._said = JOIN, None
        else:
            assert code in RETRIABLE or code in self._client.excuses, f"{self._client.name} got {code!r}"
        raise Rejoin

    def _leave(self) -> Script[None]:
        self._holdings.leave()
        request = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=self._member_id, member_epoch=LEAVE)
        try:
            yield from self._client.call_coordinator(request, ConsumerGroupHeartbeatResponse)
        except Disconnected:
            return  # Its session will run out, which does the same.
