"""What is asked of a share partition, and within which bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from penstock.core.base.values import frozen


@frozen
class ShareSettings:
    """What a share group's settings say, each beside its key."""

    deliveries_max: int = 5  # share.delivery.count.limit
    in_flight_max: int = 2_000  # share.partition.max.record.locks
    lock_ms: int = 30_000  # share.record.lock.duration.ms
    renews: bool = True  # share.renew.acknowledge.enable
    buries: bool = False  # penstock.share.on.failure


class Acknowledgement(NamedTuple):
    """What a member says of offsets, both included: one type for all of them, or one for each."""

    first: int
    last: int
    types: Sequence[int]


class Wanted(NamedTuple):
    """What a member asks for. `is_limit` says that it wants no record more than that (KIP-1206); otherwise it gets
    whole batches of the log, cut where `batch_size` is reached, as they are cheapest to acknowledge."""

    member: str
    records_max: int
    batch_size: int
    is_limit: bool = False
