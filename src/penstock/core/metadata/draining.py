"""What follows from settings that drain brokers, or take that back: others lead for whoever is drained, and give
that back afterwards where it is the first replica."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.broker_fencing import relieving
from penstock.core.metadata.elections import balancing
from penstock.core.metadata.fold import fold
from penstock.core.metadata.image import Image
from penstock.core.metadata.reluctance import DRAINED, drained_brokers
from penstock.core.metadata.sweep import Sweep
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import ConfigRecord


def following_drains(image: Image, settings: BrokerSettings, records: Sequence[StoredRecord]) -> list[Sweep]:
    """The sweeps that write these settings and act on them; none where no broker is drained by them, nor let lead."""
    if not any(isinstance(record, ConfigRecord) and record.name == DRAINED for record in records):
        return []
    after, _ = fold(image, records, image.offset)
    sweeps = [relieving(after, settings, opening=records)]
    returning = drained_brokers(image) - drained_brokers(after)
    if returning and settings["auto.leader.rebalance.enable"]:
        sweeps.append(balancing(after, settings, returning))
    return sweeps
