"""Settings of share groups: what is seen under the default and another value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.settings_act.asking import find_coordinator
from tests.settings_act.trial import Flip, Trial, may_be, on

OTHER_S: Final = 30_000
TURNS: Final = 20


def _beat(trial: Trial) -> Any:
    """A world, and a way to join there."""
    world = trial.begin({"share.coordinator.state.topic.num.partitions": "1"}, topic={})
    find_coordinator(world)

    def beat(member: str, epoch: int = 0) -> Any:
        """Who joins waits for share coordinators, some turns."""
        names = ["t"] if epoch == 0 else None
        client = world.client()
        client.send(
            ShareGroupHeartbeatRequest(group_id="g", member_id=member, member_epoch=epoch, subscribed_topic_names=names)
        )
        for _ in range(TURNS):
            world.settle()
            world.run_due()
            if replies := client.replies():
                return replies[0]
        return None

    return world, beat


def interval_ms(trial: Trial) -> int:
    told: int = _beat(trial)[1]("m").heartbeat_interval_ms
    return told


def error_of_second(trial: Trial) -> int:
    _, beat = _beat(trial)
    beat("first")
    code: int = beat("second").error_code
    return code


def is_member_after_silence(trial: Trial, silence_ms: int = OTHER_S) -> bool:
    world, beat = _beat(trial)
    epoch = beat("m").member_epoch
    world.pass_time(silence_ms)
    return bool(beat("m", epoch).error_code == ErrorCode.NONE)


def assignments_of_three(trial: Trial) -> int:
    """How many targets are made for members that come at once."""
    world, beat = _beat(trial)
    for member in ("first", "second", "third"):
        beat(member)
    group = world.node.coordinators.groups.find("g").machine.groups["g"]
    return int(group.assignment_epoch)


def asks_again_within(trial: Trial, seconds: int) -> bool:
    """Whether state is set up again of which nobody has heard for so long."""
    world, beat = _beat(trial)
    asked: list[object] = []
    world.node.cluster.share_setup.ask = lambda request, then: asked.append(request)
    assert beat("m") is None
    for _ in range(seconds):
        world.pass_time(1_000)
        beat("m")
    return len(asked) > 1


OF_SHARE_GROUPS: Final[Mapping[str, Flip]] = {
    "group.share.heartbeat.interval.ms": Flip(interval_ms, ("5000", 5_000), ("6000", 6_000)),
    "group.share.max.size": Flip(error_of_second, ("200", ErrorCode.NONE), ("1", ErrorCode.GROUP_MAX_SIZE_REACHED)),
    "group.share.session.timeout.ms": Flip(is_member_after_silence, ("45000", True), ("20000", False)),
    "group.share.assignment.interval.ms": Flip(assignments_of_three, ("1000", 2), ("0", 4)),
    "group.share.initialize.retry.interval.ms": Flip(on(asks_again_within, 10), ("30000", False), ("5000", True)),
    "group.share.max.session.timeout.ms": Flip(
        on(may_be, "share.session.timeout.ms", "90000"), ("60000", False), ("90000", True)
    ),
    "group.share.min.session.timeout.ms": Flip(
        on(may_be, "share.session.timeout.ms", "30000"), ("45000", False), ("30000", True)
    ),
    "group.share.max.heartbeat.interval.ms": Flip(
        on(may_be, "share.heartbeat.interval.ms", "20000"), ("15000", False), ("20000", True)
    ),
    "group.share.min.heartbeat.interval.ms": Flip(
        on(may_be, "share.heartbeat.interval.ms", "3000"), ("5000", False), ("3000", True)
    ),
    "group.share.max.assignment.interval.ms": Flip(
        on(may_be, "share.assignment.interval.ms", "20000"), ("15000", False), ("20000", True)
    ),
    "group.share.min.assignment.interval.ms": Flip(
        on(may_be, "share.assignment.interval.ms", "0"), ("0", True), ("500", False)
    ),
}
