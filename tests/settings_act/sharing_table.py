"""Settings of share groups at the leaders of partitions: what is seen under the default and another value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.core.base.errors import ErrorCode
from tests.node.sharing import RELEASE, SETTINGS, Member, begin_group, publish
from tests.settings_act.trial import Flip, Machine, Trial, may_be, on


def _begun(trial: Trial) -> Machine:
    world = trial.begin({name: value for name, value in SETTINGS.items() if name != trial.name}, topic={})
    begin_group(world)
    return world


def lock_ms(trial: Trial) -> int:
    told: int = Member(_begun(trial)).fetch(0, max_wait_ms=0).acquisition_lock_timeout_ms
    return told


def deliveries(trial: Trial) -> int:
    """Of a record that is released each time."""
    world = _begun(trial)
    publish(world, b"poison")
    member, count = Member(world), 0
    while member.take(0):
        count += 1
        member.code((0, 0, [RELEASE]))
    return count


def records_out(trial: Trial) -> int:
    world = _begun(trial)
    publish(world, *[b"x"] * 150)
    publish(world, *[b"x"] * 150)
    member = Member(world)
    taken = [*member.take(0, max_records=10_000).values(), *member.take(max_records=10_000).values()]
    return sum(last - first + 1 for some in taken for first, last, _ in some)


def answer_to_second_session(trial: Trial) -> int:
    world = _begun(trial)
    Member(world, "one").fetch(0, max_wait_ms=0)
    code: int = Member(world, "other").fetch(0, max_wait_ms=0).error_code
    return code


_LIMIT, _LOCKS, _LOCK_MS = (
    "share.delivery.count.limit",
    "share.partition.max.record.locks",
    "share.record.lock.duration.ms",
)
OF_SHARING: Final[Mapping[str, Flip]] = {
    "group.share.record.lock.duration.ms": Flip(lock_ms, ("30000", 30_000), ("45000", 45_000)),
    "group.share.delivery.count.limit": Flip(deliveries, ("5", 5), ("3", 3)),
    "group.share.partition.max.record.locks": Flip(records_out, ("2000", 300), ("100", 150)),
    "group.share.max.share.sessions": Flip(
        answer_to_second_session, ("2000", ErrorCode.NONE), ("1", ErrorCode.SHARE_SESSION_LIMIT_REACHED)
    ),
    "group.share.max.delivery.count.limit": Flip(on(may_be, _LIMIT, "12"), ("10", False), ("12", True)),
    "group.share.min.delivery.count.limit": Flip(on(may_be, _LIMIT, "2"), ("2", True), ("3", False)),
    "group.share.max.partition.max.record.locks": Flip(on(may_be, _LOCKS, "5000"), ("4000", False), ("5000", True)),
    "group.share.min.partition.max.record.locks": Flip(on(may_be, _LOCKS, "100"), ("100", True), ("200", False)),
    "group.share.max.record.lock.duration.ms": Flip(on(may_be, _LOCK_MS, "90000"), ("60000", False), ("90000", True)),
    "group.share.min.record.lock.duration.ms": Flip(on(may_be, _LOCK_MS, "10000"), ("15000", False), ("10000", True)),
}
