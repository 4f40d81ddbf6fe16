"""Members of a consumer group as a client library plays them: they say what they have, and do what they are told."""

from __future__ import annotations

from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.consumer.group import ConsumerGroup
from penstock.core.wire.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
)
from tests.groups.world import World

GROUP = "g"
REBALANCE_MS = 60_000
GONE = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND})

Held = dict[bytes, set[int]]


def beat(world: World, **fields: Any) -> ConsumerGroupHeartbeatResponse:
    request = ConsumerGroupHeartbeatRequest(**({"group_id": GROUP} | fields))
    version = 0 if request.subscribed_topic_regex is None else 1
    answer = world.answers[world.ask(request, version, client_id="c", client_host="/h")]
    assert isinstance(answer, ConsumerGroupHeartbeatResponse)
    return answer


def group_of(world: World) -> ConsumerGroup:
    group = world.shard.groups[GROUP]
    assert isinstance(group, ConsumerGroup)
    return group


class Player:
    """One process. It holds what it was given until it was told to give it up, and has."""

    def __init__(
        self, world: World, topics: set[str], instance: str | None = None, assignor: str | None = None
    ) -> None:
        self._world = world
        self.topics = topics
        self._instance = instance
        self._assignor = assignor
        self.member_id, self.epoch = "", 0
        self.held: Held = {}
        self._told: Held | None = None

    def beat(self) -> ErrorCode:
        """Give up what it was told to, and say what it has."""
        if self._told is not None:
            self.held, self._told = self._told, None
        is_joining = self.epoch == 0
        answer = beat(
            self._world,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self._instance,
            rebalance_timeout_ms=REBALANCE_MS if is_joining else -1,
            subscribed_topic_names=sorted(self.topics),
            server_assignor=self._assignor if is_joining else None,
            topic_partitions=[] if is_joining else self._said(),
        )
        if answer.error_code in GONE:
            self.member_id = "" if answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID else self.member_id
            self.epoch, self.held, self._told = 0, {}, None
        elif not answer.error_code:
            self._take(answer)
        return ErrorCode(answer.error_code)

    def leave(self, epoch: int = -1) -> None:
        answer = beat(self._world, member_id=self.member_id, member_epoch=epoch, instance_id=self._instance)
        assert answer.error_code == ErrorCode.NONE
        self.member_id, self.epoch, self.held, self._told = "", 0, {}, None

    @property
    def count(self) -> int:
        return sum(map(len, self.held.values()))

    def _take(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        assert answer.member_id is not None
        self.member_id, self.epoch = answer.member_id, answer.member_epoch
        if answer.assignment is not None:
            told = {each.topic_id: set(each.partitions) for each in answer.assignment.topic_partitions}
            lost = any(numbers - told.get(topic_id, set()) for topic_id, numbers in self.held.items())
            if lost:
                # A consumer takes its time to give partitions up, and takes no others meanwhile.
                self._told = told
            else:
                self.held = told

    def _said(self) -> list[RequestTopicPartitions]:
        return [
            RequestTopicPartitions(topic_id=topic_id, partitions=sorted(held)) for topic_id, held in self.held.items()
        ]
