"""Settings of groups whose assignment the coordinator makes: what is seen under the default and another value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.consumer_group_describe import ConsumerGroupDescribeRequest
from penstock.core.wire.api.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from penstock.core.wire.stored.consumer_protocol import ConsumerProtocolSubscription
from tests.settings_act.asking import find_coordinator
from tests.settings_act.trial import Flip, Trial, may_be, on

OTHER_S: Final = 30_000


def _beat(trial: Trial) -> Any:
    """A world, and a way to join there."""
    world = trial.begin(topic={})
    find_coordinator(world)
    client = world.client()

    def beat(member: str, epoch: int = 0) -> Any:
        is_joining = epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id=member,
            member_epoch=epoch,
            rebalance_timeout_ms=60_000 if is_joining else -1,
            subscribed_topic_names=["t"] if is_joining else None,
            topic_partitions=[],
        )
        return client.ask(request, 0)

    beat("first")
    return world, beat


def interval_ms(trial: Trial) -> int:
    _, beat = _beat(trial)
    told: int = beat("second").heartbeat_interval_ms
    return told


def error_of_second(trial: Trial) -> int:
    _, beat = _beat(trial)
    code: int = beat("second").error_code
    return code


def is_member_after_silence(trial: Trial, silence_ms: int = OTHER_S) -> bool:
    world, beat = _beat(trial)
    world.pass_time(silence_ms)
    return bool(beat("first", 1).error_code == ErrorCode.NONE)


def epoch_of_second(trial: Trial) -> int:
    """How soon the next assignment is made: the second member is in it, or has that of before."""
    _, beat = _beat(trial)
    epoch: int = beat("second").member_epoch
    return epoch


def default_assignor(trial: Trial) -> str:
    world, _ = _beat(trial)
    name: str = world.client().ask(ConsumerGroupDescribeRequest(group_ids=["g"]), 0).groups[0].assignor_name
    return name


def error_of_classic(trial: Trial) -> int:
    """Whether a member of the classic protocol may come, too."""
    world, _ = _beat(trial)
    subscription = b"\0\0" + ConsumerProtocolSubscription(topics=["t"]).encode(0)
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=OTHER_S,
        rebalance_timeout_ms=OTHER_S,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription)],
    )
    code: int = world.client().ask(request, 3).error_code
    return code


OF_CONSUMER_GROUPS: Final[Mapping[str, Flip]] = {
    "group.consumer.heartbeat.interval.ms": Flip(interval_ms, ("5000", 5_000), ("6000", 6_000)),
    "group.consumer.max.size": Flip(
        error_of_second, ("2147483647", ErrorCode.NONE), ("1", ErrorCode.GROUP_MAX_SIZE_REACHED)
    ),
    "group.consumer.session.timeout.ms": Flip(is_member_after_silence, ("45000", True), ("20000", False)),
    "group.consumer.assignment.interval.ms": Flip(epoch_of_second, ("1000", 1), ("0", 2)),
    "group.consumer.migration.policy": Flip(
        error_of_classic, ("bidirectional", ErrorCode.NONE), ("disabled", ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    ),
    "group.consumer.assignors": Flip(default_assignor, ("uniform,range", "uniform"), ("range", "range")),
    "group.consumer.max.session.timeout.ms": Flip(
        on(may_be, "consumer.session.timeout.ms", "90000"), ("60000", False), ("90000", True)
    ),
    "group.consumer.min.session.timeout.ms": Flip(
        on(may_be, "consumer.session.timeout.ms", "30000"), ("45000", False), ("30000", True)
    ),
    "group.consumer.max.heartbeat.interval.ms": Flip(
        on(may_be, "consumer.heartbeat.interval.ms", "20000"), ("15000", False), ("20000", True)
    ),
    "group.consumer.min.heartbeat.interval.ms": Flip(
        on(may_be, "consumer.heartbeat.interval.ms", "3000"), ("5000", False), ("3000", True)
    ),
    "group.consumer.max.assignment.interval.ms": Flip(
        on(may_be, "consumer.assignment.interval.ms", "20000"), ("15000", False), ("20000", True)
    ),
    "group.consumer.min.assignment.interval.ms": Flip(
        on(may_be, "consumer.assignment.interval.ms", "0"), ("0", True), ("500", False)
    ),
}
