"""Settings of single groups: what is seen under the default and another value."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch
from penstock.core.records.control import EndTransaction, build_end_transaction
from tests.node.sharing import REJECT, RENEW, SETTINGS, Member, begin_group, publish
from tests.settings_act import consumer_groups_table as consumers
from tests.settings_act import share_groups_table as members
from tests.settings_act import sharing_table as sharing
from tests.settings_act.trial import Flip, Trial, on

LONG_MS: Final = 50_000


def is_first_record_offered(trial: Trial) -> bool:
    """To a group that has not begun, of a topic that has records."""
    world = trial.begin(SETTINGS, topic={})
    begin_group(world, start_offset=-1)
    publish(world, b"old")
    return bool(Member(world).take(0))


def is_aborted_record_offered(trial: Trial) -> bool:
    world = trial.begin(SETTINGS, topic={})
    begin_group(world)
    partition = world.node.replicas.get("t", 0)
    assert partition is not None
    told = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    batch = build_batch([(None, b"v", (), 0)], **told)
    for each in (batch, build_end_transaction(EndTransaction(False, 0), 1, 0, 0)):
        world.turn(partial(partition.append_own, each, read_header(each), world.now_ms))
    return any(first == 0 for first, _, _ in Member(world).take(0).get(0, ()))


def code_of_renewal(trial: Trial) -> int:
    world = trial.begin(SETTINGS, topic={})
    begin_group(world)
    publish(world, b"a")
    member = Member(world)
    member.take(0)
    return member.code((0, 0, [RENEW]), renews=True)


def is_rejected_record_kept(trial: Trial) -> bool:
    world = trial.begin(SETTINGS, topic={})
    begin_group(world)
    publish(world, b"bad")
    member = Member(world)
    member.take(0)
    member.begin_saying((0, 0, [REJECT]))
    world.settle()
    world.pass_time(5_000)
    return world.node.image.topic("t.dlq") is not None


OF_SINGLE_GROUPS: Final[Mapping[str, Flip]] = {
    "consumer.assignment.interval.ms": Flip(consumers.epoch_of_second, ("1000", 1), ("0", 2)),
    "consumer.heartbeat.interval.ms": Flip(consumers.interval_ms, ("5000", 5_000), ("6000", 6_000)),
    "consumer.session.timeout.ms": Flip(
        on(consumers.is_member_after_silence, LONG_MS), ("45000", False), ("60000", True)
    ),
    "penstock.share.on.failure": Flip(is_rejected_record_kept, ("archive", False), ("dlq", True)),
    "share.assignment.interval.ms": Flip(members.assignments_of_three, ("1000", 2), ("0", 4)),
    "share.auto.offset.reset": Flip(is_first_record_offered, ("latest", False), ("earliest", True)),
    "share.delivery.count.limit": Flip(sharing.deliveries, ("5", 5), ("3", 3)),
    "share.heartbeat.interval.ms": Flip(members.interval_ms, ("5000", 5_000), ("6000", 6_000)),
    "share.isolation.level": Flip(is_aborted_record_offered, ("read_uncommitted", True), ("read_committed", False)),
    "share.partition.max.record.locks": Flip(sharing.records_out, ("2000", 300), ("100", 150)),
    "share.record.lock.duration.ms": Flip(sharing.lock_ms, ("30000", 30_000), ("45000", 45_000)),
    "share.renew.acknowledge.enable": Flip(
        code_of_renewal, ("true", ErrorCode.NONE), ("false", ErrorCode.INVALID_RECORD_STATE)
    ),
    "share.session.timeout.ms": Flip(on(members.is_member_after_silence, LONG_MS), ("45000", False), ("60000", True)),
}
