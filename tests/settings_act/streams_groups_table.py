"""Settings of streams groups: what is seen under the default and another value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.streams.configuring import ASSIGNMENT_DELAYED
from penstock.core.wire.api.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TopicInfo,
    Topology,
)
from tests.settings_act.asking import find_coordinator
from tests.settings_act.trial import Flip, Trial

SILENCE_S: Final = 30_000
NO_DELAY: Final = "group.streams.initial.rebalance.delay.ms"


def _beat(trial: Trial, others: Mapping[str, str]) -> tuple[Any, Callable[..., Any]]:
    """A world, and a way to join there."""
    world = trial.begin(others, topic={})
    find_coordinator(world)
    store = TopicInfo(name="g-store-changelog")
    part = Subtopology(subtopology_id="0", source_topics=["t"], state_changelog_topics=[store])

    def beat(member: str, epoch: int = 0) -> Any:
        said: dict[str, Any] = {"group_id": "g", "member_id": member, "member_epoch": epoch}
        if epoch == 0:
            said |= {"topology": Topology(epoch=0, subtopologies=[part]), "rebalance_timeout_ms": 60_000}
            said |= {"process_id": member, "active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
        answer = world.client().ask(StreamsGroupHeartbeatRequest(**said))
        world.settle()
        return answer

    return world, beat


def interval_ms(trial: Trial) -> int:
    told: int = _beat(trial, {})[1]("m").heartbeat_interval_ms
    return told


def error_of_second(trial: Trial) -> int:
    _, beat = _beat(trial, {})
    beat("first")
    code: int = beat("second").error_code
    return code


def is_member_after_silence(trial: Trial) -> bool:
    world, beat = _beat(trial, {})
    epoch = beat("m").member_epoch
    world.pass_time(SILENCE_S)
    return bool(beat("m", epoch).error_code == ErrorCode.NONE)


def is_delayed(trial: Trial) -> bool:
    return ASSIGNMENT_DELAYED in [each.status_code for each in _beat(trial, {})[1]("m").status]


def is_second_delayed(trial: Trial) -> bool:
    _, beat = _beat(trial, {NO_DELAY: "0"})
    beat("first")
    return ASSIGNMENT_DELAYED in [each.status_code for each in beat("second").status]


def copies(trial: Trial) -> int:
    """Of one task, where two members come at once."""
    world, beat = _beat(trial, {"group.streams.assignment.interval.ms": "0"})
    epochs = {member: beat(member).member_epoch for member in ("first", "second")}
    world.pass_time(3_000)
    answers = [beat(member, epoch) for member, epoch in epochs.items()]
    return sum(len(each.standby_tasks or []) for each in answers)


OF_STREAMS_GROUPS: Final[Mapping[str, Flip]] = {
    "group.streams.heartbeat.interval.ms": Flip(interval_ms, ("5000", 5_000), ("6000", 6_000)),
    "group.streams.max.size": Flip(
        error_of_second, ("2147483647", ErrorCode.NONE), ("1", ErrorCode.GROUP_MAX_SIZE_REACHED)
    ),
    "group.streams.session.timeout.ms": Flip(is_member_after_silence, ("45000", True), ("20000", False)),
    "group.streams.initial.rebalance.delay.ms": Flip(is_delayed, ("3000", True), ("0", False)),
    "group.streams.assignment.interval.ms": Flip(is_second_delayed, ("1000", True), ("0", False)),
    "group.streams.num.standby.replicas": Flip(copies, ("0", 0), ("1", 1)),
}
