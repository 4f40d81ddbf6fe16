"""The settings of share groups at whoever leads what they read: of the group, and otherwise of its broker."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from penstock.core.node.group_overrides import GroupOverrides, Value
from penstock.core.node.sharing.ports import SharingHost
from penstock.core.partition.readers import COMMITTED, UNCOMMITTED, Reader
from penstock.core.sharing.asked import ShareSettings

_BY_DURATION: Final = "by_duration:"
_DURATION: Final = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_UNITS_MS: Final = (86_400_000, 3_600_000, 60_000, 1_000)


class GroupSettings(NamedTuple):
    """What a group says of how it reads, and what its share partitions are kept by."""

    sharing: ShareSettings
    reader: Reader
    begins_at: str
    """`earliest`, `latest`, or a duration."""


class AllGroups(GroupOverrides[GroupSettings]):
    """What each group says of it."""

    def __init__(self, node: SharingHost) -> None:
        super().__init__(node, _read)


def _read(value: Value) -> GroupSettings:
    sharing = ShareSettings(
        deliveries_max=value("share.delivery.count.limit"),
        in_flight_max=value("share.partition.max.record.locks"),
        lock_ms=value("share.record.lock.duration.ms"),
        renews=value("share.renew.acknowledge.enable"),
        buries=value("penstock.share.on.failure") == "dlq",
    )
    reader = COMMITTED if value("share.isolation.level") == "read_committed" else UNCOMMITTED
    return GroupSettings(sharing, reader, value("share.auto.offset.reset"))


def ago_ms(begins_at: str) -> int | None:
    """How long ago a group begins, if it says so by a duration."""
    match = _DURATION.fullmatch(begins_at.removeprefix(_BY_DURATION))
    if not begins_at.startswith(_BY_DURATION) or match is None:
        return None
    return sum(int(float(number) * unit) for number, unit in zip(match.groups("0"), _UNITS_MS, strict=True))
