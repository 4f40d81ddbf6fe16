"""Members of a share group as a client library plays them, and share coordinators as they answer."""

from __future__ import annotations

from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.elsewhere import StateDue
from penstock.core.groups.share.group import ShareGroup
from penstock.core.wire.api.delete_share_group_state import DeleteShareGroupStateRequest
from penstock.core.wire.api.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from tests.groups.world import Token, World

GROUP = "g"
GONE = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND})
PASSING = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})


def group_of(world: World) -> ShareGroup:
    group = world.shard.groups[GROUP]
    assert isinstance(group, ShareGroup)
    return group


class Elsewhere:
    """What share coordinators keep: the state epoch of each partition."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.epochs: dict[tuple[bytes, int], int] = {}

    def answer(self, is_reached: bool = True) -> None:
        """All that was asked until now."""
        asked, self._world.due[:] = list(self._world.due), []
        for due in asked:
            self._world.answered(
                due,
                {
                    place: self._code(due, each) if is_reached else ErrorCode.NOT_COORDINATOR
                    for place, each in _places(due)
                },
            )

    def _code(self, due: StateDue, asked: tuple[bytes, Any]) -> ErrorCode:
        topic_id, data = asked
        place = topic_id, data.partition
        name = self._world.topics.name_of(topic_id)
        if name is None or data.partition >= (self._world.topics.partition_count(name) or 0):
            self.epochs.pop(place, None)
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if isinstance(due.request, DeleteShareGroupStateRequest):
            self.epochs.pop(place, None)
            return ErrorCode.NONE
        if data.state_epoch < self.epochs.get(place, 0):
            return ErrorCode.FENCED_STATE_EPOCH
        self.epochs[place] = data.state_epoch
        return ErrorCode.NONE


def _places(due: StateDue) -> list[tuple[tuple[bytes, int], tuple[bytes, Any]]]:
    request: Any = due.request
    return [
        ((topic.topic_id, each.partition), (topic.topic_id, each))
        for topic in request.topics
        for each in topic.partitions
    ]


class Player:
    """One process: it reads what it was told last."""

    def __init__(self, world: World, name: str, topics: set[str]) -> None:
        self._world = world
        self.name = name
        self.topics = topics
        self.epoch = 0
        self.held: set[tuple[bytes, int]] = set()
        self._waits: Token | None = None

    def beat(self) -> None:
        """One heartbeat at a time."""
        if self._waits is not None:
            return
        request = ShareGroupHeartbeatRequest(
            group_id=GROUP, member_id=self.name, member_epoch=self.epoch, subscribed_topic_names=sorted(self.topics)
        )
        self._waits = self._world.ask(request, 1, client_id="c", client_host="/h")
        self.hear()

    def hear(self) -> None:
        """Take the answer, if there is one."""
        if self._waits is None or self._waits not in self._world.answers:
            return
        answer = self._world.answers[self._waits]
        self._waits = None
        assert isinstance(answer, ShareGroupHeartbeatResponse)
        if answer.error_code in GONE:
            self.epoch, self.held = 0, set()
        elif answer.error_code:
            assert answer.error_code in PASSING, answer
        else:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                given = answer.assignment.topic_partitions
                self.held = {(each.topic_id, index) for each in given for index in each.partitions}

    def leave(self) -> None:
        request = ShareGroupHeartbeatRequest(group_id=GROUP, member_id=self.name, member_epoch=-1)
        self._world.ask(request, 1)
        self.epoch, self.held = 0, set()

    @property
    def is_waiting(self) -> bool:
        return self._waits is not None
