"""Members of a streams group as a client library plays them."""

from __future__ import annotations

from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.streams.configuring import MISSING_INTERNAL_TOPICS
from penstock.core.groups.streams.group import StreamsGroup
from penstock.core.groups.streams.tasks import Task
from penstock.core.rsm.machine import TopicChanges
from penstock.core.wire.api import streams_group_heartbeat as beating
from tests.groups.world import World

GROUP = "g"
SOURCE, BETWEEN, CHANGELOG = "orders", "g-between", "g-changelog"
GONE = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND})


def group_of(world: World) -> StreamsGroup:
    group = world.shard.groups[GROUP]
    assert isinstance(group, StreamsGroup)
    return group


def topology() -> beating.Topology:
    first = beating.Subtopology(subtopology_id="0", source_topics=[SOURCE], repartition_sink_topics=[BETWEEN])
    second = beating.Subtopology(
        subtopology_id="1",
        repartition_source_topics=[beating.TopicInfo(name=BETWEEN)],
        state_changelog_topics=[beating.TopicInfo(name=CHANGELOG)],
    )
    return beating.Topology(epoch=0, subtopologies=[first, second])


class Player:
    """One thread of an application: it runs what it was told last, and says what that is."""

    def __init__(self, world: World, name: str, process: str) -> None:
        self._world = world
        self.name = name
        self.process = process
        self.epoch = 0
        self.active: set[Task] = set()
        self.standby: set[Task] = set()

    def beat(self, is_heard: bool = True) -> None:
        """Where its answer is lost, only the coordinator knows what it decided."""
        said: dict[str, Any] = {"process_id": self.process, "rebalance_timeout_ms": 20_000}
        if self.epoch == 0:
            said["topology"] = topology()
        said |= {"active_tasks": _ids(self.active), "standby_tasks": _ids(self.standby), "warmup_tasks": []}
        answer = self._ask(self.epoch, **said)
        if answer.error_code in GONE:
            self.epoch, self.active, self.standby = 0, set(), set()
            return
        assert answer.error_code == 0, answer
        if any(each.status_code == MISSING_INTERNAL_TOPICS for each in answer.status):
            self._create()
        if is_heard:
            self.epoch = answer.member_epoch
            if answer.active_tasks is not None:
                self.active, self.standby = _tasks(answer.active_tasks), _tasks(answer.standby_tasks)

    def leave(self) -> None:
        if self.epoch:
            self._ask(-1)

    def _ask(self, epoch: int, **said: Any) -> Any:
        request = beating.StreamsGroupHeartbeatRequest(group_id=GROUP, member_id=self.name, member_epoch=epoch, **said)
        return self._world.answers[self._world.ask(request, 0)]

    def _create(self) -> None:
        counts = self._world.topics.counts
        counts[BETWEEN] = counts[CHANGELOG] = counts[SOURCE]
        changes = TopicChanges({}, frozenset({BETWEEN, CHANGELOG}))
        self._world.sweep(self._world.shard.topics_changed(changes))


def _ids(tasks: set[Task]) -> list[beating.RequestTaskIds]:
    return [beating.RequestTaskIds(subtopology_id=name, partitions=[number]) for name, number in sorted(tasks)]


def _tasks(said: list[Any]) -> set[Task]:
    return {Task(each.subtopology_id, number) for each in said for number in each.partitions}
